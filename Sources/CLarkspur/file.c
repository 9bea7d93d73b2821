#define _GNU_SOURCE
#include "file.h"

#include <fcntl.h>

void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count) {
#if defined(__linux__)
    sync_file_range(descriptor, (off_t)start, (off_t)count, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor, (void)start, (void)count;
#endif
}
