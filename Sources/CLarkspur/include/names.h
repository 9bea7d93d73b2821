#pragma once

#include <stdbool.h>
#include <stddef.h>

// Returns whether a DNS name in a certificate matches the host (RFC 9525, section 6.3). The host must be a name, not an
// address. A trailing dot and the case of ASCII letters are ignored. A wildcard must be the whole first label and
// matches any one label. The name must have at least two more labels after the wildcard.
bool clarkspur_name_fits(const char *name, size_t name_length, const char *host, size_t host_length);
