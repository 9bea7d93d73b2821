#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Watches the HTTP/2 sessions that libcurl opens with nghttp2.
//
// libcurl does not pass on everything that nghttp2 reports. After a connection error, libcurl may report a response of
// unknown length as complete, or may fail only at a timeout. libcurl also reads control frames for as long as a peer
// sends them. nghttp2 would report errors and frames to further callbacks, but libcurl does not set these callbacks.
//
// `http2.c` sets these callbacks. It replaces libcurl's pointers to the functions of nghttp2 that open sessions and
// process received bytes, and its pointers to `recv` and `SSL_set_fd` (see `share.h`). It also replaces the pointers to
// the functions that set libcurl's own callbacks for the end of a stream and for the bytes of a body, and calls these
// callbacks from its own. On a thread without a watcher, the replacements only call the original functions.

// Returns whether sessions can be watched. The first call replaces libcurl's pointers, so it must be made before the
// first connection. Returns false if libcurl's nghttp2 is not a shared library, as in a static build. Always returns
// false on other platforms than 64-bit Linux.
bool clarkspur_http2_is_watched(void);

// The callbacks for events of sessions. libcurl is running when nghttp2 calls one of these functions, so the function
// must not call libcurl.
typedef struct {
    void *context;
    void (*did_open)(void *context, void *session);
    // `count` bytes were received, and nghttp2 is about to process them. The result false ends the session.
    bool (*may_read)(void *context, void *session, size_t count);
    // The head of a frame arrived, and nghttp2 does not ignore the frame. `progress` is the number of bytes of a
    // response's head or body that the frame carries for a request in flight. The result false ends the session.
    bool (*may_receive)(void *context, void *session, size_t progress);
    // A padded DATA frame, for which `may_receive` had no progress, has brought a response in flight forward after all.
    void (*did_progress)(void *context, void *session, size_t count);
    // libcurl is about to send the head of an easy handle's request.
    void (*did_send_request)(void *context, void *session, void *easy, int32_t stream);
    // The session ends with an error, for example because the peer violated the protocol.
    void (*did_fail)(void *context, void *session);
    // The peer violated the protocol in the stream that carries an easy handle's request. Only this stream ends.
    void (*did_fail_stream)(void *context, void *easy);
    // The peer resets the stream that carries an easy handle's request, and has not sent the end of the response.
    void (*did_reset)(void *context, void *easy);
    // The stream that carries an easy handle's request has ended, and the peer has not processed the request: it has
    // refused the stream, requires HTTP/1.1, or has excluded the stream by a GOAWAY frame.
    void (*did_refuse)(void *context, void *easy);
} clarkspur_http2_watcher;

// Sets the watcher of the calling thread; NULL removes the watcher. The watcher is not copied. Returns the previous
// watcher.
const clarkspur_http2_watcher *clarkspur_http2_watch(const clarkspur_http2_watcher *watcher);

// Returns whether the peer has sent the end of a stream. The session must be open.
bool clarkspur_http2_has_ended(void *session, int32_t stream);
// Returns whether the peer has ended its side of an open stream. False for a stream that was reset.
bool clarkspur_http2_is_half_closed(void *session, int32_t stream);
