#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    char name[16];
    void (*function)(void *context);
    void *context;
} start;

static void *run(void *argument) {
    start given = *(start *)argument;
    free(argument);
#if defined(__APPLE__)
    pthread_setname_np(given.name);
#else
    pthread_setname_np(pthread_self(), given.name);
#endif
    sigset_t signals;
    sigfillset(&signals);
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) { sigdelset(&signals, own[i]); }
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    given.function(given.context);
    return NULL;
}

bool clarkspur_thread_start(const char *name, void (*function)(void *context), void *context) {
    start *argument = malloc(sizeof *argument);
    if (!argument) { return false; }
    *argument = (start){.function = function, .context = context};
    strncpy(argument->name, name, sizeof argument->name - 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int status = pthread_create(&thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    if (status != 0) { free(argument); }
    return status == 0;
}

struct clarkspur_turn {
    pthread_mutex_t lock;
    bool has_mask;
    sigset_t mask;
};

clarkspur_turn *clarkspur_turn_open(void) {
    clarkspur_turn *turn = calloc(1, sizeof *turn);
    if (turn && pthread_mutex_init(&turn->lock, NULL) == 0) { return turn; }
    free(turn);
    return NULL;
}

void clarkspur_turn_close(clarkspur_turn *turn) {
    if (!turn) { return; }
    pthread_mutex_destroy(&turn->lock);
    free(turn);
}

void clarkspur_turn_begin(clarkspur_turn *turn) { pthread_mutex_lock(&turn->lock); }

bool clarkspur_turn_borrow(clarkspur_turn *turn) {
    if (pthread_mutex_trylock(&turn->lock) != 0) { return false; }
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    turn->has_mask = pthread_sigmask(SIG_BLOCK, &pipe, &turn->mask) == 0 && !sigismember(&turn->mask, SIGPIPE);
    return true;
}

// What has come meanwhile is ours: the signal of a write goes to the thread that has written.
static void restore(const sigset_t *mask) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
#if defined(__APPLE__)
    sigset_t pending;
    int signal;
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE)) { sigwait(&pipe, &signal); }
#else
    const struct timespec none = {0, 0};
    sigtimedwait(&pipe, NULL, &none);
#endif
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void clarkspur_turn_end(clarkspur_turn *turn) {
    bool has_mask = turn->has_mask;
    sigset_t mask = turn->mask;
    turn->has_mask = false;
    pthread_mutex_unlock(&turn->lock);
    if (has_mask) { restore(&mask); }
}
