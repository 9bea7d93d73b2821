#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns a checksum of bytes on disk. It detects damage, and does not protect against an attacker: a change within any
// eight bytes is always detected, and other changes with the probability of 64 random bits. The result is the same on
// all platforms.
uint64_t clarkspur_checksum(uint64_t seed, const void *bytes, size_t count);
