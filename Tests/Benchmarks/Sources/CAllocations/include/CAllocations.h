#ifndef C_ALLOCATIONS_H
#define C_ALLOCATIONS_H

/// Counts heap allocations from now on.
void larkspur_count_allocations(void);

/// Heap allocations made by this process since they are counted, by all threads. On Linux with glibc; elsewhere 0.
unsigned long larkspur_allocations(void);

/// CPU time used by this process so far, user and system, in microseconds.
double larkspur_cpu_microseconds(void);

/// Returns to the system what is free, so that what is resident is in use. On Linux with glibc.
void larkspur_return_free_memory(void);

/// The most memory that this process ever had resident.
long larkspur_peak_kib(void);

#endif
