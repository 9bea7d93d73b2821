#define _GNU_SOURCE
#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

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
