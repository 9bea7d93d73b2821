#include "binding.h"
#include "coding.h"

#include <limits.h>
#include <stdlib.h>

// MARK: What zlib declares

typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *, unsigned, unsigned);
    void (*zfree)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} stream;

enum {
    no_flush = 0,
    finish = 4,
    stream_end = 1,
    need_dictionary = 2,
    buffer_error = -5,
    deflated = 8,
    standard_level = -1,
    standard_memory = 8,
    standard_strategy = 0,
};

// zlib compares the first digit and the size of the structure, to know whether it was declared as it is.
static const char abi[] = "1";

#define FUNCTIONS(F) \
    F(inflateInit2_, int, (stream *, int, const char *, int)) \
    F(inflate, int, (stream *, int)) \
    F(inflateReset, int, (stream *)) \
    F(inflateEnd, int, (stream *)) \
    F(deflateInit2_, int, (stream *, int, int, int, int, int, const char *, int)) \
    F(deflate, int, (stream *, int)) \
    F(deflateEnd, int, (stream *))

DEFINE_BINDING("libz", "1")

// MARK: Coders

static unsigned clamped(size_t count) { return count < UINT_MAX ? (unsigned)count : UINT_MAX; }

static clarkspur_coding_state run(int (*code)(stream *, int), stream *stream, clarkspur_coding_step *step, int flush) {
    unsigned input = clamped(step->input_count);
    unsigned output = clamped(step->output_count);
    stream->next_in = step->input;
    stream->avail_in = input;
    stream->next_out = step->output;
    stream->avail_out = output;
    int result = code(stream, flush);
    step->input += input - stream->avail_in;
    step->input_count -= input - stream->avail_in;
    step->output += output - stream->avail_out;
    step->output_count -= output - stream->avail_out;
    if (result == stream_end) { return clarkspur_coding_ended; }
    // A buffer error says that there was nothing to take or no room to give, which is none.
    if (result == 0 || result == buffer_error) { return clarkspur_coding_continues; }
    const char *reason = result == need_dictionary ? "a preset dictionary is needed" : "out of memory";
    step->problem = stream->msg ? stream->msg : reason;
    return clarkspur_coding_failed;
}

static void *open_decoder(int format) {
    stream *opened = calloc(1, sizeof *opened);
    if (opened && bound.inflateInit2_(opened, format, abi, sizeof *opened) == 0) { return opened; }
    free(opened);
    return NULL;
}

static clarkspur_coding_state decode(void *coder, clarkspur_coding_step *step, bool is_last) {
    (void)is_last;
    return run(bound.inflate, coder, step, no_flush);
}

static bool reset_decoder(void *coder) { return bound.inflateReset(coder) == 0; }

static void close_decoder(void *coder) {
    bound.inflateEnd(coder);
    free(coder);
}

static void *open_encoder(int format) {
    stream *opened = calloc(1, sizeof *opened);
    if (opened
        && bound.deflateInit2_(
               opened, standard_level, deflated, format, standard_memory, standard_strategy, abi, sizeof *opened)
               == 0) {
        return opened;
    }
    free(opened);
    return NULL;
}

static clarkspur_coding_state encode(void *coder, clarkspur_coding_step *step, bool is_last) {
    return run(bound.deflate, coder, step, is_last ? finish : no_flush);
}

static void close_encoder(void *coder) {
    bound.deflateEnd(coder);
    free(coder);
}

const clarkspur_coder *clarkspur_zlib_decoder(void) {
    static const clarkspur_coder decoder = {open_decoder, decode, reset_decoder, close_decoder};
    return is_bound() ? &decoder : NULL;
}

const clarkspur_coder *clarkspur_zlib_encoder(void) {
    static const clarkspur_coder encoder = {open_encoder, encode, NULL, close_encoder};
    return is_bound() ? &encoder : NULL;
}
