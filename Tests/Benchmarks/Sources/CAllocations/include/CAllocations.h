#ifndef C_ALLOCATIONS_H
#define C_ALLOCATIONS_H

/// Heap allocations made by this process so far, by all threads. Counted on Linux with glibc; elsewhere always 0.
unsigned long larkspur_allocations(void);

/// CPU time used by this process so far, user and system, in microseconds.
double larkspur_cpu_microseconds(void);

#endif
