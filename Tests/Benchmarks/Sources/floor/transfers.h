#ifndef FLOOR_TRANSFERS_H
#define FLOOR_TRANSFERS_H

#include "libcurl.h"

// The requests of a run, from the command line.
typedef struct {
    const char *variant;
    const char *url;
    const char *ca_file;
    const char *upload;
    int concurrency;
    int http;
    long count;
    double seconds;
    bool big_buffers;
} plan;

enum { histogram_size = 100000 };

// The results since the last reset.
typedef struct {
    long started;
    long finished;
    long errors;
    uint64_t bytes;
    uint32_t histogram[histogram_size];  // finished transfers by microseconds; the last element counts all slower ones
} tally;

extern tally counts;

double now_seconds(void);

// Makes the easy handles, one for each concurrent transfer. `prepare` sets the options that the loop needs.
bool transfers_open(const plan *plan, void *multi, void (*prepare)(void *easy));

// Starts a round of `count` transfers, or if `count` is 0, as many as can be started within `seconds`.
// `transfers_collect` handles the transfers that have ended, and starts the next ones on their handles.
void transfers_begin(long count, double seconds);
void transfers_collect(void);
bool transfers_running(void);

// The two loops. `open` makes a multi handle, `run` returns when no transfer runs.
void *poll_open(void);
void poll_run(void *multi);
void *sockets_open(void);
void sockets_prepare(void *easy);
void sockets_run(void *multi);

#endif
