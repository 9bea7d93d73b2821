#pragma once

#include <stdbool.h>

// Runs the function on a new thread. The thread ends when the function returns. Returns false if the thread cannot be
// created. Debuggers show the first 15 characters of the name.
//
// The thread blocks all signals except SIGPROF and those of its own faults. There are two reasons: a disconnected peer
// must not end the process by SIGPIPE, and the program's signal handlers must run on the program's threads.
bool clarkspur_thread_start(const char *name, void (*function)(void *context), void *context);

// Returns the number of processors that the process may use, at least one.
int clarkspur_processor_count(void);

// A lock that a dedicated thread holds while it works. While that thread sleeps, another thread may borrow the lock.
typedef struct clarkspur_turn clarkspur_turn;

// Returns NULL if memory is exhausted.
clarkspur_turn *clarkspur_turn_open(void);
void clarkspur_turn_close(clarkspur_turn *turn);

// Acquires the turn. If another thread has the turn, waits until that thread ends it.
void clarkspur_turn_begin(clarkspur_turn *turn);
// Returns whether a thread waits for the turn.
bool clarkspur_turn_is_wanted(clarkspur_turn *turn);
// Borrows the turn for a thread of the program. Returns false if another thread has the turn or waits for it. Until
// `clarkspur_turn_end`, the calling thread blocks the same signals as the dedicated thread. Threads that the calling
// thread starts meanwhile inherit these blocked signals. `clarkspur_turn_end` discards a SIGPIPE that the calling
// thread's writes have caused.
bool clarkspur_turn_try_begin(clarkspur_turn *turn);
void clarkspur_turn_end(clarkspur_turn *turn);
