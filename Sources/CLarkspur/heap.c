#include "heap.h"

#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>

void clarkspur_memory_trim(void) { malloc_trim(0); }
#else
void clarkspur_memory_trim(void) {}
#endif
