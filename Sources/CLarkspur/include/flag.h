#pragma once

#include <stdbool.h>
#include <stdint.h>

// A lock-free flag that one thread raises and others read. A thread that sees the flag raised also sees all earlier
// writes of the raising thread.
static inline bool clarkspur_flag_is_raised(const uint32_t *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
static inline void clarkspur_flag_raise(uint32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
