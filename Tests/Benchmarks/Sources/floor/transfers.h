#ifndef FLOOR_TRANSFERS_H
#define FLOOR_TRANSFERS_H

#include "libcurl.h"

// What is asked for, from the command line.
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

// What happened since the last reset.
typedef struct {
    long started;
    long finished;
    long errors;
    uint64_t bytes;
    uint32_t histogram[histogram_size];  // finished transfers by microseconds; the last one holds all that took longer
} tally;

extern tally counts;

double now_seconds(void);

// Makes the easy handles, as many as transfers run at once; `prepare` adds what the loop needs to each.
bool transfers_open(const plan *plan, void *multi, void (*prepare)(void *easy));

// A round: so many transfers, or if that is 0 as many as start within the seconds. Each ends with a call to
// `transfers_collect`, which starts the next on the same handle as long as there is one.
void transfers_begin(long count, double seconds);
void transfers_collect(void);
bool transfers_running(void);

// The two loops: `open` makes a multi handle, `run` goes on until no transfer runs.
void *poll_open(void);
void poll_run(void *multi);
void *sockets_open(void);
void sockets_prepare(void *easy);
void sockets_run(void *multi);

#endif
