#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Hashes by the libcrypto that libcurl has loaded, if that is OpenSSL's.

enum { clarkspur_hash_longest = 64 };

// A hash by OpenSSL's name for it, `SHA256`; NULL where there is no libcrypto, or where it refuses this one.
void *clarkspur_hash_open(const char *name);
// False if the library failed, which no input makes it do.
bool clarkspur_hash_update(void *hash, const void *bytes, size_t count);
// Writes the result; the hash takes nothing more. The number of bytes, 0 if the library failed.
size_t clarkspur_hash_finish(void *hash, uint8_t result[clarkspur_hash_longest]);
void clarkspur_hash_close(void *hash);
