#pragma once

#include <stdbool.h>

// Runs the function on a new thread, which ends with it. Returns false if the thread cannot be created. Debuggers show
// the first 15 characters of the name.
//
// The thread blocks all signals except those of its own faults: a disconnected peer must not end the process by
// SIGPIPE, and the program's signal handlers must run on the program's threads.
bool clarkspur_thread_start(const char *name, void (*function)(void *context), void *context);

// A lock that a dedicated thread normally holds. While that thread sleeps, another thread may borrow it.
typedef struct clarkspur_turn clarkspur_turn;

// Returns NULL if memory is exhausted.
clarkspur_turn *clarkspur_turn_open(void);
void clarkspur_turn_close(clarkspur_turn *turn);

// Acquires the turn; waits if another thread has it.
void clarkspur_turn_begin(clarkspur_turn *turn);
// Returns whether a thread waits for the turn.
bool clarkspur_turn_is_wanted(clarkspur_turn *turn);
// Acquires the turn on a thread of the program if it is free and no thread waits for it. Until `clarkspur_turn_end` the
// thread, and every thread that it starts, blocks all signals except those of its own faults. A SIGPIPE of its own
// writes is discarded.
bool clarkspur_turn_try_begin(clarkspur_turn *turn);
void clarkspur_turn_end(clarkspur_turn *turn);
