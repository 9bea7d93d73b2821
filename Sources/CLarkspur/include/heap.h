#pragma once

// Makes the allocator return unused memory to the system. Takes milliseconds if there is much of it. Has no effect on
// systems without such a call.
void clarkspur_memory_trim(void);
