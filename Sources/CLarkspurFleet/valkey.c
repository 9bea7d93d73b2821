#define _GNU_SOURCE
#include "../CLarkspur/binding.h"
#include "hiredis.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS(F) \
    F(redisReaderCreate, void *, (void)) \
    F(redisReaderFree, void, (void *)) \
    F(redisReaderFeed, int, (void *, const char *, size_t)) \
    F(redisReaderGetReply, int, (void *, void **)) \
    F(freeReplyObject, void, (void *)) \
    F(redisConnectFd, void *, (int)) \
    F(redisFree, void, (void *)) \
    F(redisAppendCommandArgv, int, (void *, int, const char **, const size_t *)) \
    F(redisBufferRead, int, (void *)) \
    F(redisBufferWrite, int, (void *, int *)) \
    F(redisGetReplyFromReader, int, (void *, void **))

// The versions that libraries have in their file's name, the newest one first.
static const char *const versions[] = {"1.3.0", "1.2.0", "1.1.0", "1.0.0", "1", "0.14"};
static const char *found_version;
static char found_name[64];

static void *open_hiredis(void) {
    for (size_t index = 0; index < sizeof versions / sizeof *versions; index++) {
#if defined(__APPLE__)
        snprintf(found_name, sizeof found_name, "libhiredis.%s.dylib", versions[index]);
#else
        snprintf(found_name, sizeof found_name, "libhiredis.so.%s", versions[index]);
#endif
        void *library = open_library(found_name);
        if (library) {
            found_version = versions[index];
            return library;
        }
    }
    return NULL;
}

DEFINE_TABLE(open_hiredis(), BIND)

const char *clarkspur_hiredis_publish(void) {
    if (!is_bound()) { return NULL; }
    static const char *const folders[] = LIBRARY_FOLDERS;
    for (size_t index = 0; index < sizeof folders / sizeof *folders; index++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", folders[index], found_name);
        if (dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD)) { return found_version; }
    }
    return NULL;
}

// MARK: Layout

static clarkspur_hiredis_kind kind = clarkspur_hiredis_missing;
static pthread_once_t kind_once = PTHREAD_ONCE_INIT;

// The layouts differ from the third member on: the length in 0.14, and a number that is zero for strings in 1.x.
static void probe(void) {
    if (!is_bound()) { return; }
    kind = clarkspur_hiredis_unknown;
    void *reader = bound.redisReaderCreate();
    void *reply = NULL;
    if (!reader) { return; }
    if (bound.redisReaderFeed(reader, "$3\r\nabc\r\n", 9) == REDIS_OK
        && bound.redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
        const reply_0 *old = reply;
        const reply_1 *new = reply;
        if (old->type != clarkspur_reply_string) {
            kind = clarkspur_hiredis_unknown;
        } else if (old->len == 3 && memcmp(old->str, "abc", 4) == 0) {
            kind = clarkspur_hiredis_0;
        } else if (old->len == 0 && new->len == 3 && memcmp(new->str, "abc", 4) == 0) {
            kind = clarkspur_hiredis_1;
        }
    }
    if (reply) { bound.freeReplyObject(reply); }
    bound.redisReaderFree(reader);
}

clarkspur_hiredis_kind clarkspur_hiredis(void) {
    pthread_once(&kind_once, probe);
    return kind;
}

clarkspur_valkey_reply clarkspur_valkey_read(const void *reply) {
    clarkspur_valkey_reply result = {0};
    if (kind == clarkspur_hiredis_0) {
        const reply_0 *old = reply;
        result = (clarkspur_valkey_reply){old->type, old->integer, old->str, old->len, old->elements};
    } else {
        const reply_1 *new = reply;
        result = (clarkspur_valkey_reply){new->type, new->integer, new->str, new->len, new->elements};
    }
    if (result.type != clarkspur_reply_array) { result.count = 0; }
    if (!result.text) { result.length = 0; }
    return result;
}

const void *clarkspur_valkey_element(const void *reply, size_t index) {
    return kind == clarkspur_hiredis_0 ? ((const reply_0 *)reply)->element[index]
                                       : ((const reply_1 *)reply)->element[index];
}

void clarkspur_valkey_free(void *reply) { bound.freeReplyObject(reply); }

// MARK: Connecting

struct clarkspur_valkey {
    void *context;
    // The part of the context that both layouts have.
    context_0 *state;
    int socket;
    bool has_output;
    clarkspur_reply_scan scan;
    char problem[clarkspur_valkey_problem_length];
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Waits for events until the time. Returns false with `errno` if there are none.
static bool wait_for(int file, short events, int64_t end) {
    for (;;) {
        int64_t left = end - now();
        struct pollfd polled = {.fd = file, .events = events};
        int count = left > 0 ? poll(&polled, 1, (int)left) : 0;
        if (count > 0) { return true; }
        if (count == 0) { errno = ETIMEDOUT; }
        if (count == 0 || errno != EINTR) { return false; }
    }
}

static bool set_up_socket(int file) {
    int on = 1;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    setsockopt(file, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return fcntl(file, F_SETFD, FD_CLOEXEC) == 0 && fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK) == 0;
}

static int connect_to(const struct addrinfo *address, int64_t end) {
    int file = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (file < 0) { return -1; }
    bool is_connected = set_up_socket(file)
        && (connect(file, address->ai_addr, address->ai_addrlen) == 0
            || (errno == EINPROGRESS && wait_for(file, POLLOUT, end)));
    int error = is_connected ? 0 : errno;
    socklen_t length = sizeof error;
    if (is_connected && getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) { return file; }
    close(file);
    errno = error;
    return -1;
}

static void describe(char *problem, const char *text) {
    snprintf(problem, clarkspur_valkey_problem_length, "%s", text);
}

// Returns -1 and describes the problem if no address accepts a connection.
static int open_socket(const clarkspur_valkey_target *target, char *problem) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses = NULL;
    int result = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (result != 0) {
        describe(problem, gai_strerror(result));
        return -1;
    }
    int left = 0;
    for (struct addrinfo *one = addresses; one; one = one->ai_next) { left++; }
    int file = -1;
    int64_t end = now() + target->milliseconds;
    for (struct addrinfo *one = addresses; one && file < 0; one = one->ai_next, left--) {
        file = connect_to(one, now() + (end - now()) / left);
        if (file < 0) { describe(problem, strerror(errno)); }
    }
    freeaddrinfo(addresses);
    return file;
}

// Makes libhiredis never block: clears the flag that `redisConnectFd` has set.
static bool find_state(clarkspur_valkey *connection) {
    context_0 *candidates[] = {connection->context, &((context_1 *)connection->context)->rest};
    context_0 *state = candidates[kind == clarkspur_hiredis_1];
    if (state->fd != connection->socket || state->flags != (REDIS_BLOCK | REDIS_CONNECTED)) { return false; }
    state->flags &= ~REDIS_BLOCK;
    connection->state = state;
    return true;
}

static bool shake_hands(
    clarkspur_valkey *connection, const clarkspur_valkey_target *target, char *problem, bool *is_lasting) {
    void *handle = clarkspur_tls_handle(target);
    if (!handle) {
        *is_lasting = true;
        describe(problem, "the certificate authorities cannot be read");
        return false;
    }
    if (clarkspur_tls_begin(connection->context, handle) != REDIS_OK) {
        describe(problem, connection->state->errstr);
        clarkspur_tls_free(handle);
        return false;
    }
    // The connection owns the handle.
    int64_t end = now() + target->milliseconds;
    while (!clarkspur_tls_is_done(handle)) {
        if (!wait_for(connection->socket, POLLIN, end)) {
            describe(problem, strerror(errno));
            return false;
        }
        if (bound.redisBufferRead(connection->context) == REDIS_OK) { continue; }
        const char *distrust = clarkspur_tls_distrust(handle);
        *is_lasting = distrust != NULL;
        describe(problem, distrust ? distrust : connection->state->errstr);
        return false;
    }
    // Bytes that come with the handshake would not be checked.
    const reader_0 *reader = connection->state->reader;
    if (reader->len > 0) { describe(problem, "Protocol error, the server has sent a reply without a command"); }
    return reader->len == 0;
}

clarkspur_valkey *clarkspur_valkey_connect(const clarkspur_valkey_target *target, char *problem, bool *is_lasting) {
    *is_lasting = false;
    describe(problem, "no memory is left");
    if (clarkspur_hiredis() < clarkspur_hiredis_0) { return NULL; }
    clarkspur_valkey *connection = calloc(1, sizeof *connection);
    if (!connection) { return NULL; }
    connection->socket = open_socket(target, problem);
    if (connection->socket >= 0) { connection->context = bound.redisConnectFd(connection->socket); }
    if (!connection->context) {
        if (connection->socket >= 0) { close(connection->socket); }
        free(connection);
        return NULL;
    }
    if (!find_state(connection)) {
        *is_lasting = true;
        describe(problem, "this version of libhiredis is not supported");
    } else if (!target->uses_tls || shake_hands(connection, target, problem, is_lasting)) {
        return connection;
    }
    clarkspur_valkey_close(connection);
    return NULL;
}

void clarkspur_valkey_close(clarkspur_valkey *connection) {
    bound.redisFree(connection->context);  // it closes the socket too
    free(connection);
}

// MARK: Commands and replies

bool clarkspur_valkey_append(clarkspur_valkey *connection, int count, const char **parts, const size_t *lengths) {
    connection->has_output = true;
    return bound.redisAppendCommandArgv(connection->context, count, parts, lengths) == REDIS_OK;
}

bool clarkspur_valkey_has_output(const clarkspur_valkey *connection) { return connection->has_output; }

const char *clarkspur_valkey_problem(const clarkspur_valkey *connection) { return connection->problem; }

static bool send_output(clarkspur_valkey *connection) {
    int is_done = 0;
    if (!connection->has_output) { return true; }
    if (bound.redisBufferWrite(connection->context, &is_done) != REDIS_OK) { return false; }
    connection->has_output = !is_done;
    return true;
}

static bool fail(clarkspur_valkey *connection) {
    describe(connection->problem, connection->state->errstr);
    return false;
}

bool clarkspur_valkey_turn(clarkspur_valkey *connection, int wake, int milliseconds) {
    if (connection && !send_output(connection)) { return fail(connection); }
    struct pollfd files[2] = {{.fd = wake, .events = POLLIN}, {.fd = -1}};
    if (connection) {
        files[1].fd = connection->socket;
        files[1].events = connection->has_output ? POLLIN | POLLOUT : POLLIN;
    }
    if (poll(files, 2, milliseconds) <= 0) { return true; }
    char bytes[256];
    while (files[0].revents && read(wake, bytes, sizeof bytes) == sizeof bytes) {}
    if (!(files[1].revents & (POLLIN | POLLHUP | POLLERR))) { return true; }
    const reader_0 *reader = connection->state->reader;  // both layouts begin like this one
    size_t before = reader->len;
    if (bound.redisBufferRead(connection->context) != REDIS_OK) { return fail(connection); }
    const char *problem = clarkspur_scan_replies(&connection->scan, reader->buf + before, reader->len - before);
    if (problem) { describe(connection->problem, problem); }
    return !problem;
}

void *clarkspur_valkey_next(clarkspur_valkey *connection, bool *is_valid) {
    void *reply = NULL;
    *is_valid = bound.redisGetReplyFromReader(connection->context, &reply) == REDIS_OK;
    if (!*is_valid) { fail(connection); }
    return reply;
}

// MARK: Threads

typedef struct {
    void (*run)(void *);
    void *context;
} thread_start;

static void *run_thread(void *argument) {
    thread_start start = *(thread_start *)argument;
    free(argument);
    start.run(start.context);
    return NULL;
}

bool clarkspur_start_thread(void (*run)(void *), void *context) {
    thread_start *start = malloc(sizeof *start);
    if (!start) { return false; }
    *start = (thread_start){run, context};
    // The new thread inherits the mask.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    bool is_started = pthread_create(&thread, &attributes, run_thread, start) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_started) { free(start); }
    return is_started;
}

bool clarkspur_make_pipe(int ends[2]) {
    if (pipe(ends) != 0) { return false; }
    for (int index = 0; index < 2; index++) {
        fcntl(ends[index], F_SETFD, FD_CLOEXEC);
        fcntl(ends[index], F_SETFL, fcntl(ends[index], F_GETFL) | O_NONBLOCK);
    }
    return true;
}

void clarkspur_wake(int end) {
    // A full pipe wakes the thread too.
    ssize_t ignored = write(end, "", 1);
    (void)ignored;
}

void clarkspur_close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}
