#define _GNU_SOURCE
#include "netlink.h"

#if defined(__linux__)

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// The kernel's stable ABI, declared here because not every C library ships the kernel's headers.
enum { netlink_route = 0, request_flag = 0x01, dump_flags = 0x300 };

typedef struct {
    sa_family_t family;
    uint16_t padding;
    uint32_t port;
    uint32_t groups;
} netlink_address;

typedef struct {
    uint32_t length;
    uint16_t type;
    uint16_t flags;
    uint32_t sequence;
    uint32_t port;
    // The shortest body that every table accepts: the address family, 0 for all.
    uint8_t family;
    uint8_t padding[3];
} dump_request;

int clarkspur_netlink_open(uint32_t groups) {
    int mode = groups ? SOCK_NONBLOCK : 0;
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | mode, netlink_route);
    if (descriptor < 0) { return -errno; }
    const struct timeval limit = {.tv_sec = 1};
    const netlink_address address = {.family = AF_NETLINK, .groups = groups};
    if ((groups || setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0)
        && bind(descriptor, (const struct sockaddr *)&address, sizeof address) == 0) {
        return descriptor;
    }
    int problem = errno;
    close(descriptor);
    return -problem;
}

void clarkspur_netlink_close(int descriptor) { close(descriptor); }

int clarkspur_netlink_request(int descriptor, uint16_t type, uint32_t sequence) {
    const dump_request request = {
        .length = sizeof request, .type = type, .flags = request_flag | dump_flags, .sequence = sequence};
    const netlink_address kernel = {.family = AF_NETLINK};
    ptrdiff_t sent;
    do {
        sent = sendto(
            descriptor, &request, sizeof request, MSG_NOSIGNAL, (const struct sockaddr *)&kernel, sizeof kernel);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

ptrdiff_t clarkspur_netlink_receive(int descriptor, void *buffer, size_t count) {
    while (1) {
        netlink_address sender;
        socklen_t size = sizeof sender;
        memset(&sender, 0, sizeof sender);
        ptrdiff_t received = recvfrom(descriptor, buffer, count, 0, (struct sockaddr *)&sender, &size);
        if (received < 0 && errno != EINTR) { return -errno; }
        // Only the kernel has port 0. Another process may send such datagrams if it is privileged.
        if (received >= 0 && sender.port == 0) { return received; }
    }
}

#endif
