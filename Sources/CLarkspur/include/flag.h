#pragma once

#include <stdbool.h>
#include <stdint.h>

// A flag that one thread raises and others read, without a lock. A thread that sees it raised sees all that happened before.
static inline bool clarkspur_flag_is_raised(const uint32_t *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
static inline void clarkspur_flag_raise(uint32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
