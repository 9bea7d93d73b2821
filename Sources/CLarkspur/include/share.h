#pragma once

#include <stdbool.h>
#include <stddef.h>

// Limits how much one call of libcurl receives.
//
// libcurl receives for as long as bytes arrive, so a peer could keep a transport's thread in one call, and no other
// connection would be served. libcurl's pointer to `recv` is therefore replaced (see `http2.c`). When a call has used
// up its share, the replacement reports that the socket is empty. libcurl then returns, and the poller reports the
// socket again after the other connections have had their turn.
//
// All sockets that one call serves take from one share. If each had its own, a call that serves many connections would
// last longer with each. A socket that is held back because of another one loses nothing but this turn: the poller
// reports a socket for as long as bytes wait there, and the call that follows is for this socket, with a new share.
//
// Before 7.87, OpenSSL itself reads the sockets of libcurl's TLS connections. The pointer to the function that gives a
// socket to OpenSSL is therefore replaced too, and OpenSSL asks a callback before it reads. Bytes that OpenSSL has
// received are never held back: the socket would not become readable for them.

// The rest that a call may receive. One of both limits is enough to end it: frames of a few bytes cost more time than
// their bytes do.
typedef struct {
    bool is_limited;
    size_t bytes;
    size_t frames;
} clarkspur_share;

// Begins the share of a call on the calling thread, and returns the share that was in force. A callback may call
// another libcurl handle, so shares nest.
clarkspur_share clarkspur_share_begin(void);
// Ends a share. `before` is the result of `clarkspur_share_begin`.
void clarkspur_share_end(clarkspur_share before);

// Notes that the call has received an HTTP/2 frame.
void clarkspur_share_count_frame(void);

// Returns whether the OpenSSL that libcurl uses has the functions for `clarkspur_share_set_descriptor`.
bool clarkspur_share_limits_openssl(void);
// Does the same as OpenSSL's SSL_set_fd, and limits what the connection receives to the share. TLS inside this
// connection, as behind an https proxy, is limited by it too.
int clarkspur_share_set_descriptor(void *ssl, int descriptor);

// Receives as `recv` does, but no more than the share has left. Outside of a share, only calls `recv`.
long clarkspur_share_receive(int descriptor, void *bytes, size_t count, int flags);
