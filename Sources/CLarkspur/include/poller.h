#pragma once

#include <stdbool.h>

// Waits for events on many descriptors: epoll on Linux, kqueue on Apple platforms, level-triggered on both.

enum { clarkspur_read = 1, clarkspur_write = 2 };

typedef struct {
    int queue;
    // The descriptor that wakes a waiting thread: an eventfd on Linux; kqueue needs none.
    int waker;
} clarkspur_poller;

// An event. A hang-up or an error sets both bits, so that the next read or write reports it.
typedef struct {
    int descriptor;
    int interest;
} clarkspur_ready;

// Returns false if the process has no free descriptor.
bool clarkspur_poller_open(clarkspur_poller *poller);
void clarkspur_poller_close(clarkspur_poller *poller);

// Changes the events to wait for on a descriptor from `before` to `interest`; either may be 0. Returns false on
// failure.
bool clarkspur_poller_watch(clarkspur_poller *poller, int descriptor, int before, int interest);

// Waits at most this many milliseconds, or without limit if negative. Returns the number of events: 0 after the
// timeout, a wake-up or a signal.
int clarkspur_poller_wait(clarkspur_poller *poller, clarkspur_ready *ready, int capacity, int milliseconds);

// Ends the current wait, or the next one if no thread waits. It may be called on any thread.
void clarkspur_poller_wake(clarkspur_poller *poller);
