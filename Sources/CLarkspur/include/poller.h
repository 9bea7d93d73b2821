#pragma once

#include <stdbool.h>

// Waits for many descriptors at once: epoll on Linux, kqueue on Apple platforms; level-triggered on both.

enum { clarkspur_read = 1, clarkspur_write = 2 };

typedef struct {
    int queue;
    // What wakes a waiting thread: an eventfd on Linux; kqueue needs none.
    int waker;
} clarkspur_poller;

// What a wait found: at a hang-up or an error both bits are set, so that whoever reads or writes next is told.
typedef struct {
    int descriptor;
    int interest;
} clarkspur_ready;

// False if the process has no descriptor left.
bool clarkspur_poller_open(clarkspur_poller *poller);
void clarkspur_poller_close(clarkspur_poller *poller);

// Changes what is waited for on a descriptor, from `before` to `interest`; either may be 0. False if it failed.
bool clarkspur_poller_watch(clarkspur_poller *poller, int descriptor, int before, int interest);

// Waits for at most so many milliseconds, without end if negative. Returns how many are ready: 0 after the time, a
// wake-up or a signal.
int clarkspur_poller_wait(clarkspur_poller *poller, clarkspur_ready *ready, int capacity, int milliseconds);

// Ends the wait that is under way, or else the next one; from any thread.
void clarkspur_poller_wake(clarkspur_poller *poller);
