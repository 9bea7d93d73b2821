#include "binding.h"
#include "coding.h"

enum { BROTLI_DECODER_RESULT_ERROR = 0, BROTLI_DECODER_RESULT_SUCCESS = 1 };

#define FUNCTIONS(F) \
    F(BrotliDecoderCreateInstance, void *, (void *, void *, void *)) \
    F(BrotliDecoderDestroyInstance, void, (void *)) \
    F(BrotliDecoderDecompressStream, int, (void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *)) \
    F(BrotliDecoderGetErrorCode, int, (const void *)) \
    F(BrotliDecoderErrorString, const char *, (int))

DEFINE_BINDING("libbrotlidec", "1")

static void *open_decoder(int format) {
    (void)format;
    return bound.BrotliDecoderCreateInstance(NULL, NULL, NULL);
}

static clarkspur_coding_state decode(void *coder, clarkspur_coding_step *step, bool is_last) {
    (void)is_last;
    switch (bound.BrotliDecoderDecompressStream(
        coder, &step->input_count, &step->input, &step->output_count, &step->output, NULL)) {
    case BROTLI_DECODER_RESULT_ERROR:
        step->problem = bound.BrotliDecoderErrorString(bound.BrotliDecoderGetErrorCode(coder));
        return clarkspur_coding_failed;
    case BROTLI_DECODER_RESULT_SUCCESS: return clarkspur_coding_ended;
    default: return clarkspur_coding_continues;
    }
}

static void close_decoder(void *coder) { bound.BrotliDecoderDestroyInstance(coder); }

const clarkspur_coder *clarkspur_brotli_decoder(void) {
    static const clarkspur_coder decoder = {open_decoder, decode, NULL, close_decoder};
    return is_bound() ? &decoder : NULL;
}
