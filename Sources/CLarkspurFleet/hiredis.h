#pragma once

#include "include/CLarkspurFleet.h"

// The beginnings of libhiredis's structures, in both layouts.

typedef struct {
    int type;
    long long integer;
    size_t len;
    char *str;
    size_t elements;
    void **element;
} reply_0;

typedef struct {
    int type;
    long long integer;
    double dval;
    size_t len;
    char *str;
    char vtype[4];
    size_t elements;
    void **element;
} reply_1;

typedef struct {
    int err;
    char errstr[128];
    int fd;
    int flags;
    char *obuf;
    const void *reader;
} context_0;

typedef struct {
    const void *funcs;
    context_0 rest;
} context_1;

typedef struct {
    int err;
    char errstr[128];
    char *buf;
    size_t pos, len;
} reader_0;

enum { REDIS_OK = 0, REDIS_BLOCK = 1, REDIS_CONNECTED = 2 };

// TLS for a connection, which is in the file tls.c.
//
// libhiredis does not compare the server's name with its certificate. The handle is therefore made here, with the
// functions of the OpenSSL that the library uses.
void *clarkspur_tls_handle(const clarkspur_valkey_target *target);
int clarkspur_tls_begin(void *context, void *handle);
bool clarkspur_tls_is_done(const void *handle);
// The reason why the certificate is not trusted; NULL if it is.
const char *clarkspur_tls_distrust(const void *handle);
// Ends the use of a handle that no connection has.
void clarkspur_tls_free(void *handle);

// Makes the functions of the library visible to its part for TLS, which does not name the library itself.
// Returns the file's version, such as 1.1.0; NULL if there is none.
const char *clarkspur_hiredis_publish(void);
