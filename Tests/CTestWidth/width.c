#include "width.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The number of tests that run at once is the number of cores: more of them only delay each other. A package cannot configure
// the number, so this sets the environment variable before the test library reads it. An existing value stays.
__attribute__((constructor)) static void limit_width(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char width[12];
    snprintf(width, sizeof width, "%ld", cores < 2 ? 2 : cores > 64 ? 64 : cores);
    setenv(TEST_WIDTH_VARIABLE, width, 0);
}
