#pragma once

#include <stdbool.h>
#include <stddef.h>

// Returns whether a DNS name in a certificate matches the host, which is a name and not an address (RFC 9525, section
// 6.3). A trailing dot and the case of ASCII letters are ignored. A wildcard must be the whole first label and stands
// for one label of any content. The domain after it has at least two labels.
bool clarkspur_name_fits(const char *name, size_t name_length, const char *host, size_t host_length);
