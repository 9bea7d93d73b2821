#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accept.h"
#include "wire.h"

// Sends each frame back as it came. All answers to the bytes of one read are one write.
static void echo(wire *wire) {
    uint8_t *answers = malloc(sizeof wire->bytes + header_limit);
    bool is_open = answers;
    while (is_open) {
        frame frame;
        size_t count = 0;
        while (wire_next(wire, &frame)) {
            // The answer fits: its frame has no mask, so it is shorter.
            count += frame_put(answers + count, frame.first, frame.payload, frame.length, false);
            is_open = is_open && (frame.first & 0x0f) != opcode_close;
        }
        is_open = wire_write(wire, answers, count) && is_open && wire_fill(wire);
    }
    free(answers);
}

// Reads messages, and answers the close alone.
static void sink(wire *wire) {
    do {
        frame frame;
        while (wire_next(wire, &frame)) {
            if ((frame.first & 0x0f) != opcode_close) continue;
            uint8_t answer[256];
            wire_write(wire, answer, frame_put(answer, frame.first, frame.payload, frame.length, false));
            return;
        }
    } while (wire_fill(wire));
}

// Sends messages, many in one write, then a close.
static void feed(wire *wire, size_t size, long count) {
    size_t each = size + header_limit, batch = each < 1 << 16 ? (1 << 16) / each : 1, used = 0;
    uint8_t *payload = calloc(1, size + 1), *frames = malloc(batch * each);
    for (size_t i = 0; i < batch && frames && payload; i++) {
        used += frame_put(frames + used, is_final | opcode_binary, payload, size, false);
    }
    size_t one = used / batch;
    while (count > 0) {
        size_t now = (long)batch < count ? batch : (size_t)count;
        if (!wire_write(wire, frames, now * one)) break;
        count -= (long)now;
    }
    uint8_t end[16];
    wire_write(wire, end, frame_put(end, is_final | opcode_close, (const uint8_t *)"\x03\xe8", 2, false));
    sink(wire);
    free(payload);
    free(frames);
}

static const char *field(const char *head, const char *name) {
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, strlen(name)) == 0) return line + 2 + strlen(name);
    }
    return NULL;
}

// /echo, /echo-deflate, /echo-deflate-reset, /sink, /source/SIZE/COUNT
static void answer(wire *wire, char *head) {
    char path[64] = "", accept[29], response[512];
    const char *key = field(head, "Sec-WebSocket-Key: ");
    if (!key || strlen(key) < 24 || sscanf(head, "GET %63s", path) != 1) return;
    accept_key(key, accept);
    const char *extension = "";
    if (strcmp(path, "/echo-deflate") == 0) extension = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    if (strcmp(path, "/echo-deflate-reset") == 0) {
        extension = "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; "
                    "server_no_context_takeover\r\n";
    }
    int length = snprintf(response, sizeof response,
                          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Accept: %s\r\n%s\r\n", accept, extension);
    if (!wire_write(wire, response, (size_t)length)) return;
    size_t size;
    long count;
    if (sscanf(path, "/source/%zu/%ld", &size, &count) == 2) feed(wire, size, count);
    else if (strcmp(path, "/sink") == 0) sink(wire);
    else echo(wire);
}

static void *connection(void *argument) {
    wire *wire = argument;
    char *head = wire_head(wire);
    if (head) answer(wire, head);
    shutdown(wire->socket, SHUT_WR);
    close(wire->socket);
    free(wire);
    return NULL;
}

static void *accept_all(void *listener) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 10);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (true) {
        int socket = accept(*(int *)listener, NULL, NULL);
        if (socket < 0) continue;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        wire *wire = calloc(1, sizeof *wire);
        pthread_t thread;
        if (wire) wire->socket = socket;
        if (!wire || pthread_create(&thread, &attributes, connection, wire) != 0) {
            close(socket);
            free(wire);
        }
    }
}

int serve(void) {
    static int listener;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1024) != 0
        || getsockname(listener, (struct sockaddr *)&address, &length) != 0
        || pthread_create(&thread, NULL, accept_all, &listener) != 0) {
        perror("websocket-floor");
        return 1;
    }
    printf("port=%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (getchar() != EOF) {}
    return 0;
}
