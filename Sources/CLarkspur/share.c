#include "share.h"

#include <errno.h>
#include <sys/socket.h>

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

long clarkspur_share_receive(int descriptor, void *bytes, size_t count, int flags) {
    // A peek takes nothing from the socket, and libcurl asks with it whether a connection is alive.
    if (!share.is_limited || flags & MSG_PEEK) { return recv(descriptor, bytes, count, flags); }
    if (share.bytes == 0 || share.frames == 0) {
        errno = EAGAIN;
        return -1;
    }
    long received = recv(descriptor, bytes, count < share.bytes ? count : share.bytes, flags);
    if (received > 0) { share.bytes -= (size_t)received; }
    return received;
}
