#include "poller.h"

#include <unistd.h>

enum { batch = 256 };

#if defined(__linux__)

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static uint32_t events_of(int interest) {
    return (interest & clarkspur_read ? EPOLLIN : 0) | (interest & clarkspur_write ? EPOLLOUT : 0);
}

bool clarkspur_poller_open(clarkspur_poller *poller) {
    poller->queue = epoll_create1(EPOLL_CLOEXEC);
    poller->waker = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    // The waker is edge-triggered: each write to it causes one event, even if its counter was never reset. This saves
    // the system call that would reset the counter after each wake-up.
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.fd = poller->waker};
    if (poller->queue >= 0 && poller->waker >= 0
        && epoll_ctl(poller->queue, EPOLL_CTL_ADD, poller->waker, &wake) == 0) {
        return true;
    }
    clarkspur_poller_close(poller);
    return false;
}

void clarkspur_poller_close(clarkspur_poller *poller) {
    if (poller->queue >= 0) { close(poller->queue); }
    if (poller->waker >= 0) { close(poller->waker); }
    poller->queue = poller->waker = -1;
}

bool clarkspur_poller_watch(clarkspur_poller *poller, int descriptor, int before, int interest) {
    struct epoll_event event = {.events = events_of(interest), .data.fd = descriptor};
    if (interest == 0) { return epoll_ctl(poller->queue, EPOLL_CTL_DEL, descriptor, NULL) == 0; }
    if (before != 0 && epoll_ctl(poller->queue, EPOLL_CTL_MOD, descriptor, &event) == 0) { return true; }
    return epoll_ctl(poller->queue, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

int clarkspur_poller_wait(clarkspur_poller *poller, clarkspur_ready *ready, int capacity, int milliseconds) {
    struct epoll_event events[batch];
    int count = epoll_wait(poller->queue, events, capacity < batch ? capacity : batch, milliseconds);
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == poller->waker) { continue; }
        uint32_t seen = events[i].events;
        if (seen & (EPOLLHUP | EPOLLERR)) { seen |= EPOLLIN | EPOLLOUT; }
        ready[result].descriptor = events[i].data.fd;
        ready[result].interest = (seen & EPOLLIN ? clarkspur_read : 0) | (seen & EPOLLOUT ? clarkspur_write : 0);
        result++;
    }
    return result;
}

void clarkspur_poller_wake(clarkspur_poller *poller) {
    uint64_t one = 1;
    (void)!write(poller->waker, &one, sizeof one);
}

#elif defined(__APPLE__)

#include <sys/event.h>
#include <time.h>

bool clarkspur_poller_open(clarkspur_poller *poller) {
    poller->queue = kqueue();
    poller->waker = -1;
    struct kevent wake;
    EV_SET(&wake, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
    if (poller->queue >= 0 && kevent(poller->queue, &wake, 1, NULL, 0, NULL) == 0) { return true; }
    clarkspur_poller_close(poller);
    return false;
}

void clarkspur_poller_close(clarkspur_poller *poller) {
    if (poller->queue >= 0) { close(poller->queue); }
    poller->queue = -1;
}

static bool change(int queue, int descriptor, int before, int interest, int bit, int16_t filter) {
    if ((before & bit) == (interest & bit)) { return true; }
    struct kevent event;
    EV_SET(&event, descriptor, filter, interest & bit ? EV_ADD : EV_DELETE, 0, 0, NULL);
    return kevent(queue, &event, 1, NULL, 0, NULL) == 0 || !(interest & bit);
}

bool clarkspur_poller_watch(clarkspur_poller *poller, int descriptor, int before, int interest) {
    return change(poller->queue, descriptor, before, interest, clarkspur_read, EVFILT_READ)
        && change(poller->queue, descriptor, before, interest, clarkspur_write, EVFILT_WRITE);
}

int clarkspur_poller_wait(clarkspur_poller *poller, clarkspur_ready *ready, int capacity, int milliseconds) {
    struct kevent events[batch];
    struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    int count = kevent(poller->queue, NULL, 0, events, capacity < batch ? capacity : batch,
                       milliseconds < 0 ? NULL : &limit);
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].filter == EVFILT_USER) { continue; }
        ready[result].descriptor = (int)events[i].ident;
        ready[result].interest = events[i].flags & (EV_EOF | EV_ERROR)
            ? clarkspur_read | clarkspur_write
            : events[i].filter == EVFILT_READ ? clarkspur_read : clarkspur_write;
        result++;
    }
    return result;
}

void clarkspur_poller_wake(clarkspur_poller *poller) {
    struct kevent wake;
    EV_SET(&wake, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
    kevent(poller->queue, &wake, 1, NULL, 0, NULL);
}

#endif
