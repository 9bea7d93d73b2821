#include "transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// floor poll|sockets URL [--count N | --seconds S] [--concurrency N] [--http 1|2|3] [--ca FILE] [--upload FILE]
//       [--stream] [--big-buffers]
// Measures libcurl without a framework. --http 3 means version 2 without TLS. Prints one line of figures.

static double cpu_seconds(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec)
        + (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static int median_microseconds(void) {
    long seen = 0;
    for (int i = 0; i < histogram_size; i++) {
        seen += counts.histogram[i];
        if (seen * 2 >= counts.finished) return i;
    }
    return histogram_size;
}

static bool parse(int count, char **arguments, plan *plan) {
    if (count < 3) return false;
    plan->variant = arguments[1];
    plan->url = arguments[2];
    for (int i = 3; i < count; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--big-buffers") == 0) {
            plan->big_buffers = true;
            continue;
        }
        if (strcmp(name, "--stream") == 0) continue;  // the loop always streams
        if (++i == count) return false;
        const char *value = arguments[i];
        if (strcmp(name, "--count") == 0) plan->count = atol(value);
        else if (strcmp(name, "--seconds") == 0) plan->seconds = atof(value);
        else if (strcmp(name, "--concurrency") == 0) plan->concurrency = atoi(value);
        else if (strcmp(name, "--http") == 0) plan->http = atoi(value);
        else if (strcmp(name, "--ca") == 0) plan->ca_file = value;
        else if (strcmp(name, "--upload") == 0) plan->upload = value;
        else return false;
    }
    return plan->concurrency > 0 && plan->http >= 1 && plan->http <= 3;
}

int main(int argument_count, char **arguments) {
    plan plan = {.concurrency = 1, .http = 1, .seconds = 3};
    if (!parse(argument_count, arguments, &plan)) {
        fprintf(stderr, "usage: floor poll|sockets URL [--count N | --seconds S] [--concurrency N] [--http 1|2|3]"
                        " [--ca FILE] [--upload FILE] [--stream] [--big-buffers]\n");
        return 2;
    }
    if (!libcurl_load()) return 1;
    bool polls = strcmp(plan.variant, "poll") == 0;
    void *multi = polls ? poll_open() : sockets_open();
    void (*run)(void *) = polls ? poll_run : sockets_run;
    if (!multi || !transfers_open(&plan, multi, polls ? NULL : sockets_prepare)) return 1;

    if (!plan.big_buffers && !plan.count) {
        transfers_begin(0, 0.3);  // warm-up: connections are opened and caches filled
        run(multi);
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    double start = now_seconds();
    transfers_begin(plan.count, plan.seconds);
    run(multi);
    double seconds = now_seconds() - start;
    getrusage(RUSAGE_SELF, &after);

    double cpu = (cpu_seconds(&after) - cpu_seconds(&before)) * 1e6 / (double)counts.finished;
    printf("variant=%s requests=%ld seconds=%.3f rps=%.0f cpu_us=%.2f p50_us=%d rss_kib=%ld bytes=%llu errors=%ld\n",
        plan.variant, counts.finished, seconds, (double)counts.finished / seconds, cpu, median_microseconds(),
        after.ru_maxrss, (unsigned long long)counts.bytes, counts.errors);
    return 0;
}
