#ifndef LARKSPUR_TEST_WIDTH_H
#define LARKSPUR_TEST_WIDTH_H

#include <stdbool.h>
#include <stddef.h>

/// The variable by which Swift Testing is told how many tests run at once, from Swift 6.3 on.
#define TEST_WIDTH_VARIABLE "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

/// Returns the number of rounds of a test with random input: a fifth of `usual`, because the tests run for every change.
/// If the environment variable LARKSPUR_NIGHTLY is a number, returns `nightly` divided by it, but at least `usual`.
long test_rounds(long usual, long nightly);

/// The factor of all time limits: the number in the environment variable LARKSPUR_TIME_SCALE, from 1 to 100, or 1.
long test_time_scale(void);

/// Whether the environment variable LARKSPUR_TIMING is set, so that tests that measure real time run.
bool test_keeps_time(void);

/// Fills the buffer with bytes that depend on their position. In C, because an unoptimised Swift build needs much longer.
void test_fill_pattern(unsigned char *bytes, size_t count);

/// The number of bytes of the process's heap that are in use; 0 where the system does not say.
size_t test_heap_bytes(void);

#endif
