#ifndef C_CODINGS_H
#define C_CODINGS_H

#include <stddef.h>
#include <stdint.h>

// The libraries that undo content codings, each by the one call that is the fastest it has: what decoding costs at least.

typedef enum {
    larkspur_gzip,
    larkspur_deflate,
    larkspur_br,
    larkspur_zstd,
} larkspur_coding;

/// How many bytes of output it made; 0 if it failed, or if the library is missing.
size_t larkspur_encode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room);
size_t larkspur_decode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room);

#endif
