#include "scaler.h"

#include <stdlib.h>
#include <string.h>

static uint32_t scaled(uint32_t position, uint32_t source, uint32_t target) {
    return (uint32_t)((uint64_t)position * target / source);
}

// The first position of the source that falls onto `position` of the target.
static uint32_t first(uint32_t position, uint32_t source, uint32_t target) {
    return (uint32_t)(((uint64_t)position * source + target - 1) / target);
}

static uint32_t share(uint32_t position, uint32_t source, uint32_t target) {
    return first(position + 1, source, target) - first(position, source, target);
}

bool clarkspur_scaler_open(clarkspur_scaler *scaler, bool is_whole) {
    scaler->is_whole = is_whole;
    scaler->row = 0;
    size_t rows = is_whole ? scaler->height : 1;
    scaler->sums = calloc(rows * scaler->width, 4 * sizeof(uint64_t));
    scaler->columns = malloc(scaler->source_width * sizeof(uint32_t));
    if (!scaler->sums || !scaler->columns) {
        clarkspur_scaler_close(scaler);
        return false;
    }
    for (uint32_t x = 0; x < scaler->source_width; x++) {
        scaler->columns[x] = scaled(x, scaler->source_width, scaler->width);
    }
    return true;
}

static void write_row(clarkspur_scaler *scaler, uint32_t row, uint64_t *sums) {
    uint8_t *pixel = scaler->pixels + (size_t)row * scaler->width * 4;
    uint64_t rows = share(row, scaler->source_height, scaler->height);
    for (uint32_t x = 0; x < scaler->width; x++, pixel += 4, sums += 4) {
        uint64_t count = rows * share(x, scaler->source_width, scaler->width);
        uint64_t alpha = sums[3];
        for (int channel = 0; channel < 3; channel++) {
            pixel[channel] = alpha ? (uint8_t)((sums[channel] + alpha / 2) / alpha) : 0;
        }
        pixel[3] = count ? (uint8_t)((alpha + count / 2) / count) : 0;
    }
}

void clarkspur_scaler_add(
    clarkspur_scaler *scaler, uint32_t y, uint32_t x, uint32_t step, const uint8_t *pixels, uint32_t count) {
    uint32_t row = scaled(y, scaler->source_height, scaler->height);
    uint64_t *sums = scaler->sums;
    if (scaler->is_whole) {
        sums += (size_t)row * scaler->width * 4;
    } else if (row != scaler->row) {
        write_row(scaler, scaler->row, sums);
        memset(sums, 0, (size_t)scaler->width * 4 * sizeof(uint64_t));
        scaler->row = row;
    }
    for (uint32_t index = 0; index < count; index++, x += step, pixels += 4) {
        uint64_t *sum = sums + (size_t)scaler->columns[x] * 4;
        uint32_t alpha = pixels[3];
        sum[0] += pixels[0] * alpha;
        sum[1] += pixels[1] * alpha;
        sum[2] += pixels[2] * alpha;
        sum[3] += alpha;
    }
}

void clarkspur_scaler_finish(clarkspur_scaler *scaler) {
    if (!scaler->is_whole) {
        write_row(scaler, scaler->row, scaler->sums);
        return;
    }
    for (uint32_t row = 0; row < scaler->height; row++) {
        write_row(scaler, row, scaler->sums + (size_t)row * scaler->width * 4);
    }
}

void clarkspur_scaler_close(clarkspur_scaler *scaler) {
    free(scaler->sums);
    free(scaler->columns);
    scaler->sums = NULL;
    scaler->columns = NULL;
}
