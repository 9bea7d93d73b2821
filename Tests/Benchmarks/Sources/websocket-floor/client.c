#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "wire.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool open_socket(wire *wire, int port, const char *path) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    wire->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(wire->socket, (struct sockaddr *)&address, sizeof address) != 0) return false;
    setsockopt(wire->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    char request[512];
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", path, port);
    char *head = wire_write(wire, request, (size_t)length) ? wire_head(wire) : NULL;
    return head && strstr(head, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static bool next_frame(wire *wire, frame *frame) {
    while (!wire_next(wire, frame)) {
        if (!wire_fill(wire)) return false;
    }
    return true;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// Sends a message and waits for its echo, again and again.
static bool echo(wire *wire, const uint8_t *payload, size_t size, long count) {
    double *times = calloc((size_t)count, sizeof *times);
    uint8_t *out = malloc(size + header_limit);
    bool succeeds = times && out;
    for (long i = 0; i < count && succeeds; i++) {
        double start = now();
        frame frame;
        succeeds = wire_write(wire, out, frame_put(out, is_final | opcode_binary, payload, size, true))
            && next_frame(wire, &frame) && frame.length == size;
        times[i] = now() - start;
    }
    if (succeeds) {
        qsort(times, (size_t)count, sizeof *times, compare);
        printf("p50_us=%.2f\n", times[count / 2] * 1e6);
    }
    free(times);
    free(out);
    return succeeds;
}

// Sends messages, many in one write, and waits for the answer to the close.
static bool send_all(wire *wire, const uint8_t *payload, size_t size, long count) {
    size_t limit = 1 << 16;
    uint8_t *out = malloc(limit + size + header_limit);
    size_t used = 0;
    bool succeeds = out;
    for (long i = 0; i < count && succeeds; i++) {
        used += frame_put(out + used, is_final | opcode_binary, payload, size, true);
        if (used < limit && i + 1 < count) continue;
        succeeds = wire_write(wire, out, used);
        used = 0;
    }
    frame frame;
    succeeds = succeeds && wire_write(wire, out, frame_put(out, is_final | opcode_close, NULL, 0, true))
        && next_frame(wire, &frame);
    free(out);
    return succeeds;
}

static bool receive_all(wire *wire, size_t size, long count) {
    frame frame;
    for (long i = 0; i < count; i++) {
        if (!next_frame(wire, &frame) || frame.length != size) return false;
    }
    return true;
}

int run_client(const char *scenario, int port, size_t size, long count) {
    static wire wire;
    char path[64];
    bool echoes = strcmp(scenario, "echo") == 0, sends = strcmp(scenario, "send") == 0;
    if (echoes || sends) snprintf(path, sizeof path, "/%s", echoes ? "echo" : "sink");
    else snprintf(path, sizeof path, "/source/%zu/%ld", size, count);
    uint8_t *payload = calloc(1, size + 1);
    bool succeeds = payload && open_socket(&wire, port, path);
    double start = now();
    if (echoes) succeeds = succeeds && echo(&wire, payload, size, count);
    else if (sends) succeeds = succeeds && send_all(&wire, payload, size, count);
    else succeeds = succeeds && receive_all(&wire, size, count);
    if (succeeds && !echoes) printf("rate=%.0f\n", (double)count / (now() - start));
    free(payload);
    return succeeds ? 0 : 1;
}
