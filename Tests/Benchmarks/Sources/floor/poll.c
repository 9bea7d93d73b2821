#include "transfers.h"

#include <stddef.h>

// The simple loop: libcurl polls its own sockets.

void *poll_open(void) {
    void *multi = curl.multi_init();
    curl.multi_setopt(multi, curlmopt_maxconnects, 65536L);
    return multi;
}

void poll_run(void *multi) {
    int active = 0;
    while (transfers_running()) {
        curl.multi_perform(multi, &active);
        long finished = counts.finished;
        transfers_collect();
        // Newly started transfers must be sent before there is an event to wait for.
        if (counts.finished == finished) curl.multi_poll(multi, NULL, 0, 1000, NULL);
    }
}
