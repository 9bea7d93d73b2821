#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "binding.h"
#include "curl.h"
#include "names.h"

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

// Where a connection has its verdict, one more than OpenSSL's number for it.
static int verdict_slot = -1;
// Where a connection has the number of messages that its peer has sent.
static int message_slot = -1;
// Where a connection's context has the descriptor of its key log.
static int key_log_slot = -1;
static pthread_once_t slots = PTHREAD_ONCE_INIT;

static void take_slots(void) {
    const int of_connections = 0, of_contexts = 1;
    if (!is_bound()) { return; }
    verdict_slot = bound.CRYPTO_get_ex_new_index(of_connections, 0, NULL, NULL, NULL, NULL);
    message_slot = bound.CRYPTO_get_ex_new_index(of_connections, 0, NULL, NULL, NULL, NULL);
    key_log_slot = bound.CRYPTO_get_ex_new_index(of_contexts, 0, NULL, NULL, NULL, NULL);
}

bool clarkspur_tls_load(void) {
    pthread_once(&slots, take_slots);
    return verdict_slot >= 0 && message_slot >= 0 && key_log_slot >= 0;
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

static bool has_bytes(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Reads the messages of TLS itself that wait, and leaves all else. False if something else waits, or too many messages.
static bool takes_messages(void *ssl, int descriptor) {
    const int wants_read = 2;
    int left = 4;
    // One call reads all messages that wait, up to the limit of `count_message`.
    while (bound.SSL_has_pending(ssl) || has_bytes(descriptor)) {
        char byte;
        bound.ERR_clear_error();
        int count = left > 0 ? bound.SSL_peek(ssl, &byte, 1) : 1;
        if (count > 0 || bound.SSL_get_error(ssl, count) != wants_read) { return false; }
        left -= 1;
    }
    return true;
}

// Whether the bytes that wait are messages of TLS itself, which are read. libcurl's own BIOs work only inside libcurl's calls, so others take
// their place for the moment. What OpenSSL answers is not sent: the connection ends then.
static bool has_only_tls(void *ssl, int descriptor) {
    void *own_input = bound.SSL_get_rbio(ssl), *own_output = bound.SSL_get_wbio(ssl);
    void *input = bound.BIO_new_socket(descriptor, 0), *output = bound.BIO_new(bound.BIO_s_mem());
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

static bool speaks_http2(void *ssl) {
    const uint8_t *name = NULL;
    unsigned length = 0;
    bound.SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

bool clarkspur_tls_is_silent(void *easy, int descriptor, bool is_nested) {
    void *ssl = session_of(easy);
    if (!ssl) { return !has_bytes(descriptor); }
    if (speaks_http2(ssl)) { return true; }
    if (is_nested) { return false; }
    return (!has_bytes(descriptor) && !bound.SSL_has_pending(ssl)) || has_only_tls(ssl, descriptor);
}

enum { good = 0, unspecified = 1, hostname_mismatch = 62 };

long clarkspur_tls_verdict(void *easy) {
    void *ssl = session_of(easy);
    intptr_t verdict = ssl ? (intptr_t)bound.SSL_get_ex_data(ssl, verdict_slot) : 0;
    return verdict > 0 ? (long)verdict - 1 : unspecified;
}

// A host to compare with alternative names: an address of 4 or 16 bytes, or else a name.
typedef struct {
    const char *text;
    uint8_t address[16];
    size_t address_length;
} wanted_host;

// Whether the certificate has an alternative name for the host; for no host, whether it has one that is for any.
static bool is_named(const void *certificate, const wanted_host *host) {
    const int alternative_names = 85, dns_name = 2, ip_address = 7;
    void *names = bound.X509_get_ext_d2i(certificate, alternative_names, NULL, NULL);
    bool fits = false;
    for (int index = 0; names && !fits && index < bound.OPENSSL_sk_num(names); index += 1) {
        int kind = -1;
        const void *name = bound.GENERAL_NAME_get0_value(bound.OPENSSL_sk_value(names, index), &kind);
        if (!name || (kind != dns_name && kind != ip_address)) { continue; }
        const uint8_t *bytes = bound.ASN1_STRING_get0_data(name);
        size_t length = (size_t)bound.ASN1_STRING_length(name);
        if (!host) {
            fits = true;
        } else if (host->address_length > 0) {
            fits = kind == ip_address && length == host->address_length && memcmp(bytes, host->address, length) == 0;
        } else {
            fits = kind == dns_name && clarkspur_name_fits((const char *)bytes, length, host->text, strlen(host->text));
        }
    }
    if (names) { bound.GENERAL_NAMES_free(names); }
    bound.ERR_clear_error(); // of an extension that OpenSSL cannot read
    return fits;
}

// Verifies the chain as OpenSSL does by itself. OpenSSL may leave errors behind that are older than its verdict, of an
// intermediate certificate that it cannot read for instance: libcurl would take the first of them for the reason of the
// failure, and OpenSSL itself would fail a handshake that is to go on.
static int verify_chain(void *store) {
    bool is_good = bound.X509_verify_cert(store) == 1;
    int error = bound.X509_STORE_CTX_get_error(store);
    bound.ERR_clear_error();
    return is_good ? good : error != good ? error : unspecified;
}

// Ends the handshake where the chain is not good, or has no alternative name: libcurl, which looks for the host's name next,
// would take the subject's common name then.
static int verify(void *store, void *context) {
    (void)context;
    int error = verify_chain(store);
    if (error == good && !is_named(bound.X509_STORE_CTX_get0_cert(store), NULL)) { error = hostname_mismatch; }
    bound.X509_STORE_CTX_set_error(store, error);
    return error == good;
}

// Writes the verdict down and lets the handshake go on.
static int leave_verdict(void *store, void *context) {
    (void)context;
    intptr_t verdict = verify_chain(store);
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

// Counts the messages of TLS itself that a peer sends. One call of SSL_read reads them for as long as there are more. After many of them a call
// returns after each, so that the loop serves other connections in between. Not from the start: inside the TLS of a proxy, what comes after
// the message may be decrypted already, and the socket would never be ready for it.
static void count_message(
    int is_sent, int version, int type, const void *bytes, size_t length, void *ssl, void *context) {
    (void)version, (void)bytes, (void)length, (void)context;
    const int handshake = 22, clear_mode = 78, auto_retry = 4;
    const intptr_t limit = 100;
    if (is_sent || type != handshake) { return; }
    intptr_t count = (intptr_t)bound.SSL_get_ex_data(ssl, message_slot) + 1;
    if (count == limit) { bound.SSL_ctrl(ssl, clear_mode, auto_retry, NULL); }
    if (count <= limit) { bound.SSL_set_ex_data(ssl, message_slot, (void *)count); }
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
    bound.SSL_CTX_set_msg_callback(ssl_context, count_message);
    bound.SSL_CTX_set_cert_verify_callback(ssl_context, wants & leaves_verdict_bit ? leave_verdict : verify, NULL);
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
    wanted_host wanted = {.text = host};
    if (inet_pton(AF_INET, host, wanted.address) == 1) { wanted.address_length = 4; }
    else if (inet_pton(AF_INET6, host, wanted.address) == 1) { wanted.address_length = 16; }
    return is_named(leaf, &wanted);
}
