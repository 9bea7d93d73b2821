#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// The process has a folder for temporary files, which is removed at its end. Some files are written after the test that needs
// them, for example by a cache, so no test can remove them.
static char folder[1024];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path) && 0;  // whatever cannot be removed is tried again
}

static void remove_folder(void) {
    if (getpid() != owner) { return; }
    // Threads may still write.
    for (int round = 0; round < 100 && access(folder, F_OK) == 0; round++) {
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
}

__attribute__((constructor)) static void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/larkspur-tests-XXXXXX", parent && *parent ? parent : P_tmpdir);
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder)) { return; }
    owner = getpid();
    setenv("TMPDIR", folder, 1);
    atexit(remove_folder);
}
