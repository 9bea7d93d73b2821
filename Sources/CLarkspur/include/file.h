#pragma once

#include <stdint.h>

// Starts to write a part of a file from the system's cache to disk, without waiting. Has no effect on systems without
// such a call.
void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count);

// Writes a file to disk and waits until the disk has the bytes. On failure it returns -1 and sets `errno`. On Apple
// platforms `fsync` alone leaves the bytes in the disk's own cache, where a loss of power destroys them.
int clarkspur_file_flush(int descriptor);
