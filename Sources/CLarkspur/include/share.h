#pragma once

#include <stdbool.h>
#include <stddef.h>

// Limits how much one call of libcurl receives.
//
// libcurl receives for as long as bytes arrive, so a peer could keep a transport's thread in one call, and no other
// connection would be served. libcurl's pointer to `recv` is therefore replaced (see `http2.c`). When a call has used
// up its share, the replacement reports that the socket is empty. libcurl then returns, and the poller reports the
// socket again after the other connections have had their turn.

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

// Receives as `recv` does, but no more than the share has left. Outside of a share, only calls `recv`.
long clarkspur_share_receive(int descriptor, void *bytes, size_t count, int flags);
