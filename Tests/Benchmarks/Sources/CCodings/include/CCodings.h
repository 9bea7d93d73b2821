#ifndef C_CODINGS_H
#define C_CODINGS_H

#include <stddef.h>
#include <stdint.h>

// The libraries that decode content codings, each by its fastest call: the minimum cost of decoding.

typedef enum {
    larkspur_gzip,
    larkspur_deflate,
    larkspur_br,
    larkspur_zstd,
} larkspur_coding;

/// Returns the number of output bytes; 0 on failure or if the library is missing.
size_t larkspur_encode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room);
size_t larkspur_decode(larkspur_coding coding, const uint8_t *input, size_t count, uint8_t *output, size_t room);

#endif
