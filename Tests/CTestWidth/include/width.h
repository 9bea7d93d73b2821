#ifndef LARKSPUR_TEST_WIDTH_H
#define LARKSPUR_TEST_WIDTH_H

/// The variable by which Swift Testing is told how many tests run at once, from Swift 6.3 on.
#define TEST_WIDTH_VARIABLE "SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH"

#endif
