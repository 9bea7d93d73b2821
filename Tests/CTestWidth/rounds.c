#include "width.h"

#include <stdlib.h>

long test_rounds(long usual, long nightly) { return getenv("LARKSPUR_NIGHTLY") ? nightly : usual; }

void test_fill_pattern(unsigned char *bytes, size_t count) {
    for (size_t position = 0; position < count; position++) {
        bytes[position] = (unsigned char)((position * 0x9E3779B97F4A7C15u) >> 37);
    }
}
