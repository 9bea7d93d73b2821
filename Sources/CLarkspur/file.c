#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void clarkspur_file_begin_flush(int descriptor, uint64_t start, uint64_t count) {
#if defined(__linux__)
    sync_file_range(descriptor, (off_t)start, (off_t)count, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor, (void)start, (void)count;
#endif
}

int clarkspur_file_flush(int descriptor) {
#if defined(F_FULLFSYNC)
    if (fcntl(descriptor, F_FULLFSYNC) == 0) { return 0; }
    if (errno == EINTR) { return -1; }
    // The file system, a network share for instance, does not support the complete flush.
#endif
    return fsync(descriptor);
}
