#include "share.h"

#include <errno.h>
#include <sys/socket.h>

#include "binding.h"
#include "curl.h"

static _Thread_local clarkspur_share share;

clarkspur_share clarkspur_share_begin(void) {
    clarkspur_share before = share;
    share = (clarkspur_share){.is_limited = true, .bytes = 1 << 20, .frames = 1000};
    return before;
}

void clarkspur_share_end(clarkspur_share before) { share = before; }

void clarkspur_share_count_frame(void) {
    if (share.frames > 0) { share.frames -= 1; }
}

static bool is_used_up(void) { return share.is_limited && (share.bytes == 0 || share.frames == 0); }

static void count_bytes(size_t count) { share.bytes -= count < share.bytes ? count : share.bytes; }

long clarkspur_share_receive(int descriptor, void *bytes, size_t count, int flags) {
    // A peek takes nothing from the socket, and libcurl asks with it whether a connection is alive.
    if (!share.is_limited || flags & MSG_PEEK) { return recv(descriptor, bytes, count, flags); }
    if (is_used_up()) {
        errno = EAGAIN;
        return -1;
    }
    long received = recv(descriptor, bytes, count < share.bytes ? count : share.bytes, flags);
    if (received > 0) { count_bytes((size_t)received); }
    return received;
}

// MARK: OpenSSL

typedef long (*bio_callback)(void *, int, const char *, size_t, int, long, int, size_t *);

// The constants of OpenSSL's ABI, under their official names.
enum {
    BIO_CB_READ = 0x02,
    BIO_CB_RETURN = 0x80,
    BIO_FLAGS_READ = 0x01,
    BIO_FLAGS_SHOULD_RETRY = 0x08,
};

#define FUNCTIONS(F) \
    F(BIO_set_callback_ex, void, (void *, bio_callback)) \
    F(BIO_set_flags, void, (void *, int)) \
    F(SSL_get_rbio, void *, (const void *)) \
    F(SSL_set_fd, int, (void *, int))

DEFINE_OPENSSL_BINDING()

// OpenSSL calls this function before and after it reads from the socket. A negative result before the read has the
// effect of an empty socket.
static long keep_to_share(
    void *bio, int operation, const char *bytes, size_t length, int argument, long other, int result, size_t *count) {
    (void)bytes, (void)length, (void)argument, (void)other;
    if (operation == BIO_CB_READ && is_used_up()) {
        bound.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    if (operation == (BIO_CB_READ | BIO_CB_RETURN) && result > 0 && count) { count_bytes(*count); }
    return result;
}

bool clarkspur_share_limits_openssl(void) { return is_bound(); }

int clarkspur_share_set_descriptor(void *ssl, int descriptor) {
    if (!is_bound() || bound.SSL_set_fd(ssl, descriptor) != 1) { return 0; }
    bound.BIO_set_callback_ex(bound.SSL_get_rbio(ssl), keep_to_share);
    return 1;
}
