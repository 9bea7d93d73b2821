#include "../CLarkspur/binding.h"
#include "hiredis.h"

#include <string.h>

enum {
    SSL_VERIFY_PEER = 1,
    SSL_CTRL_MODE = 33,
    SSL_CTRL_SET_TLSEXT_HOSTNAME = 55,
    SSL_CTRL_SET_MIN_PROTO_VERSION = 123,
    TLSEXT_NAMETYPE_host_name = 0,
    TLS1_2_VERSION = 0x0303,
    // Parts of the output may be sent, and the output may be elsewhere in memory when the rest is sent.
    SSL_MODE_ENABLE_PARTIAL_WRITE = 1,
    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER = 2,
};

#define FUNCTIONS(F) \
    F(redisInitiateSSL, int, (void *, void *)) \
    F(TLS_client_method, const void *, (void)) \
    F(SSL_CTX_new, void *, (const void *)) \
    F(SSL_CTX_free, void, (void *)) \
    F(SSL_CTX_ctrl, long, (void *, int, long, void *)) \
    F(SSL_CTX_set_verify, void, (void *, int, void *)) \
    F(SSL_CTX_load_verify_locations, int, (void *, const char *, const char *)) \
    F(SSL_CTX_set_default_verify_paths, int, (void *)) \
    F(SSL_new, void *, (void *)) \
    F(SSL_free, void, (void *)) \
    F(SSL_ctrl, long, (void *, int, long, void *)) \
    F(SSL_get0_param, void *, (void *)) \
    F(SSL_set1_host, int, (void *, const char *)) \
    F(SSL_is_init_finished, int, (const void *)) \
    F(SSL_get_verify_result, long, (const void *)) \
    F(X509_VERIFY_PARAM_set1_ip_asc, int, (void *, const char *)) \
    F(X509_verify_cert_error_string, const char *, (long))

static void *open_tls(void) {
    const char *version = clarkspur_hiredis_publish();
    if (!version) { return NULL; }
    char name[64];
#if defined(__APPLE__)
    snprintf(name, sizeof name, "libhiredis_ssl.%s.dylib", version);
#else
    snprintf(name, sizeof name, "libhiredis_ssl.so.%s", version);
#endif
    return open_library(name);
}

// The functions of OpenSSL are found among those that the library depends on.
DEFINE_TABLE(open_tls(), BIND)

bool clarkspur_hiredis_has_tls(void) { return clarkspur_hiredis() == clarkspur_hiredis_1 && is_bound(); }

static bool set_up(void *handle, const char *host) {
    bound.SSL_ctrl(
        handle, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
    if (bound.X509_VERIFY_PARAM_set1_ip_asc(bound.SSL_get0_param(handle), host) == 1) { return true; }
    return bound.SSL_set1_host(handle, host) == 1
        && bound.SSL_ctrl(handle, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, (void *)host) == 1;
}

void *clarkspur_tls_handle(const clarkspur_valkey_target *target) {
    if (!is_bound()) { return NULL; }
    void *context = bound.SSL_CTX_new(bound.TLS_client_method());
    if (!context) { return NULL; }
    bool is_ready = target->authorities
        ? bound.SSL_CTX_load_verify_locations(context, target->authorities, NULL) == 1
        : bound.SSL_CTX_set_default_verify_paths(context) == 1;
    is_ready = is_ready && bound.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1;
    bound.SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    void *handle = is_ready ? bound.SSL_new(context) : NULL;
    bound.SSL_CTX_free(context);  // the handle has a reference
    if (handle && !set_up(handle, target->host)) {
        bound.SSL_free(handle);
        return NULL;
    }
    return handle;
}

int clarkspur_tls_begin(void *context, void *handle) { return bound.redisInitiateSSL(context, handle); }

bool clarkspur_tls_is_done(const void *handle) { return bound.SSL_is_init_finished(handle) == 1; }

const char *clarkspur_tls_distrust(const void *handle) {
    long result = bound.SSL_get_verify_result(handle);
    return result == 0 ? NULL : bound.X509_verify_cert_error_string(result);
}

void clarkspur_tls_free(void *handle) { bound.SSL_free(handle); }
