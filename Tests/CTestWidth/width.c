#include "width.h"

#include <stdlib.h>

// Tests that all begin at once, thousands of them, wait for each other's turns until the clocks of some have run out. There is
// no setting for it that a package can have, so the variable is set before anybody reads it, unless somebody has set it already.
__attribute__((constructor)) static void limit_width(void) { setenv(TEST_WIDTH_VARIABLE, "8", 0); }
