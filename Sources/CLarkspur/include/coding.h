#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Content codings by zlib, libbrotlidec and libzstd, bound at run time like libcurl, with our own declarations of their
// stable ABIs. libcurl has usually loaded most of them. A coding whose library is missing is not available.

typedef enum {
    // The coder needs more input, or more room for its output.
    clarkspur_coding_continues,
    // The coded stream is complete; the remaining input does not belong to it.
    clarkspur_coding_ended,
    clarkspur_coding_failed,
} clarkspur_coding_state;

// The input and output of one call, which advances the pointers and reduces the counts.
typedef struct {
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_count;
    // The library's description of a failure. It lives as long as the process.
    const char *problem;
} clarkspur_coding_step;

// The functions of one kind of coder. Only one thread at a time uses an open coder.
typedef struct {
    // Returns NULL if memory is exhausted.
    void *(*open)(int format);
    // `is_last` tells an encoder that no input follows, so that it finishes the stream.
    clarkspur_coding_state (*run)(void *coder, clarkspur_coding_step *step, bool is_last);
    // Starts another stream of the same format. NULL if a body is always one stream.
    bool (*reset)(void *coder);
    void (*close)(void *coder);
} clarkspur_coder;

// The formats of zlib, as its window bits. The other libraries have one format each and ignore the argument.
enum { clarkspur_format_raw = -15, clarkspur_format_zlib = 15, clarkspur_format_gzip = 31 };

// Return NULL if the library is missing or too old. They may be called on any thread, any number of times.
const clarkspur_coder *clarkspur_zlib_decoder(void);
const clarkspur_coder *clarkspur_zlib_encoder(void);
const clarkspur_coder *clarkspur_brotli_decoder(void);
// Refuses streams that need a window of more than 8 MiB, as RFC 9659 requires.
const clarkspur_coder *clarkspur_zstd_decoder(void);
