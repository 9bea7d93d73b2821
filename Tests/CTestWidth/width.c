#include "width.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The number of tests that run at once is the number of cores: more of them only delay each other. A package cannot configure
// the number, so this sets the environment variable before the test library reads it. An existing value stays.
// A container may have fewer cores than the system reports, so the number has a limit.
__attribute__((constructor)) static void limit_width(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char width[12];
    snprintf(width, sizeof width, "%ld", cores < 2 ? 2 : cores > 8 ? 8 : cores);
    setenv(TEST_WIDTH_VARIABLE, width, 0);
}
