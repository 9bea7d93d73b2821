#include "binding.h"
#include "coding.h"

#include <limits.h>
#include <stdlib.h>

// MARK: Declarations of zlib

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
    Z_NO_FLUSH = 0,
    Z_SYNC_FLUSH = 2,
    Z_FINISH = 4,
    Z_STREAM_END = 1,
    Z_NEED_DICT = 2,
    Z_BUF_ERROR = -5,
    Z_DEFLATED = 8,
    Z_DEFAULT_COMPRESSION = -1,
    DEF_MEM_LEVEL = 8,
    Z_DEFAULT_STRATEGY = 0,
};

// zlib compares the first digit of this version, and the size of `stream`, with its own.
static const char abi[] = "1";

#define FUNCTIONS(F) \
    F(inflateInit2_, int, (stream *, int, const char *, int)) \
    F(inflate, int, (stream *, int)) \
    F(inflateReset, int, (stream *)) \
    F(inflateResetKeep, int, (stream *)) \
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
    if (result == Z_STREAM_END) { return clarkspur_coding_ended; }
    // Z_BUF_ERROR is not a failure: it means that there was no input, or no room for output.
    if (result == 0 || result == Z_BUF_ERROR) { return clarkspur_coding_continues; }
    const char *reason = result == Z_NEED_DICT ? "a preset dictionary is needed" : "out of memory";
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
    return run(bound.inflate, coder, step, Z_NO_FLUSH);
}

static bool reset_decoder(void *coder) { return bound.inflateReset(coder) == 0; }

static void close_decoder(void *coder) {
    bound.inflateEnd(coder);
    free(coder);
}

static void *opened_encoder(int format, int level, int memory_level) {
    stream *opened = calloc(1, sizeof *opened);
    if (opened
        && bound.deflateInit2_(
               opened, level, Z_DEFLATED, format, memory_level, Z_DEFAULT_STRATEGY, abi, sizeof *opened)
               == 0) {
        return opened;
    }
    free(opened);
    return NULL;
}

static void *open_encoder(int format) { return opened_encoder(format, Z_DEFAULT_COMPRESSION, DEF_MEM_LEVEL); }

static clarkspur_coding_state encode(void *coder, clarkspur_coding_step *step, bool is_last) {
    return run(bound.deflate, coder, step, is_last ? Z_FINISH : Z_NO_FLUSH);
}

static void close_encoder(void *coder) {
    bound.deflateEnd(coder);
    free(coder);
}

// MARK: Messages

static clarkspur_coding_state decode_message(void *coder, clarkspur_coding_step *step, bool is_last) {
    stream *stream = coder;
    for (;;) {
        clarkspur_coding_state state = run(bound.inflate, stream, step, Z_NO_FLUSH);
        if (state == clarkspur_coding_failed) { return state; }
        // Another stream begins after a last block. It can refer to the bytes before it, so zlib keeps its window.
        if (state == clarkspur_coding_ended && bound.inflateResetKeep(stream) != 0) {
            step->problem = "out of memory";
            return clarkspur_coding_failed;
        }
        if (step->output_count == 0) { return clarkspur_coding_continues; }
        if (step->input_count > 0) { continue; }
        // zlib sets this bit between two blocks.
        if (is_last && !(stream->data_type & 128)) {
            step->problem = "the data ends inside a block";
            return clarkspur_coding_failed;
        }
        return clarkspur_coding_continues;
    }
}

static clarkspur_coding_state encode_message(void *coder, clarkspur_coding_step *step, bool is_last) {
    return run(bound.deflate, coder, step, is_last ? Z_SYNC_FLUSH : Z_NO_FLUSH);
}

void *clarkspur_zlib_open_message_encoder(int format, int level, int memory_level) {
    return is_bound() ? opened_encoder(format, level, memory_level) : NULL;
}

const clarkspur_coder *clarkspur_zlib_decoder(void) {
    static const clarkspur_coder decoder = {open_decoder, decode, reset_decoder, close_decoder};
    return is_bound() ? &decoder : NULL;
}

const clarkspur_coder *clarkspur_zlib_encoder(void) {
    static const clarkspur_coder encoder = {open_encoder, encode, NULL, close_encoder};
    return is_bound() ? &encoder : NULL;
}

const clarkspur_coder *clarkspur_zlib_message_decoder(void) {
    static const clarkspur_coder decoder = {open_decoder, decode_message, reset_decoder, close_decoder};
    return is_bound() ? &decoder : NULL;
}

const clarkspur_coder *clarkspur_zlib_message_encoder(void) {
    static const clarkspur_coder encoder = {open_encoder, encode_message, NULL, close_encoder};
    return is_bound() ? &encoder : NULL;
}
