#pragma once

// Has the allocator return the memory that it keeps for later to the system. Takes milliseconds where there is much of it.
// Does nothing where no such call is known.
void clarkspur_memory_trim(void);
