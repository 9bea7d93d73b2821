#pragma once

#include <stdint.h>

// Tells the system to start writing a part of a file from its cache to disk, and does not wait for the end of that
// work. Has an effect only on Linux.
void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count);

// Writes a file to disk and waits until the disk has the bytes. On failure it returns -1 and sets `errno`. On Apple
// platforms `fsync` alone leaves the bytes in the disk's own cache, where a loss of power destroys them.
int clarkspur_file_flush(int descriptor);
