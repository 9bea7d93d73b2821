#pragma once

// Makes the allocator return unused memory to the system. The call takes milliseconds if much memory is unused. Has an
// effect only with the allocator of glibc.
void clarkspur_memory_trim(void);
