#ifndef FLOOR_LIBCURL_H
#define FLOOR_LIBCURL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The part of libcurl's binary interface that the loops need. It is declared here and bound with dlopen, so that a
// build needs neither libcurl's header nor the library.

typedef struct {
    int message;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} curl_message;

enum {
    curlopt_writedata = 10001,
    curlopt_url = 10002,
    curlopt_readdata = 10009,
    curlopt_writefunction = 20011,
    curlopt_readfunction = 20012,
    curlopt_httpheader = 10023,
    curlopt_upload = 46,
    curlopt_cainfo = 10065,
    curlopt_http_version = 84,
    curlopt_buffersize = 98,
    curlopt_nosignal = 99,
    curlopt_private = 10103,
    curlopt_infilesize_large = 30115,
    curlopt_opensocketfunction = 20163,
    curlopt_opensocketdata = 10164,
    curlopt_proxy = 10004,
    curlopt_closesocketfunction = 20208,
    curlopt_closesocketdata = 10209,
    curlopt_pipewait = 237,
    curlopt_upload_buffersize = 280,

    curlmopt_socketfunction = 20001,
    curlmopt_socketdata = 10002,
    curlmopt_timerfunction = 20004,
    curlmopt_timerdata = 10005,
    curlmopt_maxconnects = 6,

    curlinfo_response_code = 0x200002,
    curlinfo_private = 0x100015,

    curl_poll_in = 1,
    curl_poll_out = 2,
    curl_poll_remove = 4,
    curl_select_in = 1,
    curl_select_out = 2,
    curl_socket_timeout = -1,

    curl_http_1_1 = 2,
    curl_http_2_tls = 4,
    curl_http_2_prior_knowledge = 5,
};

typedef struct {
    int (*global_init)(long flags);
    char *(*version)(void);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *easy, int option, ...);
    int (*easy_getinfo)(void *easy, int info, ...);
    void (*easy_cleanup)(void *easy);
    void *(*slist_append)(void *list, const char *line);
    void *(*multi_init)(void);
    int (*multi_setopt)(void *multi, int option, ...);
    int (*multi_add_handle)(void *multi, void *easy);
    int (*multi_remove_handle)(void *multi, void *easy);
    int (*multi_perform)(void *multi, int *running);
    int (*multi_poll)(void *multi, void *extra, unsigned count, int milliseconds, int *ready);
    int (*multi_socket_action)(void *multi, int socket, int events, int *running);
    curl_message *(*multi_info_read)(void *multi, int *left);
    int (*multi_cleanup)(void *multi);
} libcurl;

extern libcurl curl;

// Returns false, and prints a line to standard error, if libcurl is missing.
bool libcurl_load(void);

#endif
