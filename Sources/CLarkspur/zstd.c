#include "binding.h"
#include "coding.h"

typedef struct {
    const void *bytes;
    size_t count;
    size_t position;
} input_buffer;

typedef struct {
    void *bytes;
    size_t count;
    size_t position;
} output_buffer;

enum { ZSTD_d_windowLogMax = 100, ZSTD_reset_session_only = 1, log2_of_8_mebibytes = 23 };

// libzstd before 1.4.0 has no ZSTD_DCtx_setParameter and no ZSTD_DCtx_reset, so `is_bound()` returns false for it.
#define FUNCTIONS(F) \
    F(ZSTD_createDCtx, void *, (void)) \
    F(ZSTD_freeDCtx, size_t, (void *)) \
    F(ZSTD_DCtx_setParameter, size_t, (void *, int, int)) \
    F(ZSTD_DCtx_reset, size_t, (void *, int)) \
    F(ZSTD_decompressStream, size_t, (void *, output_buffer *, input_buffer *)) \
    F(ZSTD_isError, unsigned, (size_t)) \
    F(ZSTD_getErrorName, const char *, (size_t))

DEFINE_BINDING("libzstd", "1")

static void *open_decoder(int format) {
    (void)format;
    void *context = bound.ZSTD_createDCtx();
    if (!context) { return NULL; }
    size_t result = bound.ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, log2_of_8_mebibytes);
    if (!bound.ZSTD_isError(result)) { return context; }
    bound.ZSTD_freeDCtx(context);
    return NULL;
}

static clarkspur_coding_state decode(void *coder, clarkspur_coding_step *step, bool is_last) {
    (void)is_last;
    input_buffer input = {step->input, step->input_count, 0};
    output_buffer output = {step->output, step->output_count, 0};
    size_t result = bound.ZSTD_decompressStream(coder, &output, &input);
    step->input += input.position;
    step->input_count -= input.position;
    step->output += output.position;
    step->output_count -= output.position;
    if (bound.ZSTD_isError(result)) {
        step->problem = bound.ZSTD_getErrorName(result);
        return clarkspur_coding_failed;
    }
    return result == 0 ? clarkspur_coding_ended : clarkspur_coding_continues;
}

static bool reset_decoder(void *coder) {
    return !bound.ZSTD_isError(bound.ZSTD_DCtx_reset(coder, ZSTD_reset_session_only));
}

static void close_decoder(void *coder) { bound.ZSTD_freeDCtx(coder); }

const clarkspur_coder *clarkspur_zstd_decoder(void) {
    static const clarkspur_coder decoder = {open_decoder, decode, reset_decoder, close_decoder};
    return is_bound() ? &decoder : NULL;
}
