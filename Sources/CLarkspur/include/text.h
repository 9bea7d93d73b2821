#pragma once

#include <stddef.h>
#include <stdint.h>

// Decodes text in encodings other than UTF-8 with the system's iconv: the C library's on Linux, libiconv on Apple
// platforms.

typedef enum {
    // All of the input was decoded.
    clarkspur_text_ended,
    // The output needs more room.
    clarkspur_text_is_full,
    // The input continues with bytes that are not a character of the encoding.
    clarkspur_text_is_invalid,
} clarkspur_text_state;

// The input and output of one call. The call advances the pointers and reduces the counts.
typedef struct {
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_count;
} clarkspur_text_step;

// Opens a decoder of the encoding with this iconv name. Returns NULL if the system does not support it. Only one thread
// at a time uses a decoder.
void *clarkspur_text_open(const char *encoding);
void clarkspur_text_close(void *decoder);
// Decodes a text to UTF-8. If the result is `clarkspur_text_is_full`, the caller makes another call with new room for
// output.
clarkspur_text_state clarkspur_text_decode(void *decoder, clarkspur_text_step *step);
