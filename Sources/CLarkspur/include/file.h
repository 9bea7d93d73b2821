#pragma once

#include <stdint.h>

// Starts to write a part of a file from the system's cache to disk, without waiting. Has no effect on systems without
// such a call.
void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count);
