#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// websocket-floor serve                            prints port=N, and serves until the standard input ends
// websocket-floor echo|send|receive PORT SIZE COUNT   the same as the framework's client, without one

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "serve") == 0) return serve();
    if (count == 5) return run_client(arguments[1], atoi(arguments[2]), (size_t)atol(arguments[3]), atol(arguments[4]));
    fprintf(stderr, "usage: websocket-floor serve | echo|send|receive PORT SIZE COUNT\n");
    return 2;
}
