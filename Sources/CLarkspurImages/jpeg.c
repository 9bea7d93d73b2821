#include "../CLarkspur/binding.h"
#include "include/CLarkspurImages.h"
#include "scaler.h"

#include <stdlib.h>
#include <string.h>

enum { TJPF_RGBA = 7, TJPF_CMYK = 11, TJCS_CMYK = 3, TJCS_YCCK = 4, TJERR_WARNING = 0 };
// More than 500 scans are refused, and so are large images with many: each scan costs the time of the whole image.
enum { TJFLAG_LIMITSCANS = 32768 };
static const uint64_t maximum_work = 4000000000;

typedef struct {
    int num;
    int denom;
} tjscalingfactor;

#define FUNCTIONS(F) \
    F(tjInitDecompress, void *, (void)) \
    F(tjDestroy, int, (void *)) \
    F(tjDecompressHeader3, int, (void *, const uint8_t *, unsigned long, int *, int *, int *, int *)) \
    F(tjGetScalingFactors, tjscalingfactor *, (int *)) \
    F(tjDecompress2, int, (void *, const uint8_t *, unsigned long, uint8_t *, int, int, int, int, int)) \
    F(tjGetErrorStr2, char *, (void *)) \
    F(tjGetErrorCode, int, (void *))

DEFINE_BINDING("libturbojpeg", "0")

static clarkspur_image_outcome fail(clarkspur_image_decoding *decoding, void *handle) {
    snprintf(decoding->problem, sizeof decoding->problem, "%s", bound.tjGetErrorStr2(handle));
    return clarkspur_image_invalid;
}

// The smallest size that the library can decode at and that is not below the wanted one.
static void choose_size(const clarkspur_image_decoding *decoding, uint32_t *width, uint32_t *height) {
    *width = decoding->source_width;
    *height = decoding->source_height;
    int count = 0;
    const tjscalingfactor *factors = bound.tjGetScalingFactors(&count);
    for (int index = 0; factors && index < count; index++) {
        uint64_t num = (uint64_t)factors[index].num, denom = (uint64_t)factors[index].denom;
        uint32_t w = (uint32_t)((decoding->source_width * num + denom - 1) / denom);
        uint32_t h = (uint32_t)((decoding->source_height * num + denom - 1) / denom);
        if (w >= decoding->width && h >= decoding->height && w <= *width && h <= *height) {
            *width = w;
            *height = h;
        }
    }
}

// Adobe's programs store the four inks inverted.
static void convert_inks(uint8_t *pixels, size_t count) {
    for (size_t index = 0; index < count; index++, pixels += 4) {
        for (int channel = 0; channel < 3; channel++) { pixels[channel] = (uint8_t)(pixels[channel] * pixels[3] / 255); }
        pixels[3] = 0xFF;
    }
}

// Where the data ends, the library goes on with grey, or leaves the rows as they are. Makes such rows at the bottom
// transparent, and returns whether rows remain.
static bool clear_missing_rows(uint8_t *pixels, uint32_t width, uint32_t height) {
    for (size_t row = height; row > 0; row--) {
        uint8_t *first = pixels + (row - 1) * width * 4;
        for (uint32_t index = 0; index < width; index++) {
            const uint8_t *pixel = first + (size_t)index * 4;
            if (pixel[3] != 0 && (pixel[0] != 128 || pixel[1] != 128 || pixel[2] != 128)) { return true; }
        }
        memset(first, 0, (size_t)width * 4);
    }
    return false;
}

// The number of scans, or more: a comment can look like a scan.
static uint64_t scans(const clarkspur_image_decoding *decoding) {
    const uint8_t *next = decoding->bytes, *end = decoding->bytes + decoding->count;
    uint64_t count = 0;
    while (next < end && (next = memchr(next, 0xFF, (size_t)(end - next)))) {
        next++;
        if (next < end && *next == 0xDA) { count++; }
    }
    return count;
}

// Whether an end marker is among the last bytes. Programs add bytes after it.
static bool has_end(const clarkspur_image_decoding *decoding) {
    size_t start = decoding->count > 1024 ? decoding->count - 1024 : 0;
    for (size_t index = start; index + 1 < decoding->count; index++) {
        if (decoding->bytes[index] == 0xFF && decoding->bytes[index + 1] == 0xD9) { return true; }
    }
    return false;
}

typedef struct {
    void *handle;
    uint8_t *pixels;
    int width, height, format;
} canvas;

// A warning is a small fault, such as surplus bytes between segments: the image is there.
typedef enum { is_complete, has_warning, ends_early, is_damaged } verdict;

static verdict decompress(const canvas *canvas, const uint8_t *bytes, size_t count) {
    uint8_t *last = canvas->pixels + ((size_t)canvas->width * (size_t)canvas->height - 1) * 4;
    memset(last, 0, 4);
    if (bound.tjDecompress2(canvas->handle, bytes, count, canvas->pixels, canvas->width, 0, canvas->height,
            canvas->format, TJFLAG_LIMITSCANS) == 0) {
        return is_complete;
    }
    // The end of the data within the image is a warning too, and the first warning alone is known.
    if (bound.tjGetErrorCode(canvas->handle) != TJERR_WARNING) { return is_damaged; }
    if (strstr(bound.tjGetErrorStr2(canvas->handle), "Premature end")) { return ends_early; }
    // The library also reports an error as a warning if a warning came before it. The last pixel tells: it stays zero,
    // which no pixel with an alpha is, and no ink of a printer.
    return memcmp(last, "\0\0\0", 4) == 0 ? is_damaged : has_warning;
}

static clarkspur_image_outcome decode(clarkspur_image_decoding *decoding, void *handle, uint8_t **scratch) {
    int source_width = 0, source_height = 0, subsampling = 0, colours = 0;
    // The function fails for unusual subsamplings too. It has then written the size and the colours, and such an image can
    // be decoded.
    if (bound.tjDecompressHeader3(
            handle, decoding->bytes, decoding->count, &source_width, &source_height, &subsampling, &colours) != 0
        && (source_width <= 0 || source_height <= 0 || subsampling >= 0)) {
        return fail(decoding, handle);
    }
    if ((uint32_t)source_width != decoding->source_width || (uint32_t)source_height != decoding->source_height) {
        snprintf(decoding->problem, sizeof decoding->problem, "the size differs from that in the header");
        return clarkspur_image_invalid;
    }
    if (scans(decoding) * decoding->source_width * decoding->source_height > maximum_work) {
        snprintf(decoding->problem, sizeof decoding->problem, "the image has too many scans for its size");
        return clarkspur_image_invalid;
    }
    uint32_t width, height;
    choose_size(decoding, &width, &height);
    bool is_direct = width == decoding->width && height == decoding->height;
    if (!is_direct && !(*scratch = calloc((size_t)width * height, 4))) { return clarkspur_image_out_of_memory; }
    uint8_t *pixels = is_direct ? decoding->pixels : *scratch;
    bool is_of_inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
    canvas target = {handle, pixels, (int)width, (int)height, is_of_inks ? TJPF_CMYK : TJPF_RGBA};
    verdict found = decompress(&target, decoding->bytes, decoding->count);
    if (found == ends_early && !decoding->is_preview) {
        // Some programs do not write the end marker. With it, only an image that is really incomplete has a warning.
        uint8_t *completed = malloc(decoding->count + 2);
        if (!completed) { return clarkspur_image_out_of_memory; }
        memcpy(completed, decoding->bytes, decoding->count);
        memcpy(completed + decoding->count, "\xFF\xD9", 2);
        if (decompress(&target, completed, decoding->count + 2) != is_complete) { found = is_damaged; }
        free(completed);
    } else if (found == has_warning && !decoding->is_preview && !has_end(decoding)) {
        found = is_damaged;
    }
    if (found == is_damaged) { return fail(decoding, handle); }
    if (is_of_inks) {
        convert_inks(pixels, (size_t)width * height);
    } else if (decoding->is_preview && !clear_missing_rows(pixels, width, height)) {
        snprintf(decoding->problem, sizeof decoding->problem, "the data ends before the pixels");
        return clarkspur_image_invalid;
    }
    if (is_direct) { return clarkspur_image_complete; }
    clarkspur_scaler scaler = {
        .source_width = width, .source_height = height,
        .width = decoding->width, .height = decoding->height, .pixels = decoding->pixels,
    };
    if (!clarkspur_scaler_open(&scaler, false)) { return clarkspur_image_out_of_memory; }
    for (uint32_t y = 0; y < height; y++) {
        clarkspur_scaler_add(&scaler, y, 0, 1, pixels + (size_t)y * width * 4, width);
    }
    clarkspur_scaler_finish(&scaler);
    clarkspur_scaler_close(&scaler);
    return clarkspur_image_complete;
}

bool clarkspur_jpeg_is_found(void) { return is_bound(); }

clarkspur_image_outcome clarkspur_jpeg_decode(clarkspur_image_decoding *decoding) {
    if (!is_bound()) { return clarkspur_image_missing; }
    void *handle = bound.tjInitDecompress();
    if (!handle) { return clarkspur_image_out_of_memory; }
    uint8_t *scratch = NULL;
    clarkspur_image_outcome outcome = decode(decoding, handle, &scratch);
    free(scratch);
    bound.tjDestroy(handle);
    return outcome;
}
