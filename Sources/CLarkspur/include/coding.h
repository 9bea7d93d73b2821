#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Content codings of zlib, libbrotlidec and libzstd. As for libcurl, this module finds the functions at run time and
// declares the stable ABIs itself. libcurl has usually loaded most of these libraries already. If a library is missing,
// its codings are not available.

typedef enum {
    // The coder needs more input, or more room for its output.
    clarkspur_coding_continues,
    // The coded stream is complete; the remaining input does not belong to it.
    clarkspur_coding_ended,
    clarkspur_coding_failed,
} clarkspur_coding_state;

// The input and output of one call. The call advances the pointers and reduces the counts.
typedef struct {
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_count;
    // The library's description of a failure. The string is valid as long as the process runs.
    const char *problem;
} clarkspur_coding_step;

// The functions of one kind of coder. Only one thread at a time uses an open coder.
typedef struct {
    // Returns NULL if memory is exhausted.
    void *(*open)(int format);
    // `is_last` tells an encoder that no input follows, so that it finishes the stream.
    clarkspur_coding_state (*run)(void *coder, clarkspur_coding_step *step, bool is_last);
    // Prepares the coder for another stream of the same format. NULL if a body of this coding is always one stream.
    bool (*reset)(void *coder);
    void (*close)(void *coder);
} clarkspur_coder;

// The formats of zlib: values of its parameter `windowBits`, passed to `open`. The other libraries support one format
// each, and their coders ignore the argument.
enum { clarkspur_format_raw = -15, clarkspur_format_zlib = 15, clarkspur_format_gzip = 31 };

// These functions return NULL if the library is missing or too old. They may be called on any thread, any number of
// times.
const clarkspur_coder *clarkspur_zlib_decoder(void);
const clarkspur_coder *clarkspur_zlib_encoder(void);
// Coders of messages that share a window. `is_last` ends a message: the encoder completes its output, and the decoder
// fails if the message ends inside a block. Another message may follow. A stream that ends is followed by another one
// that can refer to its bytes, so the decoder never reports an end.
const clarkspur_coder *clarkspur_zlib_message_decoder(void);
const clarkspur_coder *clarkspur_zlib_message_encoder(void);
// Opens an encoder of messages. The level is from 0 to 9, and the memory level from 1 to 9. Returns NULL if zlib is
// missing or memory is exhausted.
void *clarkspur_zlib_open_message_encoder(int format, int level, int memory_level);
const clarkspur_coder *clarkspur_brotli_decoder(void);
// Refuses streams that need a window of more than 8 MiB, as RFC 9659 requires.
const clarkspur_coder *clarkspur_zstd_decoder(void);
