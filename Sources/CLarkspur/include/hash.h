#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Hash functions of the OpenSSL that libcurl uses.

enum { clarkspur_hash_longest = 64 };

// Starts a hash by its OpenSSL name, such as `SHA256`. Returns NULL if OpenSSL is missing or does not support it.
void *clarkspur_hash_open(const char *name);
// Returns false if OpenSSL failed. The input cannot cause such a failure.
bool clarkspur_hash_update(void *hash, const void *bytes, size_t count);
// Writes the result and returns its size, or 0 if OpenSSL failed. After this call, the hash accepts no further input.
size_t clarkspur_hash_finish(void *hash, uint8_t result[clarkspur_hash_longest]);
void clarkspur_hash_close(void *hash);
