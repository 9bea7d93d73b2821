#include "width.h"

#include <stdlib.h>

// Thousands of tests that start at the same time delay each other until some time out. A package cannot configure their number,
// so this sets the environment variable before the test library reads it. An existing value stays.
__attribute__((constructor)) static void limit_width(void) { setenv(TEST_WIDTH_VARIABLE, "8", 0); }
