#include "width.h"

#include <stdlib.h>

long test_rounds(long usual, long nightly) {
    const char *part = getenv("LARKSPUR_NIGHTLY");
    if (!part) return usual;
    long divisor = atol(part);
    long rounds = nightly / (divisor > 0 ? divisor : 1);
    return rounds > usual ? rounds : usual;
}

void test_fill_pattern(unsigned char *bytes, size_t count) {
    for (size_t position = 0; position < count; position++) {
        bytes[position] = (unsigned char)((position * 0x9E3779B97F4A7C15u) >> 37);
    }
}
