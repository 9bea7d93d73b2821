#ifndef C_ALLOCATIONS_H
#define C_ALLOCATIONS_H

/// Starts to count heap allocations.
void larkspur_count_allocations(void);

/// Returns the number of heap allocations of all threads since counting started. It is 0 on systems other than Linux
/// with glibc.
unsigned long larkspur_allocations(void);

/// Returns the CPU time of this process so far, user and system, in microseconds.
double larkspur_cpu_microseconds(void);

/// Returns free memory to the system, so that the resident memory is in use. Linux with glibc only.
void larkspur_return_free_memory(void);

/// Returns the maximum resident memory of this process so far.
long larkspur_peak_kib(void);

#endif
