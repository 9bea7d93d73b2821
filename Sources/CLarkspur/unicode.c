#include "unicode.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"

#define FUNCTIONS(F) \
    F(idn2_lookup_u8, int, (const uint8_t *, uint8_t **, int)) \
    F(idn2_free, void, (void *))

DEFINE_BINDING("libidn2", "0")

// idn2.h
enum { IDN2_OK = 0, IDN2_NFC_INPUT = 1, IDN2_NONTRANSITIONAL = 8 };

char *clarkspur_unicode_ascii_host(const char *name) {
    uint8_t *ascii = NULL;
    if (!is_bound()) { return NULL; }
    int status = bound.idn2_lookup_u8((const uint8_t *)name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    char *result = status == IDN2_OK && ascii ? strdup((const char *)ascii) : NULL;
    if (ascii) { bound.idn2_free(ascii); }
    return result;
}

// Version 5 is that of libunistring 1.2, version 2 that of Debian 12.
static void *open_unistring(void) {
    void *library = open_library(LIBRARY_NAME("libunistring", "5"));
    return library ? library : open_library(LIBRARY_NAME("libunistring", "2"));
}

char *clarkspur_unicode_composed(const char *text, size_t *count) {
    typedef uint8_t *function(const void *form, const uint8_t *text, size_t count, uint8_t *buffer, size_t *length);
    void *library = open_unistring();
    function *normalize = NULL;
    const void *form = NULL;
    if (library) {
        *(void **)&normalize = dlsym(library, "u8_normalize");
        form = dlsym(library, "uninorm_nfc");
    }
    *count = 0;
    return normalize && form
        ? (char *)normalize(form, (const uint8_t *)text, strlen(text), NULL, count)
        : NULL;
}
