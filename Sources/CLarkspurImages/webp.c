#include "../CLarkspur/binding.h"
#include "include/CLarkspurImages.h"

// The stable ABI of libwebp 0.5 and later.
enum { WEBP_DECODER_ABI_VERSION = 0x0209, MODE_RGBA = 1 };
enum {
    VP8_STATUS_OK,
    VP8_STATUS_OUT_OF_MEMORY,
    VP8_STATUS_INVALID_PARAM,
    VP8_STATUS_BITSTREAM_ERROR,
    VP8_STATUS_UNSUPPORTED_FEATURE,
    VP8_STATUS_SUSPENDED,
    VP8_STATUS_USER_ABORT,
    VP8_STATUS_NOT_ENOUGH_DATA,
};

typedef struct {
    int width, height, has_alpha, has_animation, format;
    uint32_t pad[5];
} WebPBitstreamFeatures;

typedef struct {
    int colorspace;
    int width, height;
    int is_external_memory;
    union {
        struct {
            uint8_t *rgba;
            int stride;
            size_t size;
        } RGBA;
        struct {
            uint8_t *y, *u, *v, *a;
            int y_stride, u_stride, v_stride, a_stride;
            size_t y_size, u_size, v_size, a_size;
        } YUVA;
    } u;
    uint32_t pad[4];
    uint8_t *private_memory;
} WebPDecBuffer;

typedef struct {
    int bypass_filtering, no_fancy_upsampling, use_cropping;
    int crop_left, crop_top, crop_width, crop_height;
    int use_scaling, scaled_width, scaled_height;
    int use_threads, dithering_strength, flip, alpha_dithering_strength;
    uint32_t pad[5];
} WebPDecoderOptions;

typedef struct {
    WebPBitstreamFeatures input;
    WebPDecBuffer output;
    WebPDecoderOptions options;
} WebPDecoderConfig;

#define FUNCTIONS(F) \
    F(WebPInitDecoderConfigInternal, int, (WebPDecoderConfig *, int)) \
    F(WebPGetFeaturesInternal, int, (const uint8_t *, size_t, WebPBitstreamFeatures *, int)) \
    F(WebPDecode, int, (const uint8_t *, size_t, WebPDecoderConfig *)) \
    F(WebPIDecode, void *, (const uint8_t *, size_t, WebPDecoderConfig *)) \
    F(WebPIUpdate, int, (void *, const uint8_t *, size_t)) \
    F(WebPIDecGetRGB, uint8_t *, (const void *, int *, int *, int *, int *)) \
    F(WebPIDelete, void, (void *)) \
    F(WebPFreeDecBuffer, void, (WebPDecBuffer *))

DEFINE_BINDING("libwebp", "7")

static clarkspur_image_outcome fail(clarkspur_image_decoding *decoding, int status) {
    if (status == VP8_STATUS_OUT_OF_MEMORY) { return clarkspur_image_out_of_memory; }
    const char *problem = status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA
        ? "the data ends within the image"
        : status == VP8_STATUS_UNSUPPORTED_FEATURE ? "the image has a feature that libwebp cannot decode, such as animation"
                                                   : "the data is damaged";
    snprintf(decoding->problem, sizeof decoding->problem, "%s", problem);
    return clarkspur_image_invalid;
}

// Decodes the rows that are there.
static int decode_rows(clarkspur_image_decoding *decoding, WebPDecoderConfig *config) {
    void *decoder = bound.WebPIDecode(NULL, 0, config);
    if (!decoder) { return VP8_STATUS_OUT_OF_MEMORY; }
    int status = bound.WebPIUpdate(decoder, decoding->bytes, decoding->count);
    int rows = 0;
    if (status != VP8_STATUS_OUT_OF_MEMORY && bound.WebPIDecGetRGB(decoder, &rows, NULL, NULL, NULL) && rows > 0) {
        status = VP8_STATUS_OK;
    }
    bound.WebPIDelete(decoder);
    return status;
}

bool clarkspur_webp_is_found(void) { return is_bound(); }

clarkspur_image_outcome clarkspur_webp_decode(clarkspur_image_decoding *decoding) {
    if (!is_bound()) { return clarkspur_image_missing; }
    WebPDecoderConfig config;
    if (!bound.WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION)) { return clarkspur_image_missing; }
    int status =
        bound.WebPGetFeaturesInternal(decoding->bytes, decoding->count, &config.input, WEBP_DECODER_ABI_VERSION);
    if (status != VP8_STATUS_OK) { return fail(decoding, status); }
    if (config.input.has_animation) { return fail(decoding, VP8_STATUS_UNSUPPORTED_FEATURE); }
    if ((uint32_t)config.input.width != decoding->source_width
        || (uint32_t)config.input.height != decoding->source_height) {
        return fail(decoding, VP8_STATUS_BITSTREAM_ERROR);
    }
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = decoding->pixels;
    config.output.u.RGBA.stride = (int)decoding->width * 4;
    config.output.u.RGBA.size = (size_t)decoding->width * decoding->height * 4;
    config.options.use_scaling = decoding->width != decoding->source_width || decoding->height != decoding->source_height;
    config.options.scaled_width = (int)decoding->width;
    config.options.scaled_height = (int)decoding->height;
    status = decoding->is_preview ? decode_rows(decoding, &config)
                                  : bound.WebPDecode(decoding->bytes, decoding->count, &config);
    bound.WebPFreeDecBuffer(&config.output);
    return status == VP8_STATUS_OK ? clarkspur_image_complete : fail(decoding, status);
}
