#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the OpenSSL that libcurl uses knows of the peer of a transfer, while libcurl is about to send the request.

// Whether that can be asked at all: libcurl's TLS may be another library's.
bool clarkspur_tls_load(void);

typedef void (*clarkspur_certificate_function)(void *context, const uint8_t *bytes, size_t count);

// Gives the chain as the verification has put it together, leaf first, in DER: what a peer sends beside it is not in it.
// False if there is none to be had.
bool clarkspur_tls_peer(void *easy, clarkspur_certificate_function each, void *context);
// How the connections are secured that a transfer makes from now on. Needs a successful load.
//
// Whether they go on whatever the verdict on the chain is, which is written down for `clarkspur_tls_verdict`. Otherwise a chain
// that is not good ends the handshake, and so does a certificate without alternative names, whose common name libcurl would
// take. And the file that their keys are written to, negative for none, whatever the environment says.
void clarkspur_tls_set_up(void *easy, bool leaves_verdict, int key_log);
// A file for keys that only its owner can read, opened to add to it; negative with the reason in `errno`.
int clarkspur_tls_open_key_log(const char *path);
// Whether nothing waits on a kept connection that would pass for the next response. HTTP/2 has no such bytes. A few messages of TLS itself, as a
// session ticket, do not count. `is_nested`: the socket carries TLS inside the TLS of a proxy. What the outer TLS has decrypted cannot be asked
// for, so such a connection never counts as silent.
bool clarkspur_tls_is_silent(void *easy, int descriptor, bool is_nested);

// OpenSSL's verdict on the chain by its own number, X509_V_ERR_…; 0 if the chain leads to an authority that is trusted.
long clarkspur_tls_verdict(void *easy);
const char *clarkspur_tls_verdict_text(long verdict);
// Whether one of the leaf's alternative names is for the host: a name, or an IP address in its usual form. The common name of
// its subject does not count.
bool clarkspur_tls_is_for(void *easy, const char *host);
