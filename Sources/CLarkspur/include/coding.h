#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Content codings by zlib, libbrotlidec and libzstd, bound at run time as libcurl is: our own declarations of their
// stable ABIs. libcurl has loaded most of them already; a coding whose library is missing is not available, that is all.

typedef enum {
    // Wants more input, or more room for its output.
    clarkspur_coding_continues,
    // The coded stream is at its end; what is left of the input does not belong to it.
    clarkspur_coding_ended,
    clarkspur_coding_failed,
} clarkspur_coding_state;

// What one step takes from and gives to: it moves the pointers on and counts down what is left.
typedef struct {
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_count;
    // Why a step failed, in the library's words; it lives as long as the process.
    const char *problem;
} clarkspur_coding_step;

// A coder of one kind: its functions. A coder that is open is used by one thread at a time.
typedef struct {
    // NULL if there is no memory.
    void *(*open)(int format);
    // `is_last` tells an encoder that no input follows, so that it writes its end.
    clarkspur_coding_state (*run)(void *coder, clarkspur_coding_step *step, bool is_last);
    // Begins another stream of the same format; NULL where a body is one stream.
    bool (*reset)(void *coder);
    void (*close)(void *coder);
} clarkspur_coder;

// The formats of zlib, by its own numbers; the other libraries have one each and take any.
enum { clarkspur_format_raw = -15, clarkspur_format_zlib = 15, clarkspur_format_gzip = 31 };

// NULL where the library is not there or too old. Any thread, any number of times.
const clarkspur_coder *clarkspur_zlib_decoder(void);
const clarkspur_coder *clarkspur_zlib_encoder(void);
const clarkspur_coder *clarkspur_brotli_decoder(void);
// Refuses streams that need a window of more than 8 MiB, as RFC 9659 has it.
const clarkspur_coder *clarkspur_zstd_decoder(void);
