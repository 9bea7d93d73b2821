#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Connections to Valkey and Redis over libhiredis. As for libcurl, this module finds the functions at run time and
// declares the stable ABIs itself, so a build needs no headers. A connection belongs to one thread at a time, which
// blocks SIGPIPE: `clarkspur_start_thread` starts such a thread.

typedef enum {
    clarkspur_hiredis_missing,
    // The library was found, but its structures are not those of 0.14 or 1.x.
    clarkspur_hiredis_unknown,
    clarkspur_hiredis_0,
    clarkspur_hiredis_1,
} clarkspur_hiredis_kind;

// Finds the library. The kind is found by parsing a reply, not by the library's name.
clarkspur_hiredis_kind clarkspur_hiredis(void);

// Returns whether the library's part for TLS, which versions before 1.0 lack, and OpenSSL were found.
bool clarkspur_hiredis_has_tls(void);

enum { clarkspur_valkey_problem_length = 256 };

typedef struct {
    const char *host;
    const char *port;
    bool uses_tls;
    // A PEM file of certificate authorities; NULL for those of the system.
    const char *authorities;
    // The time limit of connecting and of the TLS handshake. The name's resolution comes on top.
    int milliseconds;
} clarkspur_valkey_target;

typedef struct clarkspur_valkey clarkspur_valkey;

// Connects, and waits for it. Returns NULL if it fails, and then describes the problem. `is_lasting` tells whether
// another attempt is useless: a server's certificate is not trusted.
clarkspur_valkey *clarkspur_valkey_connect(const clarkspur_valkey_target *target, char *problem, bool *is_lasting);
void clarkspur_valkey_close(clarkspur_valkey *connection);

// Adds a command to the output. Returns false if no memory is left.
bool clarkspur_valkey_append(clarkspur_valkey *connection, int count, const char **parts, const size_t *lengths);

// Returns whether a part of the output has not been sent.
bool clarkspur_valkey_has_output(const clarkspur_valkey *connection);

// Sends and receives what is possible. Waits at most for the time, for bytes of the server, for room for more output,
// or for a byte of the pipe `wake`, which is then emptied. The connection may be NULL, and `wake` may be -1. Returns
// false if the connection has failed.
bool clarkspur_valkey_turn(clarkspur_valkey *connection, int wake, int milliseconds);

// Takes the next reply out of the received bytes. NULL if there is no complete one. `is_valid` is false if the bytes
// are not of the protocol.
void *clarkspur_valkey_next(clarkspur_valkey *connection, bool *is_valid);

// The description of the connection's failure.
const char *clarkspur_valkey_problem(const clarkspur_valkey *connection);

// The limits of replies. libhiredis takes memory for each length that a server names, before the bytes arrive, and
// releases nested arrays by recursion. So the bytes are checked before it reads them.
enum { clarkspur_maximum_depth = 32 };

// The state between two parts of the input. All members are zero at first.
typedef struct {
    // The bytes and the lines of the reply so far.
    size_t bytes, parts;
    // The missing elements of the arrays around the next line.
    int64_t left[clarkspur_maximum_depth];
    int depth;
    // The missing bytes of a text with a length, including the end of its line.
    size_t rest;
    // The line so far, or its beginning, and its last byte.
    char line[24];
    size_t length;
    char last;
} clarkspur_reply_scan;

// Checks the next bytes. Returns NULL, or why they are refused: a reply is not of RESP2, longer than a value can be, has
// too many parts, or too many arrays in each other.
const char *clarkspur_scan_replies(clarkspur_reply_scan *scan, const char *bytes, size_t count);

// The official numbers of REDIS_REPLY_….
enum {
    clarkspur_reply_string = 1,
    clarkspur_reply_array = 2,
    clarkspur_reply_integer = 3,
    clarkspur_reply_nil = 4,
    clarkspur_reply_status = 5,
    clarkspur_reply_error = 6,
};

typedef struct {
    int type;
    int64_t integer;
    const char *text;
    size_t length;
    size_t count;
} clarkspur_valkey_reply;

clarkspur_valkey_reply clarkspur_valkey_read(const void *reply);
const void *clarkspur_valkey_element(const void *reply, size_t index);
void clarkspur_valkey_free(void *reply);

// Starts a detached thread that blocks all signals.
bool clarkspur_start_thread(void (*run)(void *), void *context);

// A pipe to wake a thread in `clarkspur_valkey_turn`: the first end is read, the second one written.
bool clarkspur_make_pipe(int ends[2]);
void clarkspur_wake(int end);
void clarkspur_close_pipe(const int ends[2]);
