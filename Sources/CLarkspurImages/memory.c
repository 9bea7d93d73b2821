#include "include/CLarkspurImages.h"

#if defined(__linux__)

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The last file is that of events, the others are triggers.
enum { file_count = 3, events = file_count - 1 };

typedef struct {
    struct pollfd files[file_count];
    void (*notice)(clarkspur_memory_source);
} memory_watch;

static bool is_open(const memory_watch *self) {
    for (int index = 0; index < file_count; index++) {
        if (self->files[index].fd >= 0) { return true; }
    }
    return false;
}

// Registers a trigger: all tasks together have waited for memory for 200 ms within 2 s. Processes without privileges may
// use only windows of whole multiples of 2 s.
static int open_stalls(const char *path) {
    static const char trigger[] = "some 200000 2000000";
    int file = path ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file >= 0 && write(file, trigger, sizeof trigger) < 0) {
        close(file);
        return -1;
    }
    return file;
}

// A poll ends once for each change of the file, and a read from its start arms the next one.
static void arm(int file) {
    char text[512];
    if (file >= 0) { (void)!pread(file, text, sizeof text, 0); }
}

static void *watch(void *argument) {
    memory_watch *self = argument;
    // The process handles its signals on other threads.
    sigset_t signals;
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    while (is_open(self)) {
        if (poll(self->files, file_count, -1) < 0) { continue; }
        bool is_pressed[2] = {false, false};
        for (int index = 0; index < file_count; index++) {
            short reported = self->files[index].revents;
            // The events file reports each change as an error too. A trigger with an error is gone for good.
            if (reported & POLLNVAL || (index != events && reported & POLLERR)) { self->files[index].fd = -1; }
            if (reported & POLLPRI) { is_pressed[index == events] = true; }
        }
        arm(self->files[events].fd);
        if (is_pressed[0]) {
            self->notice(clarkspur_memory_stalls);
        } else if (is_pressed[1]) {
            self->notice(clarkspur_memory_events);
        }
        // At most one notice in 500 ms: the files can change with each page.
        struct timespec pause = {0, 500000000};
        nanosleep(&pause, NULL);
    }
    free(self);
    return NULL;
}

bool clarkspur_watch_memory(const char *system_stalls, const char *group_stalls, const char *group_events,
    void (*notice)(clarkspur_memory_source)) {
    memory_watch *self = malloc(sizeof *self);
    if (!self) { return false; }
    self->notice = notice;
    int group = open_stalls(group_stalls);
    self->files[0] = (struct pollfd){open_stalls(system_stalls), POLLPRI, 0};
    self->files[1] = (struct pollfd){group, POLLPRI, 0};
    bool needs_events = group < 0 && group_events;
    self->files[events] = (struct pollfd){needs_events ? open(group_events, O_RDONLY | O_CLOEXEC) : -1, POLLPRI, 0};
    arm(self->files[events].fd);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    bool is_watching = is_open(self)
        && pthread_create(&thread, &attributes, watch, self) == 0;
    pthread_attr_destroy(&attributes);
    if (!is_watching) {
        for (int index = 0; index < file_count; index++) {
            if (self->files[index].fd >= 0) { close(self->files[index].fd); }
        }
        free(self);
    }
    return is_watching;
}

#else

bool clarkspur_watch_memory(const char *system_stalls, const char *group_stalls, const char *group_events,
    void (*notice)(clarkspur_memory_source)) {
    (void)system_stalls;
    (void)group_stalls;
    (void)group_events;
    (void)notice;
    return false;
}

#endif
