#include "../CLarkspur/binding.h"
#include "include/CLarkspurImages.h"
#include "scaler.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

// libpng reports an error by a call that must not return. The call jumps to the function here that has called libpng, so
// no frame of Swift is ever skipped. All that such a function changes after `setjmp` is in memory, not in registers.

typedef void (*report)(void *, const char *);
typedef void (*transfer)(void *, uint8_t *, size_t);

enum { PNG_COLOR_TYPE_RGB_ALPHA = 6, PNG_INTERLACE_NONE = 0, PNG_FILLER_AFTER = 1 };

#define FUNCTIONS(F) \
    F(png_create_read_struct, void *, (const char *, void *, report, report)) \
    F(png_create_write_struct, void *, (const char *, void *, report, report)) \
    F(png_create_info_struct, void *, (void *)) \
    F(png_destroy_read_struct, void, (void **, void **, void **)) \
    F(png_destroy_write_struct, void, (void **, void **)) \
    F(png_get_error_ptr, void *, (const void *)) \
    F(png_get_io_ptr, void *, (const void *)) \
    F(png_set_read_fn, void, (void *, void *, transfer)) \
    F(png_set_write_fn, void, (void *, void *, transfer, void (*)(void *))) \
    F(png_set_user_limits, void, (void *, uint32_t, uint32_t)) \
    F(png_set_chunk_malloc_max, void, (void *, size_t)) \
    F(png_set_chunk_cache_max, void, (void *, uint32_t)) \
    F(png_read_info, void, (void *, void *)) \
    F(png_get_image_width, uint32_t, (const void *, const void *)) \
    F(png_get_image_height, uint32_t, (const void *, const void *)) \
    F(png_get_interlace_type, uint8_t, (const void *, const void *)) \
    F(png_get_rowbytes, size_t, (const void *, const void *)) \
    F(png_set_expand, void, (void *)) \
    F(png_set_scale_16, void, (void *)) \
    F(png_set_gray_to_rgb, void, (void *)) \
    F(png_set_add_alpha, void, (void *, uint32_t, int)) \
    F(png_read_update_info, void, (void *, void *)) \
    F(png_read_row, void, (void *, uint8_t *, uint8_t *)) \
    F(png_set_IHDR, void, (void *, void *, uint32_t, uint32_t, int, int, int, int, int)) \
    F(png_write_info, void, (void *, void *)) \
    F(png_write_row, void, (void *, const uint8_t *)) \
    F(png_write_end, void, (void *, void *))

DEFINE_BINDING("libpng16", "16")

// libpng compares the first two numbers with its own.
static const char version[] = "1.6.0";

typedef struct {
    jmp_buf exit;
    char *problem;
    void *png;
    void *info;
    // Of a reader.
    clarkspur_image_decoding *decoding;
    size_t offset;
    uint8_t *row;
    clarkspur_scaler scaler;
    // The pixels of an interlaced image, unless its sums take less memory.
    uint8_t *whole;
    bool has_rows;
    // Of a writer.
    clarkspur_image_encoding *encoding;
    size_t capacity;
    bool is_out_of_memory;
} png_work;

static void fail(void *png, const char *message) {
    png_work *work = bound.png_get_error_ptr(png);
    snprintf(work->problem, clarkspur_image_problem_length, "%s", message ? message : "unknown error of libpng");
    longjmp(work->exit, 1);
}

static void ignore(void *png, const char *message) {
    (void)png;
    (void)message;
}

static void read_bytes(void *png, uint8_t *bytes, size_t count) {
    png_work *work = bound.png_get_io_ptr(png);
    if (count > work->decoding->count - work->offset) { fail(png, "the data ends within the image"); }
    memcpy(bytes, work->decoding->bytes + work->offset, count);
    work->offset += count;
}

// The passes of Adam7: the first column and row, the distances to the next ones, and the block that each pixel stands for
// until later passes arrive.
static const struct {
    uint32_t x, y, across, down, width, height;
} passes[7] = {{0, 0, 8, 8, 8, 8}, {4, 0, 8, 8, 4, 8}, {0, 4, 4, 8, 4, 4}, {2, 0, 4, 4, 2, 4},
    {0, 2, 2, 4, 2, 2}, {1, 0, 2, 2, 1, 2}, {0, 1, 1, 2, 1, 1}};

static uint32_t steps(uint32_t length, uint32_t start, uint32_t step) {
    return length > start ? (length - start + step - 1) / step : 0;
}

typedef struct {
    uint32_t start, end;
} range;

// The positions of the result that a block of the source covers: at least one.
static range covered(uint32_t position, uint32_t length, uint32_t source, uint32_t target) {
    uint32_t last = length < source - position ? position + length : source;
    uint32_t start = (uint32_t)((uint64_t)position * target / source);
    uint32_t end = (uint32_t)((uint64_t)last * target / source);
    return (range){start, end > start ? end : start + 1};
}

// Draws the pixels of a pass as blocks, over those of earlier passes.
static void draw_blocks(png_work *work, int pass, uint32_t y, uint32_t count) {
    clarkspur_scaler *scaler = &work->scaler;
    range rows = covered(y, passes[pass].height, scaler->source_height, scaler->height);
    size_t stride = (size_t)scaler->width * 4;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t x = passes[pass].x + index * passes[pass].across;
        range columns = covered(x, passes[pass].width, scaler->source_width, scaler->width);
        for (uint32_t row = rows.start; row < rows.end; row++) {
            for (uint32_t column = columns.start; column < columns.end; column++) {
                memcpy(scaler->pixels + row * stride + (size_t)column * 4, work->row + (size_t)index * 4, 4);
            }
        }
    }
}

// Writes the pixels of a pass to their places in the whole image.
static void place_pixels(png_work *work, int pass, uint32_t y, uint32_t count) {
    uint8_t *pixel = work->whole + ((size_t)y * work->scaler.source_width + passes[pass].x) * 4;
    for (uint32_t index = 0; index < count; index++, pixel += (size_t)passes[pass].across * 4) {
        memcpy(pixel, work->row + (size_t)index * 4, 4);
    }
}

static void read_rows(png_work *work, bool is_interlaced) {
    uint32_t width = work->scaler.source_width, height = work->scaler.source_height;
    if (!is_interlaced) {
        for (uint32_t y = 0; y < height; y++) {
            bound.png_read_row(work->png, work->row, NULL);
            work->has_rows = true;
            clarkspur_scaler_add(&work->scaler, y, 0, 1, work->row, width);
        }
        return;
    }
    for (int pass = 0; pass < 7; pass++) {
        uint32_t count = steps(width, passes[pass].x, passes[pass].across);
        uint32_t rows = steps(height, passes[pass].y, passes[pass].down);
        for (uint32_t index = 0; count > 0 && index < rows; index++) {
            bound.png_read_row(work->png, work->row, NULL);
            work->has_rows = true;
            uint32_t y = passes[pass].y + index * passes[pass].down;
            if (work->decoding->is_preview) {
                draw_blocks(work, pass, y, count);
            } else if (work->whole) {
                place_pixels(work, pass, y, count);
            } else {
                clarkspur_scaler_add(&work->scaler, y, passes[pass].x, passes[pass].across, work->row, count);
            }
        }
    }
}

static clarkspur_image_outcome decode(png_work *work) {
    clarkspur_image_decoding *decoding = work->decoding;
    if (setjmp(work->exit)) {
        if (!work->decoding->is_preview || !work->has_rows) { return clarkspur_image_invalid; }
        // The sums of the last row, which may lack pixels below.
        if (work->scaler.sums) { clarkspur_scaler_finish(&work->scaler); }
        return clarkspur_image_complete;
    }
    work->png = bound.png_create_read_struct(version, work, fail, ignore);
    work->info = work->png ? bound.png_create_info_struct(work->png) : NULL;
    if (!work->info) { return clarkspur_image_out_of_memory; }
    bound.png_set_read_fn(work->png, work, read_bytes);
    bound.png_set_user_limits(work->png, decoding->source_width, decoding->source_height);
    // Text, colour profiles and the like are not needed.
    bound.png_set_chunk_malloc_max(work->png, 1 << 20);
    bound.png_set_chunk_cache_max(work->png, 32);
    bound.png_read_info(work->png, work->info);
    bool is_interlaced = bound.png_get_interlace_type(work->png, work->info) != PNG_INTERLACE_NONE;
    bound.png_set_expand(work->png);
    bound.png_set_scale_16(work->png);
    bound.png_set_gray_to_rgb(work->png);
    bound.png_set_add_alpha(work->png, 0xFF, PNG_FILLER_AFTER);
    bound.png_read_update_info(work->png, work->info);
    if (bound.png_get_image_width(work->png, work->info) != decoding->source_width
        || bound.png_get_image_height(work->png, work->info) != decoding->source_height
        || bound.png_get_rowbytes(work->png, work->info) != (size_t)decoding->source_width * 4) {
        fail(work->png, "the size differs from that in the header");
    }
    work->scaler = (clarkspur_scaler){
        .source_width = decoding->source_width, .source_height = decoding->source_height,
        .width = decoding->width, .height = decoding->height, .pixels = decoding->pixels,
    };
    // The row is zeroed: libpng's transformations may read a little beyond the bytes of a pass.
    work->row = calloc(decoding->source_width, 8);
    if (!work->row) { return clarkspur_image_out_of_memory; }
    if (is_interlaced && decoding->is_preview) {
        read_rows(work, true);
        return clarkspur_image_complete;
    }
    size_t source = (size_t)decoding->source_width * decoding->source_height;
    size_t result = (size_t)decoding->width * decoding->height;
    bool is_whole = is_interlaced && source * 4 < result * sizeof(uint64_t) * 4;
    if (is_whole) {
        work->whole = source == result ? decoding->pixels : malloc(source * 4);
        if (!work->whole) { return clarkspur_image_out_of_memory; }
        read_rows(work, true);
        if (source == result) { return clarkspur_image_complete; }
    }
    if (!clarkspur_scaler_open(&work->scaler, is_interlaced && !is_whole)) { return clarkspur_image_out_of_memory; }
    if (is_whole) {
        for (uint32_t y = 0; y < decoding->source_height; y++) {
            const uint8_t *row = work->whole + (size_t)y * decoding->source_width * 4;
            clarkspur_scaler_add(&work->scaler, y, 0, 1, row, decoding->source_width);
        }
    } else {
        read_rows(work, is_interlaced);
    }
    clarkspur_scaler_finish(&work->scaler);
    return clarkspur_image_complete;
}

bool clarkspur_png_is_found(void) { return is_bound(); }

clarkspur_image_outcome clarkspur_png_decode(clarkspur_image_decoding *decoding) {
    if (!is_bound()) { return clarkspur_image_missing; }
    png_work *work = calloc(1, sizeof *work);
    if (!work) { return clarkspur_image_out_of_memory; }
    work->decoding = decoding;
    work->problem = decoding->problem;
    clarkspur_image_outcome outcome = decode(work);
    if (work->png) { bound.png_destroy_read_struct(&work->png, &work->info, NULL); }
    clarkspur_scaler_close(&work->scaler);
    if (work->whole != decoding->pixels) { free(work->whole); }
    free(work->row);
    free(work);
    return outcome;
}

static void write_bytes(void *png, uint8_t *bytes, size_t count) {
    png_work *work = bound.png_get_io_ptr(png);
    clarkspur_image_encoding *encoding = work->encoding;
    if (count > work->capacity - encoding->count) {
        size_t capacity = (encoding->count + count) * 2;
        uint8_t *grown = realloc(encoding->bytes, capacity);
        if (!grown) {
            work->is_out_of_memory = true;
            fail(png, "out of memory");
        }
        encoding->bytes = grown;
        work->capacity = capacity;
    }
    memcpy(encoding->bytes + encoding->count, bytes, count);
    encoding->count += count;
}

static void flush(void *png) { (void)png; }

static clarkspur_image_outcome encode(png_work *work) {
    clarkspur_image_encoding *encoding = work->encoding;
    if (setjmp(work->exit)) {
        return work->is_out_of_memory ? clarkspur_image_out_of_memory : clarkspur_image_invalid;
    }
    work->png = bound.png_create_write_struct(version, work, fail, ignore);
    work->info = work->png ? bound.png_create_info_struct(work->png) : NULL;
    if (!work->info) { return clarkspur_image_out_of_memory; }
    bound.png_set_write_fn(work->png, work, write_bytes, flush);
    bound.png_set_IHDR(
        work->png, work->info, encoding->width, encoding->height, 8, PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE, 0, 0);
    bound.png_write_info(work->png, work->info);
    for (uint32_t y = 0; y < encoding->height; y++) {
        bound.png_write_row(work->png, encoding->pixels + (size_t)y * encoding->width * 4);
    }
    bound.png_write_end(work->png, NULL);
    return clarkspur_image_complete;
}

clarkspur_image_outcome clarkspur_png_encode(clarkspur_image_encoding *encoding) {
    if (!is_bound()) { return clarkspur_image_missing; }
    png_work *work = calloc(1, sizeof *work);
    if (!work) { return clarkspur_image_out_of_memory; }
    encoding->bytes = NULL;
    encoding->count = 0;
    work->encoding = encoding;
    work->problem = encoding->problem;
    clarkspur_image_outcome outcome = encode(work);
    if (work->png) { bound.png_destroy_write_struct(&work->png, &work->info); }
    if (outcome != clarkspur_image_complete) {
        free(encoding->bytes);
        encoding->bytes = NULL;
    }
    free(work);
    return outcome;
}
