#define _GNU_SOURCE
#include "route.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static bool is_same(const struct sockaddr *one, const struct sockaddr *other) {
    if (one->sa_family != other->sa_family) { return false; }
    if (one->sa_family == AF_INET) {
        const struct sockaddr_in *left = (const void *)one, *right = (const void *)other;
        return memcmp(&left->sin_addr, &right->sin_addr, sizeof left->sin_addr) == 0;
    }
    if (one->sa_family != AF_INET6) { return false; }
    const struct sockaddr_in6 *left = (const void *)one, *right = (const void *)other;
    return memcmp(&left->sin6_addr, &right->sin6_addr, sizeof left->sin6_addr) == 0;
}

// Returns whether an interface with this address is running. True if the system does not tell. The kernel keeps the
// routes of an interface whose cable is unplugged.
static bool is_running(const struct sockaddr *address) {
    struct ifaddrs *first;
    if (getifaddrs(&first) != 0) { return true; }
    bool is_known = false, runs = false;
    for (const struct ifaddrs *one = first; one; one = one->ifa_next) {
        if (!one->ifa_addr || !is_same(one->ifa_addr, address)) { continue; }
        is_known = true;
        runs = runs || ((one->ifa_flags & IFF_UP) && (one->ifa_flags & IFF_RUNNING));
    }
    freeifaddrs(first);
    return runs || !is_known;
}

// Returns whether an error number says that there is no route. Others, such as that of a sandbox, say nothing about
// the network.
static bool is_no_route(int problem) {
    switch (problem) {
    case ENETUNREACH: case EHOSTUNREACH: case ENETDOWN: case EADDRNOTAVAIL: case EAFNOSUPPORT: case EINVAL: case EACCES:
        return true;
    default: return false;
    }
}

// Connects a UDP socket: the system chooses the route, and sends nothing.
static bool has_route(const struct addrinfo *address) {
#if defined(SOCK_CLOEXEC)
    int descriptor = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(address->ai_family, SOCK_DGRAM, 0);
    if (descriptor >= 0) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }
#endif
    if (descriptor < 0) { return !is_no_route(errno); }
    bool result;
    if (connect(descriptor, address->ai_addr, address->ai_addrlen) != 0) {
        result = !is_no_route(errno);
    } else {
        struct sockaddr_storage local;
        socklen_t size = sizeof local;
        struct sockaddr *own = (struct sockaddr *)&local;
        result = getsockname(descriptor, own, &size) != 0 || is_running(own);
    }
    close(descriptor);
    return result;
}

clarkspur_route clarkspur_route_find(const char *host, bool is_address) {
    const struct addrinfo hints = {
        .ai_flags = AI_NUMERICSERV | (is_address ? AI_NUMERICHOST : 0), .ai_socktype = SOCK_DGRAM};
    struct addrinfo *first = NULL;
    switch (getaddrinfo(host, "443", &hints, &first)) {
    case 0: break;
    case EAI_NONAME: return clarkspur_route_unknown_name;
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    case EAI_NODATA: return clarkspur_route_unknown_name;
#endif
    default: return is_address ? clarkspur_route_unknown_name : clarkspur_route_no_answer;
    }
    clarkspur_route result = clarkspur_route_missing;
    for (const struct addrinfo *one = first; one; one = one->ai_next) {
        if ((one->ai_family == AF_INET || one->ai_family == AF_INET6) && has_route(one)) {
            result = clarkspur_route_exists;
            break;
        }
    }
    freeaddrinfo(first);
    return result;
}
