#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// The system reduces this number to its own maximum.
enum { backlog = 65535 };

static void set_option(int descriptor, int level, int option) {
    int on = 1;
    setsockopt(descriptor, level, option, &on, sizeof on);
}

static int prepared(int descriptor) {
    if (descriptor < 0) { return -1; }
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY);
#ifdef SO_NOSIGPIPE
    set_option(descriptor, SOL_SOCKET, SO_NOSIGPIPE);
#endif
    return descriptor;
}

int clarkspur_loopback_listen(uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = prepared(socket(AF_INET, SOCK_STREAM, 0));
    if (listener < 0) { return -1; }
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, backlog) != 0
        || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        int reason = errno;
        close(listener);
        errno = reason;
        return -1;
    }
    *port = ntohs(address.sin_port);
    return listener;
}

int clarkspur_loopback_accept(int listener) {
    return prepared(accept(listener, NULL, NULL));
}

ssize_t clarkspur_loopback_send(int descriptor, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
    return send(descriptor, bytes, count, MSG_NOSIGNAL);
#else
    return send(descriptor, bytes, count, 0);
#endif
}

void clarkspur_loopback_reset_on_close(int descriptor) {
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

void clarkspur_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) { return; }
    rlim_t highest = limit.rlim_max;
#ifdef __APPLE__
    if (highest > OPEN_MAX) { highest = OPEN_MAX; }
#endif
    if (limit.rlim_cur >= highest) { return; }
    limit.rlim_cur = highest;
    setrlimit(RLIMIT_NOFILE, &limit);
}
