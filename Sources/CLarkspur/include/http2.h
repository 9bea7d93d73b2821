#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Watches the HTTP/2 sessions that libcurl opens with nghttp2.
//
// libcurl does not report all that nghttp2 tells it. A connection error ends a response of unknown length as a success, or is noticed
// only at a timeout; and libcurl reads control frames for as long as a peer sends them. nghttp2 itself tells both, to callbacks that
// libcurl leaves unset. This file sets them: it replaces libcurl's pointers to those functions of nghttp2 that open sessions and that
// take what was read, once, when libcurl is loaded. Sessions that are opened or used outside `clarkspur_http2_watch` are left alone.

// Whether sessions are watched. Needs a successful `clarkspur_curl_load`. False where libcurl has no nghttp2 of its own to be found, as in
// a static build.
bool clarkspur_http2_is_watched(void);

// What happens in sessions. Each function is called on the thread that is inside libcurl, and must not call libcurl.
typedef struct {
    void *context;
    void (*did_open)(void *context, void *session);
    // So many bytes were read, and are about to be looked at. False ends the session.
    bool (*may_read)(void *context, void *session, size_t count);
    // A frame's head has come, of a kind that nghttp2 does not ignore. `is_progress`: it carries a response's head or bytes for a request that is under way. False ends the
    // session.
    bool (*may_receive)(void *context, void *session, bool is_progress);
    // The head of an easy handle's request is about to be sent.
    void (*did_send_request)(void *context, void *session, void *easy, int32_t stream);
    // The peer has broken the protocol; the session ends.
    void (*did_fail)(void *context, void *session);
    // The peer has broken the protocol in the stream of an easy handle, which ends.
    void (*did_fail_stream)(void *context, void *easy);
} clarkspur_http2_watcher;

// Makes the watcher the one of the calling thread; NULL: none. It is not copied. Returns the one before.
const clarkspur_http2_watcher *clarkspur_http2_watch(const clarkspur_http2_watcher *watcher);

// Whether the peer has sent all of a stream. Only for a session that is open.
bool clarkspur_http2_has_ended(void *session, int32_t stream);
