#include "hash.h"

#include "binding.h"
#include "curl.h"

#define FUNCTIONS(F) \
    F(EVP_get_digestbyname, const void *, (const char *)) \
    F(EVP_MD_CTX_new, void *, (void)) \
    F(EVP_MD_CTX_free, void, (void *)) \
    F(EVP_DigestInit_ex, int, (void *, const void *, void *)) \
    F(EVP_DigestUpdate, int, (void *, const void *, size_t)) \
    F(EVP_DigestFinal_ex, int, (void *, uint8_t *, unsigned *))

// A hash has nothing to do with libcurl's handles, so any OpenSSL is fine if libcurl uses another TLS library.
static void *open_any(void) {
    void *openssl = clarkspur_curl_openssl();
    return openssl ? openssl : open_library(LIBRARY_NAME("libcrypto", "3"));
}

DEFINE_TABLE(open_any(), BIND)

void *clarkspur_hash_open(const char *name) {
    const void *kind = is_bound() ? bound.EVP_get_digestbyname(name) : NULL;
    void *hash = kind ? bound.EVP_MD_CTX_new() : NULL;
    if (!hash || bound.EVP_DigestInit_ex(hash, kind, NULL) == 1) { return hash; }
    bound.EVP_MD_CTX_free(hash);
    return NULL;
}

bool clarkspur_hash_update(void *hash, const void *bytes, size_t count) {
    return bound.EVP_DigestUpdate(hash, bytes, count) == 1;
}

size_t clarkspur_hash_finish(void *hash, uint8_t result[clarkspur_hash_longest]) {
    unsigned count = 0;
    return bound.EVP_DigestFinal_ex(hash, result, &count) == 1 ? count : 0;
}

void clarkspur_hash_close(void *hash) { bound.EVP_MD_CTX_free(hash); }
