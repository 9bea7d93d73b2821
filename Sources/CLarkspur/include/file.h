#pragma once

#include <stdint.h>

// Tells the system to start writing a part of a file from its cache to disk, and does not wait for the end of that
// work. Has an effect only on Linux.
void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count);
