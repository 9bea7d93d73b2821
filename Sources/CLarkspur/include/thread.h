#ifndef CLARKSPUR_THREAD_H
#define CLARKSPUR_THREAD_H

#include <stdbool.h>

// Runs the function on a thread of its own, which ends with it. The thread takes no signals but those of its own faults: a peer
// that has gone must not end the process by SIGPIPE, and handlers of the program's run on the program's threads. False if no thread can be had. The name shows in debuggers, up to 15 characters of it.
bool clarkspur_thread_start(const char *name, void (*function)(void *context), void *context);

#endif
