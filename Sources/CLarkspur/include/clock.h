#pragma once

#include <stdint.h>
#include <time.h>

// The nanoseconds of the monotonic clock.
static inline uint64_t clarkspur_clock_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}
