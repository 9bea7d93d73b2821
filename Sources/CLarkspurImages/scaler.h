#pragma once

#include <stdbool.h>
#include <stdint.h>

// Makes an image smaller while its pixels arrive: each pixel of the result is the mean of the pixels that fall onto it,
// weighted by their alpha.
typedef struct {
    uint32_t source_width, source_height, width, height;
    uint8_t *pixels;
    // Four sums for each pixel of the result: of one row, or of all rows if the source's rows arrive out of order.
    uint64_t *sums;
    // The column of the result for each column of the source.
    uint32_t *columns;
    bool is_whole;
    // The row of the result that `sums` belongs to, unless `is_whole`.
    uint32_t row;
} clarkspur_scaler;

bool clarkspur_scaler_open(clarkspur_scaler *scaler, bool is_whole);
// Adds pixels of the source's row `y`: the columns `x`, `x + step` and so on.
void clarkspur_scaler_add(
    clarkspur_scaler *scaler, uint32_t y, uint32_t x, uint32_t step, const uint8_t *pixels, uint32_t count);
// Writes the remaining pixels of the result.
void clarkspur_scaler_finish(clarkspur_scaler *scaler);
void clarkspur_scaler_close(clarkspur_scaler *scaler);
