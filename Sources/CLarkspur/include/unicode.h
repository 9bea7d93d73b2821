#pragma once

#include <stddef.h>

// Host names and text in any script, for builds without Foundation. This module finds libidn2 and libunistring at run
// time. Most builds of libcurl have loaded both already.

// Returns the ASCII form of a host name in UTF-8 (IDNA 2008, UTS 46 without transitional processing). The caller frees
// the result with `free`. Returns NULL if libidn2 is missing or the name is invalid.
char *clarkspur_unicode_ascii_host(const char *name);

// Returns the text in UTF-8 in its composed form (NFC), with its length in `*count`. The caller frees the result with
// `free`. Returns NULL if libunistring is missing.
char *clarkspur_unicode_composed(const char *text, size_t *count);
