// A server whose HTTP/2 connections flood the client with frames, and a neighbour that answers HTTP/1 at once.
//
//   flooder [CERTIFICATE KEY]
//
// Prints a line `NAME PORT` for the neighbour and for each pattern. A connection to a pattern's port waits for a request,
// answers it with a head, and then sends the pattern's frames as fast as the client reads them. It keeps to the windows of
// flow control. With a certificate, the patterns speak TLS. The program ends when its input ends.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_HEADERS = 4, ACK = 1, PADDED = 8, head_size = 9, piece_size = 1 << 16 };

// A cycle is `repeats` control frames, then one DATA frame of `payload` bytes if `payload` is not 0.
typedef struct {
    const char *name;
    uint8_t type, flags;
    bool is_of_stream;
    uint8_t length, content[8];
    int repeats, payload;
    int pause;        // the time in microseconds between two cycles; 0 sends as fast as possible
    bool opens_head;  // whether the head of the response stays open
} pattern;

static const pattern patterns[] = {
    {"ping", PING, 0, false, 8, {0}, 1, 0, 0, false},
    {"ping-ack", PING, ACK, false, 8, {0}, 1, 0, 0, false},
    {"settings", SETTINGS, 0, false, 0, {0}, 1, 0, 0, false},
    {"window-update", WINDOW_UPDATE, 0, false, 4, {0, 0, 0, 1}, 1, 0, 0, false},
    {"priority", PRIORITY, 0, true, 5, {0, 0, 0, 0, 1}, 1, 0, 0, false},
    {"goaway", GOAWAY, 0, false, 8, {0x7F, 0xFF, 0xFF, 0xFF}, 1, 0, 0, false},
    {"unknown", 0xEE, 0, false, 0, {0}, 1, 0, 0, false},
    {"continuation", CONTINUATION, 0, true, 0, {0}, 1, 0, 0, true},
    {"empty-data", DATA, 0, true, 0, {0}, 1, 0, 0, false},
    {"padding", DATA, PADDED, true, 4, {3}, 1, 0, 0, false},
    {"9000-ping-1-byte", PING, 0, false, 8, {0}, 9000, 1, 0, false},
    {"9000-empty-1-byte", DATA, 0, true, 0, {0}, 9000, 1, 0, false},
    {"9000-unknown-1-byte", 0xEE, 0, false, 0, {0}, 9000, 1, 0, false},
    // These patterns are no attack by themselves: the client has to go on.
    {"32-update-1-kib", WINDOW_UPDATE, 0, false, 4, {0, 0, 0, 1}, 32, 1024, 0, false},
    {"1-byte", PING, 0, false, 8, {0}, 0, 1, 0, false},
    {"40-bytes", PING, 0, false, 8, {0}, 0, 40, 0, false},
    {"events", PING, 0, false, 8, {0}, 0, 20, 1000, false},
};
enum { pattern_count = sizeof patterns / sizeof *patterns };

// MARK: TLS, bound at run time, so that no header is needed

#define FUNCTIONS(F) \
    F(TLS_server_method, const void *, (void)) \
    F(SSL_CTX_new, void *, (const void *)) \
    F(SSL_CTX_use_certificate_chain_file, int, (void *, const char *)) \
    F(SSL_CTX_use_PrivateKey_file, int, (void *, const char *, int)) \
    F(SSL_CTX_ctrl, long, (void *, int, long, void *)) \
    F(SSL_CTX_set_alpn_select_cb, void, \
        (void *, int (*)(void *, const uint8_t **, uint8_t *, const uint8_t *, unsigned, void *), void *)) \
    F(SSL_new, void *, (void *)) \
    F(SSL_set_fd, int, (void *, int)) \
    F(SSL_accept, int, (void *)) \
    F(SSL_read, int, (void *, void *, int)) \
    F(SSL_write, int, (void *, const void *, int)) \
    F(SSL_get_error, int, (const void *, int)) \
    F(SSL_free, void, (void *))
#define MEMBER(name, result, parameters) result(*name) parameters;
static struct {
    FUNCTIONS(MEMBER)
} tls;
static void *tls_context;

static int choose_h2(void *ssl, const uint8_t **name, uint8_t *length, const uint8_t *names, unsigned count, void *context) {
    (void)ssl, (void)names, (void)count, (void)context;
    *name = (const uint8_t *)"h2";
    *length = 2;
    return 0;
}

static void set_up_tls(const char *certificate, const char *key) {
    const int SSL_CTRL_MODE = 33, SSL_FILETYPE_PEM = 1;
    const long PARTIAL_WRITE_AND_MOVING_BUFFER = 3;
    void *library = dlopen("libssl.so.3", RTLD_NOW);
    if (!library) { library = dlopen("libssl.so.1.1", RTLD_NOW); }
    if (!library) { exit(fprintf(stderr, "there is no libssl\n")); }
#define BIND(name, result, parameters) *(void **)&tls.name = dlsym(library, #name);
    FUNCTIONS(BIND)
    tls_context = tls.SSL_CTX_new(tls.TLS_server_method());
    if (tls.SSL_CTX_use_certificate_chain_file(tls_context, certificate) != 1
        || tls.SSL_CTX_use_PrivateKey_file(tls_context, key, SSL_FILETYPE_PEM) != 1) {
        exit(fprintf(stderr, "the certificate cannot be read\n"));
    }
    tls.SSL_CTX_set_alpn_select_cb(tls_context, choose_h2, NULL);
    tls.SSL_CTX_ctrl(tls_context, SSL_CTRL_MODE, PARTIAL_WRITE_AND_MOVING_BUFFER, NULL);
}

// MARK: A connection

typedef struct {
    int descriptor;
    const pattern *pattern;
    void *ssl;
    uint8_t input[1 << 17];
    size_t input_size;
    bool has_preface;
    uint32_t stream;            // of the request; 0 before it has arrived
    long window, stream_window; // the bytes of DATA that the client takes
    long initial_window;
} connection;

// Returns the number of bytes; 0 if the connection would block, -1 if it has ended.
static long result_of(connection *wire, long count) {
    if (count > 0) { return count; }
    const int SSL_ERROR_WANT_READ = 2, SSL_ERROR_WANT_WRITE = 3;
    if (!wire->ssl) { return count < 0 ? 0 : -1; }
    int error = tls.SSL_get_error(wire->ssl, (int)count);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static long receive_some(connection *wire, void *bytes, size_t size) {
    return result_of(wire, wire->ssl ? tls.SSL_read(wire->ssl, bytes, (int)size) : recv(wire->descriptor, bytes, size, 0));
}

static long send_some(connection *wire, const void *bytes, size_t size) {
    return result_of(wire, wire->ssl ? tls.SSL_write(wire->ssl, bytes, (int)size) : send(wire->descriptor, bytes, size, 0));
}

static bool is_ready(connection *wire, short events, int milliseconds) {
    struct pollfd poller = {.fd = wire->descriptor, .events = events};
    poll(&poller, 1, milliseconds);
    return !(poller.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static uint32_t number_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Returns false if the client gives up the request or the connection.
static bool take_frame(connection *wire, const uint8_t *frame, size_t length) {
    uint32_t stream = number_at(frame + 5) & 0x7FFFFFFF;
    const uint8_t *content = frame + head_size;
    switch (frame[3]) {
    case HEADERS: wire->stream = stream; break;
    case RST_STREAM:
    case GOAWAY: return false;
    case WINDOW_UPDATE:
        if (length == 4) { *(stream ? &wire->stream_window : &wire->window) += number_at(content) & 0x7FFFFFFF; }
        break;
    case SETTINGS:
        for (size_t at = 0; at + 6 <= length; at += 6) {
            if (content[at] != 0 || content[at + 1] != 4) { continue; }  // SETTINGS_INITIAL_WINDOW_SIZE
            long value = number_at(content + at + 2);
            wire->stream_window += value - wire->initial_window;
            wire->initial_window = value;
        }
        break;
    default: break;
    }
    return true;
}

// Reads everything that has arrived. Returns false if the flood is over.
static bool take_input(connection *wire) {
    for (;;) {
        long count = receive_some(wire, wire->input + wire->input_size, sizeof wire->input - wire->input_size);
        if (count < 0) { return false; }
        if (count == 0) { return true; }
        wire->input_size += (size_t)count;
        size_t taken = 0;
        if (!wire->has_preface && wire->input_size >= 24) {
            wire->has_preface = true;
            taken = 24;
        }
        while (wire->has_preface && wire->input_size - taken >= head_size) {
            const uint8_t *frame = wire->input + taken;
            size_t length = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
            if (wire->input_size - taken < head_size + length) { break; }
            if (!take_frame(wire, frame, length)) { return false; }
            taken += head_size + length;
        }
        memmove(wire->input, wire->input + taken, wire->input_size - taken);
        wire->input_size -= taken;
    }
}

static bool send_all(connection *wire, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        if (!take_input(wire)) { return false; }
        long count = send_some(wire, bytes, size);
        if (count < 0 || (count == 0 && !is_ready(wire, POLLIN | POLLOUT, 1000))) { return false; }
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

static uint8_t *put_frame(uint8_t *at, uint8_t type, uint8_t flags, uint32_t stream, const uint8_t *content, uint32_t length) {
    const uint8_t head[head_size] = {
        (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length, type, flags,
        (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    memcpy(at, head, head_size);
    if (content) { memcpy(at + head_size, content, length); } else { memset(at + head_size, 'x', length); }
    return at + head_size + length;
}

static void flood(connection *wire) {
    const pattern *pattern = wire->pattern;
    const uint8_t status_200 = 0x88;
    uint8_t start[64], *end = put_frame(start, SETTINGS, 0, 0, NULL, 0);
    end = put_frame(end, SETTINGS, ACK, 0, NULL, 0);
    if (!send_all(wire, start, (size_t)(end - start))) { return; }
    while (wire->stream == 0) {
        if (!is_ready(wire, POLLIN, 10000) || !take_input(wire)) { return; }
    }
    end = put_frame(start, HEADERS, pattern->opens_head ? 0 : END_HEADERS, wire->stream, &status_200, 1);
    if (!send_all(wire, start, (size_t)(end - start))) { return; }

    size_t frame_size = head_size + pattern->length, data_size = pattern->payload ? head_size + (size_t)pattern->payload : 0;
    size_t cycle_size = (size_t)pattern->repeats * frame_size + data_size;
    size_t cycles = pattern->pause ? 1 : (piece_size + cycle_size - 1) / cycle_size;
    uint8_t *piece = malloc(cycles * cycle_size);
    end = piece;
    for (size_t cycle = 0; cycle < cycles; cycle += 1) {
        for (int index = 0; index < pattern->repeats; index += 1) {
            uint32_t stream = pattern->is_of_stream ? wire->stream : 0;
            end = put_frame(end, pattern->type, pattern->flags, stream, pattern->content, pattern->length);
        }
        if (pattern->payload) { end = put_frame(end, DATA, 0, wire->stream, NULL, (uint32_t)pattern->payload); }
    }
    // Padding and its length count for the windows too.
    long need = (long)cycles * (pattern->payload + (pattern->type == DATA ? pattern->repeats * pattern->length : 0));
    for (;;) {
        while (wire->window < need || wire->stream_window < need) {
            if (!is_ready(wire, POLLIN, 60000) || !take_input(wire)) { goto over; }
        }
        wire->window -= need;
        wire->stream_window -= need;
        if (!send_all(wire, piece, (size_t)(end - piece))) { break; }
        if (pattern->pause) { nanosleep(&(struct timespec){.tv_nsec = pattern->pause * 1000L}, NULL); }
    }
over:
    free(piece);
}

static void *run_flood(void *context) {
    connection *wire = context;
    bool is_open = true;
    if (tls_context) {
        wire->ssl = tls.SSL_new(tls_context);
        is_open = tls.SSL_set_fd(wire->ssl, wire->descriptor) == 1 && tls.SSL_accept(wire->ssl) == 1;
    }
    fcntl(wire->descriptor, F_SETFL, O_NONBLOCK);
    if (is_open) { flood(wire); }
    if (wire->ssl) { tls.SSL_free(wire->ssl); }
    close(wire->descriptor);
    free(wire);
    return NULL;
}

// Answers each request of an HTTP/1 connection at once. A request has no body.
static void *run_neighbour(void *context) {
    connection *wire = context;
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    long count;
    while ((count = recv(wire->descriptor, wire->input + wire->input_size, sizeof wire->input - wire->input_size, 0)) > 0) {
        wire->input_size += (size_t)count;
        if (!memmem(wire->input, wire->input_size, "\r\n\r\n", 4)) { continue; }
        wire->input_size = 0;
        if (send(wire->descriptor, answer, strlen(answer), 0) < 0) { break; }
    }
    close(wire->descriptor);
    free(wire);
    return NULL;
}

// MARK: Listening

typedef struct {
    int descriptor;
    const pattern *pattern;  // NULL for the neighbour
} listener;

static void start_thread(void *(*run)(void *), void *context) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, context) != 0) { exit(fprintf(stderr, "there is no thread\n")); }
    pthread_detach(thread);
}

static void *run_listener(void *context) {
    const listener *listener = context;
    int descriptor;
    while ((descriptor = accept(listener->descriptor, NULL, NULL)) >= 0) {
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        connection *wire = calloc(1, sizeof *wire);
        wire->descriptor = descriptor;
        wire->pattern = listener->pattern;
        wire->window = wire->stream_window = wire->initial_window = 65535;
        start_thread(listener->pattern ? run_flood : run_neighbour, wire);
    }
    return NULL;
}

static void start_listener(const pattern *pattern) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener *listener = calloc(1, sizeof *listener);
    listener->pattern = pattern;
    listener->descriptor = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener->descriptor, (struct sockaddr *)&address, size) != 0 || listen(listener->descriptor, 128) != 0
        || getsockname(listener->descriptor, (struct sockaddr *)&address, &size) != 0) {
        exit(fprintf(stderr, "there is no port\n"));
    }
    printf("%s %d\n", pattern ? pattern->name : "neighbour", ntohs(address.sin_port));
    start_thread(run_listener, listener);
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    if (count == 3) { set_up_tls(arguments[1], arguments[2]); }
    start_listener(NULL);
    for (int index = 0; index < pattern_count; index += 1) { start_listener(&patterns[index]); }
    fclose(stdout);
    while (getchar() != EOF) {}
    return 0;
}
