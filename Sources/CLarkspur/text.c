#include "text.h"

#include <errno.h>

#if defined(__APPLE__)
#include "binding.h"

#define FUNCTIONS(F) \
    F(iconv_open, void *, (const char *, const char *)) \
    F(iconv_close, int, (void *)) \
    F(iconv, size_t, (void *, char **, size_t *, char **, size_t *))

DEFINE_BINDING("libiconv", "2")

#define iconv_open bound.iconv_open
#define iconv_close bound.iconv_close
#define iconv bound.iconv
#else
#include <iconv.h>
#include <stdbool.h>

static bool is_bound(void) { return true; }
#endif

void *clarkspur_text_open(const char *encoding) {
    if (!is_bound()) { return NULL; }
    void *decoder = (void *)iconv_open("UTF-8", encoding);
    return decoder == (void *)-1 ? NULL : decoder;
}

void clarkspur_text_close(void *decoder) { iconv_close(decoder); }

clarkspur_text_state clarkspur_text_decode(void *decoder, clarkspur_text_step *step) {
    char *input = (char *)step->input;
    char *output = (char *)step->output;
    const size_t failed = (size_t)-1;
    size_t result = iconv(decoder, &input, &step->input_count, &output, &step->output_count);
    // In some encodings a combining character may follow, so iconv holds back the last character. This call without
    // input makes iconv write that character and reset its state.
    if (result != failed) { result = iconv(decoder, NULL, NULL, &output, &step->output_count); }
    int problem = errno;
    step->input = (const uint8_t *)input;
    step->output = (uint8_t *)output;
    if (result != failed) { return clarkspur_text_ended; }
    return problem == E2BIG ? clarkspur_text_is_full : clarkspur_text_is_invalid;
}
