#ifndef LARKSPUR_TEST_WIDTH_H
#define LARKSPUR_TEST_WIDTH_H

#include <stddef.h>

/// The variable by which Swift Testing is told how many tests run at once, from Swift 6.3 on.
#define TEST_WIDTH_VARIABLE "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

/// The number of bytes of the process's heap that are in use; 0 where the system does not say.
size_t test_heap_bytes(void);

#endif
