#include "CAllocations.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

static atomic_ulong allocations;
static atomic_bool counting;

void larkspur_count_allocations(void) { atomic_store_explicit(&counting, true, memory_order_relaxed); }

unsigned long larkspur_allocations(void) { return atomic_load_explicit(&allocations, memory_order_relaxed); }

double larkspur_cpu_microseconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

long larkspur_peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
    return usage.ru_maxrss / 1024;
#else
    return usage.ru_maxrss;
#endif
}

#if defined(__GLIBC__)
#include <malloc.h>

void larkspur_return_free_memory(void) { malloc_trim(0); }

// An executable's own malloc takes precedence over the C library's for every library in the process.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void count(void) {
    // A counter that all threads write to costs time, so it is used only on request.
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *pointer, size_t size) {
    count();
    return __libc_realloc(pointer, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    count();
    *pointer = __libc_memalign(alignment, size);
    return *pointer ? 0 : 12;
}
#else
void larkspur_return_free_memory(void) {}
#endif
