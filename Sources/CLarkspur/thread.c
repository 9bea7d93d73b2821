#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    char name[16];
    void (*function)(void *context);
    void *context;
} start;

// Blocks all signals except SIGPROF and those that a fault of the thread itself raises, such as SIGSEGV.
static bool block_signals(sigset_t *before) {
    sigset_t signals;
    sigfillset(&signals);
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) { sigdelset(&signals, own[i]); }
    return pthread_sigmask(SIG_BLOCK, &signals, before) == 0;
}

static void *run(void *argument) {
    start given = *(start *)argument;
    free(argument);
#if defined(__APPLE__)
    pthread_setname_np(given.name);
#else
    pthread_setname_np(pthread_self(), given.name);
#endif
    block_signals(NULL);
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

int clarkspur_processor_count(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) { return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1; }
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}

struct clarkspur_turn {
    pthread_mutex_t lock;
    atomic_int waiting;
    // The signal state of the thread that has borrowed the turn. `clarkspur_turn_end` restores it.
    bool is_lent;
    bool had_signal;
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

void clarkspur_turn_begin(clarkspur_turn *turn) {
    if (pthread_mutex_trylock(&turn->lock) == 0) { return; }
    atomic_fetch_add(&turn->waiting, 1);
    pthread_mutex_lock(&turn->lock);
    atomic_fetch_sub(&turn->waiting, 1);
}

bool clarkspur_turn_is_wanted(clarkspur_turn *turn) { return atomic_load(&turn->waiting) > 0; }

static bool is_pipe_pending(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

bool clarkspur_turn_try_begin(clarkspur_turn *turn) {
    // Without the first condition, a thread that repeatedly borrows the turn would always be faster than a waiting
    // thread, which must first wake up.
    if (clarkspur_turn_is_wanted(turn) || pthread_mutex_trylock(&turn->lock) != 0) { return false; }
    turn->is_lent = block_signals(&turn->mask);
    turn->had_signal = turn->is_lent && sigismember(&turn->mask, SIGPIPE) && is_pipe_pending();
    return true;
}

static void take_pipe(void) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
#if defined(__APPLE__)
    int signal;
    if (is_pipe_pending()) { sigwait(&pipe, &signal); }
#else
    const struct timespec none = {0, 0};
    sigtimedwait(&pipe, NULL, &none);
#endif
}

void clarkspur_turn_end(clarkspur_turn *turn) {
    bool is_lent = turn->is_lent;
    bool had_signal = turn->had_signal;
    sigset_t mask = turn->mask;
    turn->is_lent = false;
    pthread_mutex_unlock(&turn->lock);
    if (!is_lent) { return; }
    // Discard a SIGPIPE that became pending during the turn. A write of this thread caused the signal, because the
    // system sends SIGPIPE to the thread that writes.
    if (!had_signal) { take_pipe(); }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}
