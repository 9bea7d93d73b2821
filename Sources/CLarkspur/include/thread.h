#pragma once

#include <stdbool.h>

// Runs the function on a thread of its own, which ends with it. The thread takes no signals but those of its own faults: a peer
// that has gone must not end the process by SIGPIPE, and handlers of the program's run on the program's threads. False if no thread
// can be had. The name shows in debuggers, up to 15 characters of it.
bool clarkspur_thread_start(const char *name, void (*function)(void *context), void *context);

// Whose turn it is to do what one thread at a time may do: that of a thread of its own, or while that one sleeps another's.
typedef struct clarkspur_turn clarkspur_turn;

// NULL without memory.
clarkspur_turn *clarkspur_turn_open(void);
void clarkspur_turn_close(clarkspur_turn *turn);

// Waits for the turn.
void clarkspur_turn_begin(clarkspur_turn *turn);
// Whether somebody waits for it.
bool clarkspur_turn_is_wanted(clarkspur_turn *turn);
// Takes the turn on a thread of the program's, if it is free and nobody waits for it. Until its end the thread takes no signals but
// those of its own faults, and neither do threads that it starts; a SIGPIPE of its own writes is dropped then.
bool clarkspur_turn_borrow(clarkspur_turn *turn);
void clarkspur_turn_end(clarkspur_turn *turn);
