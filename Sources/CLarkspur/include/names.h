#pragma once

#include <stdbool.h>
#include <stddef.h>

// Whether a DNS name of a certificate is for the host, which is a name and not an address (RFC 9525, section 6.3). A dot at
// the end of either does not count, nor does the case of ASCII letters. A wildcard is the whole first label; it stands for one
// label, whatever that consists of, and the domain below it has two labels at least.
bool clarkspur_name_fits(const char *name, size_t name_length, const char *host, size_t host_length);
