#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "curl.h"

// The first members of curl_sockaddr.
typedef struct {
    int family;
    int type;
    int protocol;
} socket_address;

int clarkspur_socket_open(const void *address, int user_timeout) {
    const socket_address *wanted = address;
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(wanted->family, wanted->type | SOCK_CLOEXEC, wanted->protocol);
#else
    int descriptor = socket(wanted->family, wanted->type, wanted->protocol);
    if (descriptor >= 0) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }
#endif
    if (descriptor < 0) { return -errno; }
#if defined(SO_NOSIGPIPE)
    // Without it, a write to a connection that the peer has closed would end the process.
    const int enabled = 1;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &enabled, sizeof enabled);
#endif
#if defined(TCP_USER_TIMEOUT)
    // A failure is ignored, because the connection works without this option too.
    if (user_timeout > 0 && (wanted->family == AF_INET || wanted->family == AF_INET6)) {
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof user_timeout);
    }
#else
    (void)user_timeout;
#endif
    return descriptor;
}

void clarkspur_socket_close(int descriptor) { close(descriptor); }

// Writes the IP address of one end of a connection to `text`, which needs INET6_ADDRSTRLEN bytes. `get` is `local_name`
// or `remote_name`. Returns the port of that end, or 0 if the socket has no IP address.
static int end_of(int descriptor, int (*get)(int, struct sockaddr *, socklen_t *), char *text) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (get(descriptor, (struct sockaddr *)&address, &size) != 0) { return 0; }
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
        inet_ntop(AF_INET, &four->sin_addr, text, INET6_ADDRSTRLEN);
        return ntohs(four->sin_port);
    }
    if (address.ss_family != AF_INET6) { return 0; }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
    inet_ntop(AF_INET6, &six->sin6_addr, text, INET6_ADDRSTRLEN);
    return ntohs(six->sin6_port);
}

static int local_name(int descriptor, struct sockaddr *address, socklen_t *size) {
    return getsockname(descriptor, address, size);
}

static int remote_name(int descriptor, struct sockaddr *address, socklen_t *size) {
    return getpeername(descriptor, address, size);
}

int clarkspur_socket_local_port(int descriptor) {
    char text[INET6_ADDRSTRLEN];
    return end_of(descriptor, local_name, text);
}

void clarkspur_socket_shut_down(int descriptor, int local_port, const char *remote_address, int remote_port) {
    char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];
    // Without an IP address, as for a Unix-domain socket, both ports are 0 and `end_of` writes no text to compare.
    if (!remote_address || local_port == 0 || remote_port == 0) { return; }
    if (end_of(descriptor, local_name, local) != local_port) { return; }
    if (end_of(descriptor, remote_name, remote) != remote_port || strcmp(remote, remote_address) != 0) { return; }
    shutdown(descriptor, SHUT_RDWR);
}

bool clarkspur_socket_is_empty(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool clarkspur_socket_is_connected(int descriptor) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    return getpeername(descriptor, (struct sockaddr *)&peer, &length) == 0;
}

static long result_of(ssize_t count) {
    if (count >= 0) { return count; }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? clarkspur_would_block : clarkspur_lost;
}

long clarkspur_socket_send(int descriptor, const void *bytes, size_t count) {
#if defined(MSG_NOSIGNAL)
    return result_of(send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT));
#else
    return result_of(send(descriptor, bytes, count, MSG_DONTWAIT));  // `clarkspur_socket_open` has set SO_NOSIGPIPE
#endif
}

long clarkspur_socket_receive(int descriptor, void *bytes, size_t capacity) {
    return result_of(recv(descriptor, bytes, capacity, MSG_DONTWAIT));
}
