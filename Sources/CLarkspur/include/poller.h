#pragma once

#include <stdbool.h>

// Waits for events on many descriptors: epoll on Linux, kqueue on Apple platforms, level-triggered on both.

enum { clarkspur_read = 1, clarkspur_write = 2 };

typedef struct {
    int queue;
    // The descriptor that wakes a waiting thread: an eventfd on Linux, -1 on Apple platforms, where kqueue needs none.
    int waker;
} clarkspur_poller;

// A descriptor with events. A hang-up or an error sets both bits of `interest`, because the next read or write will
// report that hang-up or error.
typedef struct {
    int descriptor;
    int interest;
} clarkspur_ready;

// Opens a poller. Returns false on failure, for example if the process has no free descriptor.
bool clarkspur_poller_open(clarkspur_poller *poller);
void clarkspur_poller_close(clarkspur_poller *poller);

// Changes the events to wait for on a descriptor from `before` to `interest`. 0 means no events. Returns false on
// failure.
bool clarkspur_poller_watch(clarkspur_poller *poller, int descriptor, int before, int interest);

// Waits for events for at most `milliseconds`, or without limit if the number is negative. Returns the number of
// events; 0 if the wait ended by the timeout, a wake-up or a signal.
int clarkspur_poller_wait(clarkspur_poller *poller, clarkspur_ready *ready, int capacity, int milliseconds);

// Ends the current wait, or the next wait if no thread waits now. This function may be called on any thread.
void clarkspur_poller_wake(clarkspur_poller *poller);
