#include "transfers.h"

#if defined(__linux__)

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// The other loop: epoll waits, and the loop tells libcurl which socket is ready. When a transfer ends, libcurl has no
// interest in its socket until the next transfer. The socket stays in epoll until libcurl closes it. That saves two
// system calls for each transfer.
//
// Only sockets that libcurl opened through `open_socket` stay in epoll: `close_socket` reports their end. The others
// (the resolver's pair) are closed without a report, and another socket may reuse their number.

typedef struct {
    uint32_t registered;  // the events that epoll watches
    uint32_t wanted;      // the events that libcurl waits for
    bool told;            // whether `close_socket` reports the end
} watched;

enum { most_sockets = 65536 };

static int queue;
static watched *sockets;
static double deadline = -1;

static void watch(int socket, uint32_t events) {
    watched *entry = &sockets[socket];
    if (entry->registered == events) return;
    struct epoll_event event = {.events = events, .data = {.fd = socket}};
    int operation = !events ? EPOLL_CTL_DEL : entry->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(queue, operation, socket, &event) != 0 && events) {
        if (errno == EEXIST) operation = EPOLL_CTL_MOD;
        if (errno == ENOENT) operation = EPOLL_CTL_ADD;
        if (epoll_ctl(queue, operation, socket, &event) != 0) perror("epoll_ctl");
    }
    entry->registered = events;
}

static int interest_changed(void *easy, int socket, int what, void *context, void *own) {
    (void)easy, (void)context, (void)own;
    watched *entry = &sockets[socket];
    if (what == curl_poll_remove) {
        entry->wanted = 0;
        if (!entry->told) watch(socket, 0);
    } else {
        entry->wanted = (what & curl_poll_in ? EPOLLIN : 0) | (what & curl_poll_out ? EPOLLOUT : 0);
        watch(socket, entry->wanted);
    }
    return 0;
}

static int timer_changed(void *multi, long milliseconds, void *context) {
    (void)multi, (void)context;
    deadline = milliseconds < 0 ? -1 : now_seconds() + (double)milliseconds / 1000;
    return 0;
}

typedef struct {
    int family;
    int type;
    int protocol;
} curl_address;

static int open_socket(void *context, int purpose, curl_address *address) {
    (void)context, (void)purpose;
    int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    if (descriptor >= most_sockets) {
        close(descriptor);
        return -1;
    }
    if (descriptor >= 0) sockets[descriptor] = (watched){.told = true};
    return descriptor;
}

static int close_socket(void *context, int descriptor) {
    (void)context;
    sockets[descriptor] = (watched){0};
    return close(descriptor);
}

void *sockets_open(void) {
    queue = epoll_create1(EPOLL_CLOEXEC);
    sockets = calloc(most_sockets, sizeof *sockets);
    void *multi = curl.multi_init();
    curl.multi_setopt(multi, curlmopt_maxconnects, 65536L);
    curl.multi_setopt(multi, curlmopt_socketfunction, interest_changed);
    curl.multi_setopt(multi, curlmopt_timerfunction, timer_changed);
    return multi;
}

void sockets_prepare(void *easy) {
    curl.easy_setopt(easy, curlopt_opensocketfunction, open_socket);
    curl.easy_setopt(easy, curlopt_closesocketfunction, close_socket);
}

static int milliseconds_left(void) {
    if (deadline < 0) return 1000;
    double left = (deadline - now_seconds()) * 1000;
    return left <= 0 ? 0 : left < 1000 ? (int)left + 1 : 1000;
}

static void tell(void *multi, const struct epoll_event *event) {
    int active = 0;
    int socket = event->data.fd;
    if (!sockets[socket].wanted) {
        // No transfer uses the socket, and epoll is level-triggered: it would report the socket forever.
        watch(socket, 0);
        return;
    }
    int ready = 0;
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) ready |= curl_select_in;
    if (event->events & EPOLLOUT) ready |= curl_select_out;
    curl.multi_socket_action(multi, socket, ready, &active);
}

void sockets_run(void *multi) {
    struct epoll_event events[256];
    int active = 0;
    while (transfers_running()) {
        int milliseconds = milliseconds_left();
        if (milliseconds > 0) {
            int count = epoll_wait(queue, events, 256, milliseconds);
            for (int i = 0; i < count; i++) tell(multi, &events[i]);
        }
        if (deadline >= 0 && milliseconds_left() == 0) {
            deadline = -1;
            curl.multi_socket_action(multi, curl_socket_timeout, 0, &active);
        }
        transfers_collect();
    }
}

#else

#include <stddef.h>

void *sockets_open(void) { return NULL; }
void sockets_prepare(void *easy) { (void)easy; }
void sockets_run(void *multi) { (void)multi; }

#endif
