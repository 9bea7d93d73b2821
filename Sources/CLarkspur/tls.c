#include "tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "binding.h"
#include "curl.h"
#include "curl_constants.h"
#include "names.h"
#include "openssl_constants.h"

// The constants of OpenSSL's ABI, under their official names.
enum {
    BIO_NOCLOSE = 0,
    CRYPTO_EX_INDEX_SSL = 0,
    CRYPTO_EX_INDEX_SSL_CTX = 1,
    GEN_DNS = 2,
    GEN_IPADD = 7,
    NID_subject_alt_name = 85,
    SSL3_RT_HANDSHAKE = 22,
    SSL_CTRL_CLEAR_MODE = 78,
    SSL_ERROR_WANT_READ = 2,
    SSL_MODE_AUTO_RETRY = 4,
};

#define FUNCTIONS(F) \
    F(ASN1_STRING_get0_data, const uint8_t *, (const void *)) \
    F(ASN1_STRING_length, int, (const void *)) \
    F(CRYPTO_get_ex_new_index, int, (int, long, void *, void *, void *, void *)) \
    F(ERR_clear_error, void, (void)) \
    F(GENERAL_NAMES_free, void, (void *)) \
    F(GENERAL_NAME_get0_value, void *, (const void *, int *)) \
    F(SSL_CTX_get_ex_data, void *, (const void *, int)) \
    F(SSL_CTX_set_ex_data, int, (void *, int, void *)) \
    F(SSL_CTX_set_keylog_callback, void, (void *, void (*)(const void *, const char *))) \
    F(SSL_get_SSL_CTX, void *, (const void *)) \
    F(SSL_CTX_set_cert_verify_callback, void, (void *, int (*)(void *, void *), void *)) \
    F(SSL_CIPHER_get_name, const char *, (const void *)) \
    F(SSL_get_current_cipher, const void *, (const void *)) \
    F(SSL_get_version, const char *, (const void *)) \
    F(SSL_get0_verified_chain, void *, (const void *)) \
    F(SSL_get_ex_data, void *, (const void *, int)) \
    F(SSL_get_ex_data_X509_STORE_CTX_idx, int, (void)) \
    F(SSL_set_ex_data, int, (void *, int, void *)) \
    F(X509_STORE_CTX_get0_cert, void *, (const void *)) \
    F(X509_STORE_CTX_get_error, int, (const void *)) \
    F(X509_STORE_CTX_get_ex_data, void *, (const void *, int)) \
    F(X509_STORE_CTX_set_error, void, (void *, int)) \
    F(X509_verify_cert, int, (void *)) \
    F(OPENSSL_sk_num, int, (const void *)) \
    F(OPENSSL_sk_value, void *, (const void *, int)) \
    F(i2d_X509, int, (const void *, uint8_t **)) \
    F(X509_get_ext_d2i, void *, (const void *, int, int *, int *)) \
    F(X509_verify_cert_error_string, const char *, (long)) \
    F(BIO_ctrl_pending, size_t, (void *)) \
    F(BIO_free, int, (void *)) \
    F(BIO_new, void *, (const void *)) \
    F(BIO_s_mem, const void *, (void)) \
    F(BIO_new_socket, void *, (int, int)) \
    F(BIO_up_ref, int, (void *)) \
    F(SSL_CTX_set_msg_callback, void, (void *, void (*)(int, int, int, const void *, size_t, void *, void *))) \
    F(SSL_ctrl, long, (void *, int, long, void *)) \
    F(SSL_get0_alpn_selected, void, (const void *, const uint8_t **, unsigned *)) \
    F(SSL_get_error, int, (const void *, int)) \
    F(SSL_get_rbio, void *, (const void *)) \
    F(SSL_get_wbio, void *, (const void *)) \
    F(SSL_has_pending, int, (const void *)) \
    F(SSL_peek, int, (void *, void *, int)) \
    F(SSL_set0_rbio, void, (void *, void *)) \
    F(SSL_set0_wbio, void, (void *, void *))

DEFINE_OPENSSL_BINDING()

// The index of the verdict in a connection's extra data. The stored value is OpenSSL's number plus one: 0 means that no
// verdict is stored.
static int verdict_slot = -1;
// The index, in a connection's extra data, of the number of handshake messages that the peer has sent.
static int message_slot = -1;
// The index, in the extra data of a connection's SSL_CTX, of the descriptor of the key log file.
static int key_log_slot = -1;
static pthread_once_t slots = PTHREAD_ONCE_INIT;

static void take_slots(void) {
    if (!is_bound()) { return; }
    verdict_slot = bound.CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, NULL, NULL, NULL, NULL);
    message_slot = bound.CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, NULL, NULL, NULL, NULL);
    key_log_slot = bound.CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, NULL, NULL, NULL, NULL);
}

bool clarkspur_tls_load(void) {
    pthread_once(&slots, take_slots);
    return verdict_slot >= 0 && message_slot >= 0 && key_log_slot >= 0;
}

// The structure that CURLINFO_TLS_SSL_PTR points to (curl_tlssessioninfo).
typedef struct {
    int backend;
    void *ssl;
} session_info;

static void *session_of(void *easy) {
    const session_info *info = clarkspur_easy_pointer(easy, CURLINFO_TLS_SSL_PTR);
    return clarkspur_tls_load() && info && info->backend == CURLSSLBACKEND_OPENSSL ? info->ssl : NULL;
}

const char *clarkspur_tls_version(void *easy, const char **cipher) {
    void *ssl = session_of(easy);
    if (!ssl) { return NULL; }
    *cipher = bound.SSL_CIPHER_get_name(bound.SSL_get_current_cipher(ssl));
    return bound.SSL_get_version(ssl);
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

// Reads the pending messages of the TLS protocol, such as session tickets, and leaves application data unread. Returns
// false if application data or too many messages are pending, or if the connection has failed.
static bool takes_messages(void *ssl, int descriptor) {
    int left = 4;
    // One call of SSL_peek reads all pending messages, but only one message after the limit in `count_message`.
    while (bound.SSL_has_pending(ssl) || !clarkspur_socket_is_empty(descriptor)) {
        char byte;
        bound.ERR_clear_error();
        int count = left > 0 ? bound.SSL_peek(ssl, &byte, 1) : 1;
        if (count > 0 || bound.SSL_get_error(ssl, count) != SSL_ERROR_WANT_READ) { return false; }
        left -= 1;
    }
    return true;
}

// Reads the pending messages of the TLS protocol. Returns false if application data is pending, or if OpenSSL has
// replied to a message. This function replaces the connection's BIOs while it runs, because libcurl's BIOs work only
// inside calls of libcurl. The output BIO is a memory buffer: OpenSSL's reply is never sent, so the connection must be
// closed.
static bool has_no_application_data(void *ssl, int descriptor) {
    void *own_input = bound.SSL_get_rbio(ssl), *own_output = bound.SSL_get_wbio(ssl);
    void *input = bound.BIO_new_socket(descriptor, BIO_NOCLOSE), *output = bound.BIO_new(bound.BIO_s_mem());
    if (!own_input || !own_output || !input || !output) {
        bound.BIO_free(input);
        bound.BIO_free(output);
        return false;
    }
    bound.BIO_up_ref(own_input);
    bound.BIO_up_ref(own_output);
    bound.SSL_set0_rbio(ssl, input);
    bound.SSL_set0_wbio(ssl, output);
    bool is_silent = takes_messages(ssl, descriptor) && bound.BIO_ctrl_pending(output) == 0;
    bound.ERR_clear_error();
    bound.SSL_set0_rbio(ssl, own_input);
    bound.SSL_set0_wbio(ssl, own_output);
    return is_silent;
}

bool clarkspur_tls_speaks_http2(void *easy) {
    void *ssl = session_of(easy);
    if (!ssl) { return false; }
    const uint8_t *name = NULL;
    unsigned length = 0;
    bound.SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

bool clarkspur_tls_speaks_http1(void *easy) { return session_of(easy) && !clarkspur_tls_speaks_http2(easy); }

bool clarkspur_tls_is_silent(void *easy, int descriptor) {
    void *ssl = session_of(easy);
    if (!ssl) { return clarkspur_socket_is_empty(descriptor); }
    bool has_bytes = !clarkspur_socket_is_empty(descriptor) || bound.SSL_has_pending(ssl);
    return !has_bytes || has_no_application_data(ssl, descriptor);
}

long clarkspur_tls_verdict(void *easy) {
    void *ssl = session_of(easy);
    intptr_t verdict = ssl ? (intptr_t)bound.SSL_get_ex_data(ssl, verdict_slot) : 0;
    return verdict > 0 ? (long)verdict - 1 : X509_V_ERR_UNSPECIFIED;
}

// The host that an alternative name must match. If `address_length` is 4 or 16, the host is an IP address; if it is 0,
// the host is the name `text`.
typedef struct {
    const char *text;
    uint8_t address[16];
    size_t address_length;
} wanted_host;

// Returns whether the certificate has an alternative name for the host or, if `host` is NULL, any alternative name.
static bool has_alternative_name(const void *certificate, const wanted_host *host) {
    void *names = bound.X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool fits = false;
    for (int index = 0; names && !fits && index < bound.OPENSSL_sk_num(names); index += 1) {
        int kind = -1;
        const void *name = bound.GENERAL_NAME_get0_value(bound.OPENSSL_sk_value(names, index), &kind);
        if (!name || (kind != GEN_DNS && kind != GEN_IPADD)) { continue; }
        const uint8_t *bytes = bound.ASN1_STRING_get0_data(name);
        size_t length = (size_t)bound.ASN1_STRING_length(name);
        if (!host) {
            fits = true;
        } else if (host->address_length > 0) {
            fits = kind == GEN_IPADD && length == host->address_length && memcmp(bytes, host->address, length) == 0;
        } else {
            fits = kind == GEN_DNS && clarkspur_name_fits((const char *)bytes, length, host->text, strlen(host->text));
        }
    }
    if (names) { bound.GENERAL_NAMES_free(names); }
    bound.ERR_clear_error();  // reading a malformed extension leaves an error in OpenSSL's queue
    return fits;
}

// Verifies the chain as OpenSSL does by default, and then clears OpenSSL's error queue. The queue may contain errors
// from before the verdict, for example about a malformed intermediate certificate. libcurl would report the first of
// these errors instead of the verdict, and OpenSSL would fail a handshake that should continue.
static int verify_chain(void *store) {
    bool is_good = bound.X509_verify_cert(store) == 1;
    int error = bound.X509_STORE_CTX_get_error(store);
    bound.ERR_clear_error();
    return is_good ? X509_V_OK : error != X509_V_OK ? error : X509_V_ERR_UNSPECIFIED;
}

// Fails the handshake if the chain is invalid or the leaf has no alternative name. For a leaf without alternative
// names, libcurl would compare the host with the subject's common name.
static int verify(void *store, void *context) {
    (void)context;
    int error = verify_chain(store);
    if (error == X509_V_OK && !has_alternative_name(bound.X509_STORE_CTX_get0_cert(store), NULL)) {
        error = X509_V_ERR_HOSTNAME_MISMATCH;
    }
    bound.X509_STORE_CTX_set_error(store, error);
    return error == X509_V_OK;
}

// Stores the verdict for `clarkspur_tls_verdict` and lets the handshake continue, even if the chain is invalid.
static int store_verdict(void *store, void *context) {
    (void)context;
    intptr_t verdict = verify_chain(store);
    void *ssl = bound.X509_STORE_CTX_get_ex_data(store, bound.SSL_get_ex_data_X509_STORE_CTX_idx());
    // The connection fails if the verdict cannot be stored.
    if (!ssl || bound.SSL_set_ex_data(ssl, verdict_slot, (void *)(verdict + 1)) != 1) { return 0; }
    bound.X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}

// Writes the line and its line feed in one call, because other connections may write to the same file, also on other
// threads.
static void log_key(const void *ssl, const char *line) {
    int key_log = (int)(intptr_t)bound.SSL_CTX_get_ex_data(bound.SSL_get_SSL_CTX(ssl), key_log_slot);
    struct iovec parts[] = {{(void *)line, strlen(line)}, {"\n", 1}};
    ssize_t written = writev(key_log, parts, 2);
    (void)written;  // if the disk is full, the log is incomplete, but the connection works
}

// Counts the handshake messages that a peer sends. One call of SSL_read processes such messages for as long as more
// arrive, and meanwhile the transport's thread serves no other connection. From `limit` on, SSL_read therefore returns
// after each message.
//
// SSL_read must not do so from the start. Inside the TLS of a proxy, the outer TLS may already have decrypted the next
// record. The socket then never becomes readable for this record, and the transfer would hang.
static void count_message(
    int is_sent, int version, int type, const void *bytes, size_t length, void *ssl, void *context) {
    (void)version, (void)bytes, (void)length, (void)context;
    const intptr_t limit = 100;
    if (is_sent || type != SSL3_RT_HANDSHAKE) { return; }
    intptr_t count = (intptr_t)bound.SSL_get_ex_data(ssl, message_slot) + 1;
    if (count == limit) { bound.SSL_ctrl(ssl, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, NULL); }
    if (count <= limit) { bound.SSL_set_ex_data(ssl, message_slot, (void *)count); }
}

// The layout of the pointer CURLOPT_SSL_CTX_DATA, which encodes two settings of a transfer's TLS connections: the
// lowest bit is `leaves_verdict`; the other bits are the descriptor of the key log plus one, or 0 for none.
enum { leaves_verdict_bit = 1, key_log_shift = 1 };

static int set_up(void *easy, void *ssl_context, void *context) {
    (void)easy;
    intptr_t wants = (intptr_t)context;
    int key_log = (int)(wants >> key_log_shift) - 1;
    bool logs = key_log >= 0 && bound.SSL_CTX_set_ex_data(ssl_context, key_log_slot, (void *)(intptr_t)key_log) == 1;
    // If the environment variable SSLKEYLOGFILE is set, libcurl has set a function of its own. This call removes it.
    bound.SSL_CTX_set_keylog_callback(ssl_context, logs ? log_key : NULL);
    bound.SSL_CTX_set_msg_callback(ssl_context, count_message);
    bound.SSL_CTX_set_cert_verify_callback(ssl_context, wants & leaves_verdict_bit ? store_verdict : verify, NULL);
    return 0;
}

void clarkspur_tls_set_up(void *easy, bool leaves_verdict, int key_log) {
    intptr_t wants = (intptr_t)(key_log < 0 ? 0 : key_log + 1) << key_log_shift | (leaves_verdict ? leaves_verdict_bit : 0);
    clarkspur_easy_set_function(easy, CURLOPT_SSL_CTX_FUNCTION, (void (*)(void))set_up);
    clarkspur_easy_set_pointer(easy, CURLOPT_SSL_CTX_DATA, (void *)wants);
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
    wanted_host wanted = {.text = host};
    if (inet_pton(AF_INET, host, wanted.address) == 1) { wanted.address_length = 4; }
    else if (inet_pton(AF_INET6, host, wanted.address) == 1) { wanted.address_length = 16; }
    return has_alternative_name(leaf, &wanted);
}
