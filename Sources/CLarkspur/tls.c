#include "tls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "binding.h"
#include "curl.h"

#define FUNCTIONS(F) \
    F(CRYPTO_get_ex_new_index, int, (int, long, void *, void *, void *, void *)) \
    F(SSL_CTX_get_ex_data, void *, (const void *, int)) \
    F(SSL_CTX_set_ex_data, int, (void *, int, void *)) \
    F(SSL_CTX_set_keylog_callback, void, (void *, void (*)(const void *, const char *))) \
    F(SSL_get_SSL_CTX, void *, (const void *)) \
    F(SSL_CTX_set_cert_verify_callback, void, (void *, int (*)(void *, void *), void *)) \
    F(SSL_get0_verified_chain, void *, (const void *)) \
    F(SSL_get_ex_data, void *, (const void *, int)) \
    F(SSL_get_ex_data_X509_STORE_CTX_idx, int, (void)) \
    F(SSL_set_ex_data, int, (void *, int, void *)) \
    F(X509_STORE_CTX_get_error, int, (const void *)) \
    F(X509_STORE_CTX_get_ex_data, void *, (const void *, int)) \
    F(X509_STORE_CTX_set_error, void, (void *, int)) \
    F(X509_verify_cert, int, (void *)) \
    F(OPENSSL_sk_num, int, (const void *)) \
    F(OPENSSL_sk_value, void *, (const void *, int)) \
    F(i2d_X509, int, (const void *, uint8_t **)) \
    F(X509_check_host, int, (void *, const char *, size_t, unsigned, char **)) \
    F(X509_check_ip_asc, int, (void *, const char *, unsigned)) \
    F(X509_verify_cert_error_string, const char *, (long))

DEFINE_OPENSSL_BINDING()

// Where a connection has its verdict, one more than OpenSSL's number for it.
static int verdict_slot = -1;
// Where a connection's context has the descriptor of its key log.
static int key_log_slot = -1;
static pthread_once_t slots = PTHREAD_ONCE_INIT;

static void take_slots(void) {
    const int of_connections = 0, of_contexts = 1;
    if (!is_bound()) { return; }
    verdict_slot = bound.CRYPTO_get_ex_new_index(of_connections, 0, NULL, NULL, NULL, NULL);
    key_log_slot = bound.CRYPTO_get_ex_new_index(of_contexts, 0, NULL, NULL, NULL, NULL);
}

bool clarkspur_tls_load(void) {
    pthread_once(&slots, take_slots);
    return verdict_slot >= 0 && key_log_slot >= 0;
}

// What libcurl gives for CURLINFO_TLS_SSL_PTR.
typedef struct {
    int backend;
    void *ssl;
} session_info;

enum { backend_openssl = 1, info_tls_ssl_ptr = 0x400000 + 45 };

static void *session_of(void *easy) {
    const session_info *info = clarkspur_easy_pointer(easy, info_tls_ssl_ptr);
    return clarkspur_tls_load() && info && info->backend == backend_openssl ? info->ssl : NULL;
}

bool clarkspur_tls_peer(void *easy, clarkspur_certificate_function each, void *context) {
    void *ssl = session_of(easy);
    void *chain = ssl ? bound.SSL_get0_verified_chain(ssl) : NULL;
    int count = chain ? bound.OPENSSL_sk_num(chain) : 0;
    for (int index = 0; index < count; index += 1) {
        void *certificate = bound.OPENSSL_sk_value(chain, index);
        int length = bound.i2d_X509(certificate, NULL);
        uint8_t *bytes = length > 0 ? malloc((size_t)length) : NULL;
        if (!bytes) { return false; }
        uint8_t *end = bytes;
        bound.i2d_X509(certificate, &end);
        each(context, bytes, (size_t)length);
        free(bytes);
    }
    return count > 0;
}

bool clarkspur_tls_has_begun(void *easy) { return session_of(easy) != NULL; }

enum { good = 0, unspecified = 1 };

long clarkspur_tls_verdict(void *easy) {
    void *ssl = session_of(easy);
    intptr_t verdict = ssl ? (intptr_t)bound.SSL_get_ex_data(ssl, verdict_slot) : 0;
    return verdict > 0 ? (long)verdict - 1 : unspecified;
}

// Verifies as ever, writes the verdict down and lets the handshake go on.
static int verify(void *store, void *context) {
    (void)context;
    int is_good = bound.X509_verify_cert(store);
    int error = bound.X509_STORE_CTX_get_error(store);
    intptr_t verdict = is_good == 1 ? good : error != good ? error : unspecified;
    void *ssl = bound.X509_STORE_CTX_get_ex_data(store, bound.SSL_get_ex_data_X509_STORE_CTX_idx());
    // Without a place for it there is no connection.
    if (!ssl || bound.SSL_set_ex_data(ssl, verdict_slot, (void *)(verdict + 1)) != 1) { return 0; }
    bound.X509_STORE_CTX_set_error(store, good);
    return 1;
}

// One call for a whole line: other connections, of other threads too, may write to the same file.
static void log_key(const void *ssl, const char *line) {
    int key_log = (int)(intptr_t)bound.SSL_CTX_get_ex_data(bound.SSL_get_SSL_CTX(ssl), key_log_slot);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {"\n", 1}};
    ssize_t written = writev(key_log, parts, 2);
    (void)written; // a full disk costs the log, not the connection
}

// What a transfer wants of its connections, in the pointer that libcurl hands on for it.
enum { leaves_verdict_bit = 1, key_log_shift = 1 };

static int set_up(void *easy, void *ssl_context, void *context) {
    (void)easy;
    intptr_t wants = (intptr_t)context;
    int key_log = (int)(wants >> key_log_shift) - 1;
    bool logs = key_log >= 0 && bound.SSL_CTX_set_ex_data(ssl_context, key_log_slot, (void *)(intptr_t)key_log) == 1;
    // libcurl has set a function of its own by now if the environment names a file.
    bound.SSL_CTX_set_keylog_callback(ssl_context, logs ? log_key : NULL);
    if (wants & leaves_verdict_bit) { bound.SSL_CTX_set_cert_verify_callback(ssl_context, verify, NULL); }
    return 0;
}

void clarkspur_tls_set_up(void *easy, bool leaves_verdict, int key_log) {
    const int set_up_function = 20108, set_up_context = 10109;
    intptr_t wants = (intptr_t)(key_log < 0 ? 0 : key_log + 1) << key_log_shift | (leaves_verdict ? leaves_verdict_bit : 0);
    clarkspur_easy_set_function(easy, set_up_function, (void (*)(void))set_up);
    clarkspur_easy_set_pointer(easy, set_up_context, (void *)wants);
}

int clarkspur_tls_open_key_log(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

const char *clarkspur_tls_verdict_text(long verdict) { return bound.X509_verify_cert_error_string(verdict); }

bool clarkspur_tls_is_for(void *easy, const char *host) {
    void *ssl = session_of(easy);
    void *chain = ssl ? bound.SSL_get0_verified_chain(ssl) : NULL;
    void *leaf = chain && bound.OPENSSL_sk_num(chain) > 0 ? bound.OPENSSL_sk_value(chain, 0) : NULL;
    if (!leaf) { return false; }
    const unsigned no_partial_wildcards = 4;
    const int no_address = -2;
    int as_address = bound.X509_check_ip_asc(leaf, host, 0);
    if (as_address != no_address) { return as_address == 1; }
    return bound.X509_check_host(leaf, host, 0, no_partial_wildcards, NULL) == 1;
}
