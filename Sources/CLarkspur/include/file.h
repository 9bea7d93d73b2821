#pragma once

#include <stdint.h>

// Has the disk begin with a part of a file that was written, without waiting for it. Does nothing where no such call is known.
void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count);
