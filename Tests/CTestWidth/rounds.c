#include "width.h"

#include <stdlib.h>

long test_rounds(long usual, long nightly) {
    const char *part = getenv("LARKSPUR_NIGHTLY");
    if (!part) return usual < 5 ? 1 : usual / 5;
    long divisor = atol(part);
    long rounds = nightly / (divisor > 0 ? divisor : 1);
    return rounds > usual ? rounds : usual;
}

long test_time_scale(void) {
    const char *scale = getenv("LARKSPUR_TIME_SCALE");
    long number = scale ? atol(scale) : 1;
    return number < 1 ? 1 : number > 100 ? 100 : number;
}

bool test_keeps_time(void) { return getenv("LARKSPUR_TIMING") != NULL; }

void test_fill_pattern(unsigned char *bytes, size_t count) {
    for (size_t position = 0; position < count; position++) {
        bytes[position] = (unsigned char)((position * 0x9E3779B97F4A7C15u) >> 37);
    }
}
