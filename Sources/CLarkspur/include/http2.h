#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Watches the HTTP/2 sessions that libcurl opens with nghttp2.
//
// libcurl does not report everything that nghttp2 reports to it. After a connection error it ends a response of unknown
// length as a success, or fails only at a timeout. libcurl also reads control frames for as long as a peer sends them.
// nghttp2 reports errors and frames to callbacks that libcurl does not set.
//
// This file sets these callbacks. When libcurl is loaded, it replaces libcurl's pointers to the functions of nghttp2
// that open sessions and process received bytes. Sessions that are opened or used outside `clarkspur_http2_watch` stay
// unchanged.

// Returns whether sessions can be watched. Requires a successful `clarkspur_curl_load`. Returns false if libcurl's
// nghttp2 is not a shared library, as in a static build.
bool clarkspur_http2_is_watched(void);

// The events of sessions. Each function is called on the thread that is inside libcurl, and must not call libcurl.
typedef struct {
    void *context;
    void (*did_open)(void *context, void *session);
    // This many bytes were received and will be processed now. False ends the session.
    bool (*may_read)(void *context, void *session, size_t count);
    // The head of a frame arrived that nghttp2 does not ignore. `is_progress`: the frame carries a response's head or
    // body bytes for a request in flight. False ends the session.
    bool (*may_receive)(void *context, void *session, bool is_progress);
    // libcurl is about to send the head of an easy handle's request.
    void (*did_send_request)(void *context, void *session, void *easy, int32_t stream);
    // The peer violated the protocol; the session ends.
    void (*did_fail)(void *context, void *session);
    // The peer violated the protocol in the stream of an easy handle; the stream ends.
    void (*did_fail_stream)(void *context, void *easy);
} clarkspur_http2_watcher;

// Sets the watcher of the calling thread; NULL removes it. The watcher is not copied. Returns the previous one.
const clarkspur_http2_watcher *clarkspur_http2_watch(const clarkspur_http2_watcher *watcher);

// Returns whether the peer has completed a stream. The session must be open.
bool clarkspur_http2_has_ended(void *session, int32_t stream);
