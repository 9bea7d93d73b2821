#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// libcurl, bound at run time: our own declarations of its stable ABI, no header and no link-time dependency.
//
// Functions are taken from the process if it has them already (a static build), or else from `libcurl.so.4`. Everything
// here but `clarkspur_curl_load` needs a successful load first.

// NULL if libcurl is here and fit for use; otherwise what is missing, for a person to read. Any thread, any number of
// times.
const char *clarkspur_curl_load(void);

// The handle of the library; NULL if libcurl is part of this process. Loads libcurl if that has not happened yet.
void *clarkspur_curl_library(void);

// The handle to look up OpenSSL's functions with, those that libcurl itself uses; NULL if its TLS is another library's, or
// part of this process. Loads libcurl if that has not happened yet.
void *clarkspur_curl_openssl(void);

typedef struct {
    // 0x075801 for 7.88.1
    unsigned number;
    const char *text;
    bool has_http2;
} clarkspur_curl_version;

clarkspur_curl_version clarkspur_curl_get_version(void);

// A list of lines as libcurl takes it: not copied, so it lives as long as the transfer.
typedef struct clarkspur_line {
    char *text;
    struct clarkspur_line *next;
} clarkspur_line;

// Easy handles. Options and infos go by libcurl's numbers; setting one returns a CURLcode, 0 for success.
void *clarkspur_easy_open(void);
void clarkspur_easy_close(void *easy);
int clarkspur_easy_set_long(void *easy, int option, long value);
int clarkspur_easy_set_offset(void *easy, int option, int64_t value);
int clarkspur_easy_set_pointer(void *easy, int option, const void *value);
int clarkspur_easy_set_function(void *easy, int option, void (*function)(void));
// Bytes that libcurl does not copy live as long as the handle.
int clarkspur_easy_set_blob(void *easy, int option, const void *bytes, size_t count, bool is_copied);
int clarkspur_easy_pause(void *easy, int directions);
long clarkspur_easy_long(void *easy, int info);
int64_t clarkspur_easy_offset(void *easy, int info);
const char *clarkspur_easy_text(void *easy, int info);
void *clarkspur_easy_pointer(void *easy, int info);
const char *clarkspur_easy_error(int code);

// URLs as libcurl keeps them parsed.
void *clarkspur_url_open(void);
void clarkspur_url_close(void *url);
// False if the text is no URL to libcurl.
bool clarkspur_url_set(void *url, const char *text);

// Callbacks, each with the pointer that it is to be given.
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
// The functions open and close the sockets of connections themselves; libcurl's other sockets do not come this way. A
// connection outlives the easy handle that opened it, and so must the context that its socket is closed with.
void clarkspur_easy_on_sockets(
    void *easy, clarkspur_open_function open, void *open_context, clarkspur_close_function close, void *close_context);
// The socket that such a function is asked for, closed in child processes; minus the error's number if there is none.
// The timeout, in milliseconds, is TCP_USER_TIMEOUT; 0 leaves the system's.
int clarkspur_socket_open(const void *address, int user_timeout);
void clarkspur_socket_close(int descriptor);
bool clarkspur_socket_is_connected(int descriptor);
// 0 if it has none.
int clarkspur_socket_local_port(int descriptor);
// Ends the connection of the socket in both directions, if it is the one between these ends.
void clarkspur_socket_shut_down(int descriptor, int local_port, const char *remote_address, int remote_port);
// libcurl calls the function, often, while its option NOPROGRESS is 0. The transfer ends if it returns another number than 0.
void clarkspur_easy_on_progress(void *easy, clarkspur_progress_function function, void *context);
// Does nothing if this libcurl is too old to tell (before 7.80).
void clarkspur_easy_on_request(void *easy, clarkspur_request_function function, void *context);

// Multi handles.
typedef int (*clarkspur_socket_function)(void *easy, int descriptor, int what, void *context, void *socket_context);
typedef int (*clarkspur_timer_function)(void *multi, long milliseconds, void *context);
// None of its descriptors is inherited by child processes.
void *clarkspur_multi_open(void);
void clarkspur_multi_close(void *multi);
int clarkspur_multi_set_long(void *multi, int option, long value);
void clarkspur_multi_on_socket(void *multi, clarkspur_socket_function function, void *context);
void clarkspur_multi_on_timer(void *multi, clarkspur_timer_function function, void *context);
int clarkspur_multi_add(void *multi, void *easy);
int clarkspur_multi_remove(void *multi, void *easy);
// Lets libcurl work on a socket that is ready (1: to read, 2: to write), or on what is due if the socket is -1.
int clarkspur_multi_act(void *multi, int descriptor, int ready);
// The next easy handle that has ended, with its CURLcode; NULL if there is none.
void *clarkspur_multi_next_ended(void *multi, int *code);
