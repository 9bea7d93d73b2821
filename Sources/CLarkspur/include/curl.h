#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The functions of libcurl, found at run time. This module declares libcurl's stable ABI itself, so it can be built
// without libcurl's headers and without the library.
//
// In a static build, the program contains libcurl, and the functions there are used. Otherwise the functions of
// `libcurl.so.4` are used. Call `clarkspur_curl_load` first: the functions that call libcurl require that it was
// successful.

// Chooses the libcurl of the process: the library with this path, or the system's if the path is NULL. The first call
// chooses, before libcurl is loaded. Returns whether this library is the chosen one.
bool clarkspur_curl_choose(const char *path);

// Loads libcurl. Returns NULL on success, otherwise a message that says what is missing. This function may be called on
// any thread, any number of times.
const char *clarkspur_curl_load(void);

// Returns the handle of libcurl's shared library, or NULL if there is none, as in a static build. Loads libcurl if
// necessary.
void *clarkspur_curl_library(void);

// Returns the handle for looking up functions of the OpenSSL that libcurl uses. Returns NULL if libcurl uses another
// TLS library, or if libcurl has no shared library. Loads libcurl if necessary.
void *clarkspur_curl_openssl(void);

typedef struct {
    // The version as libcurl encodes it: 0x075801 for 7.88.1.
    unsigned number;
    const char *text;
    // The TLS library and its version, or NULL.
    const char *tls;
    bool has_http2;
    bool has_http3;
} clarkspur_curl_version;

clarkspur_curl_version clarkspur_curl_get_version(void);

// A list of lines in libcurl's form (curl_slist). libcurl does not copy the list, so the list must live as long as the
// transfer.
typedef struct clarkspur_line {
    char *text;
    struct clarkspur_line *next;
} clarkspur_line;

// Functions of easy handles. `option` is a CURLoption and `info` a CURLINFO, as numbers. Setters return a CURLcode, 0
// for success.
void *clarkspur_easy_open(void);
void clarkspur_easy_close(void *easy);
int clarkspur_easy_set_long(void *easy, int option, long value);
int clarkspur_easy_set_offset(void *easy, int option, int64_t value);
int clarkspur_easy_set_pointer(void *easy, int option, const void *value);
int clarkspur_easy_set_function(void *easy, int option, void (*function)(void));
// If `is_copied` is false, the bytes must live as long as the handle.
int clarkspur_easy_set_blob(void *easy, int option, const void *bytes, size_t count, bool is_copied);
int clarkspur_easy_pause(void *easy, int directions);

// The connection of a handle with CURLOPT_CONNECT_ONLY. The functions return the number of bytes, or one of these
// values. 0 received bytes are the end of the peer's side.
enum { clarkspur_would_block = -1, clarkspur_lost = -2 };
// Returns the descriptor, or -1 if there is no connection.
int clarkspur_easy_socket(void *easy);
// If it would block, the next call must have the same bytes.
long clarkspur_easy_send(void *easy, const void *bytes, size_t count);
long clarkspur_easy_receive(void *easy, void *bytes, size_t capacity);
// The same for a connection without TLS, without libcurl's search for the connection.
long clarkspur_socket_send(int descriptor, const void *bytes, size_t count);
long clarkspur_socket_receive(int descriptor, void *bytes, size_t capacity);
long clarkspur_easy_long(void *easy, int info);
int64_t clarkspur_easy_offset(void *easy, int info);
const char *clarkspur_easy_text(void *easy, int info);
void *clarkspur_easy_pointer(void *easy, int info);
const char *clarkspur_easy_error(int code);

// URLs that libcurl has parsed (CURLU).
void *clarkspur_url_open(void);
void clarkspur_url_close(void *url);
// Returns false if libcurl does not accept the text as a URL.
bool clarkspur_url_set(void *url, const char *text);

// Callbacks. Each callback receives the context that was set together with it.
typedef size_t (*clarkspur_transfer_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*clarkspur_seek_function)(void *context, int64_t offset, int origin);
typedef int (*clarkspur_open_function)(void *context, int purpose, void *address);
typedef int (*clarkspur_close_function)(void *context, int descriptor);
typedef int (*clarkspur_request_function)(void *context, char *remote, char *local, int remote_port, int local_port);
typedef int (*clarkspur_progress_function)(void *context, int64_t, int64_t, int64_t, int64_t);
void clarkspur_easy_on_body(void *easy, clarkspur_transfer_function function, void *context);
void clarkspur_easy_on_header(void *easy, clarkspur_transfer_function function, void *context);
void clarkspur_easy_on_upload(void *easy, clarkspur_transfer_function function, void *context);
void clarkspur_easy_on_seek(void *easy, clarkspur_seek_function function, void *context);
// Sets the functions that open and close the sockets of connections; libcurl opens its other sockets itself. A
// connection can outlive the easy handle that opened it. `close_context` must therefore live as long as the connection.
void clarkspur_easy_on_sockets(
    void *easy, clarkspur_open_function open, void *open_context, clarkspur_close_function close, void *close_context);
// Opens a socket that child processes do not inherit. `address` is the address that libcurl passes to `open`. Returns
// the negated `errno` on failure. `user_timeout` is TCP_USER_TIMEOUT in milliseconds; 0 keeps the system's default.
int clarkspur_socket_open(const void *address, int user_timeout);
void clarkspur_socket_close(int descriptor);
bool clarkspur_socket_is_connected(int descriptor);
// Returns whether the connection is open and has no pending bytes.
bool clarkspur_socket_is_empty(int descriptor);
// Returns 0 if the socket has no local port.
int clarkspur_socket_local_port(int descriptor);
// Shuts the socket down in both directions if its local port and its remote address and port are the given values.
// Otherwise the call has no effect.
void clarkspur_socket_shut_down(int descriptor, int local_port, const char *remote_address, int remote_port);
// While CURLOPT_NOPROGRESS is 0, libcurl calls the function often. If the function returns a value other than 0, the
// transfer fails.
void clarkspur_easy_on_progress(void *easy, clarkspur_progress_function function, void *context);
// Sets the function that adds the fields after a body in chunks to a list; NULL if no fields follow. If it returns a
// value other than 0, the transfer fails.
typedef int (*clarkspur_trailers_function)(void **list, void *context);
void clarkspur_easy_on_trailers(void *easy, clarkspur_trailers_function function, void *context);
// Appends a copy of the line to the list. Returns false if there is no memory.
bool clarkspur_list_append(void **list, const char *line);
// Has no effect with versions of libcurl before 7.80, because they have no CURLOPT_PREREQFUNCTION.
void clarkspur_easy_on_request(void *easy, clarkspur_request_function function, void *context);

// Multi handles.
typedef int (*clarkspur_socket_function)(void *easy, int descriptor, int what, void *context, void *socket_context);
typedef int (*clarkspur_timer_function)(void *multi, long milliseconds, void *context);
// Opens a multi handle. Child processes inherit none of its descriptors.
void *clarkspur_multi_open(void);
void clarkspur_multi_close(void *multi);
int clarkspur_multi_set_long(void *multi, int option, long value);
void clarkspur_multi_on_socket(void *multi, clarkspur_socket_function function, void *context);
void clarkspur_multi_on_timer(void *multi, clarkspur_timer_function function, void *context);
int clarkspur_multi_add(void *multi, void *easy);
int clarkspur_multi_remove(void *multi, void *easy);
// Lets libcurl handle a socket that is ready (1: readable, 2: writable). If the descriptor is -1, libcurl handles its
// expired timers instead. The call receives no more than its share (see `share.h`).
int clarkspur_multi_act(void *multi, int descriptor, int ready);
// Returns the next easy handle whose transfer has ended, and stores the CURLcode of that transfer. Returns NULL if
// there is none.
void *clarkspur_multi_next_ended(void *multi, int *code);
