#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The state of a transfer's TLS connection, read from the OpenSSL that libcurl uses while libcurl is about to send the
// request.

// Returns whether this state is available; false if libcurl uses another TLS library.
bool clarkspur_tls_load(void);

typedef void (*clarkspur_certificate_function)(void *context, const uint8_t *bytes, size_t count);

// Passes each certificate of the verified chain to `each`: leaf first, in DER. Certificates that the peer sent but that
// are not part of the chain are left out. Returns false if there is no chain.
bool clarkspur_tls_peer(void *easy, clarkspur_certificate_function each, void *context);
// Configures the TLS connections that a transfer opens from now on. Requires a successful load.
//
// With `leaves_verdict` the handshake continues whatever the verdict on the chain is, and `clarkspur_tls_verdict`
// returns it. Otherwise the handshake fails if the chain is invalid or the certificate has no alternative names,
// because libcurl would then match its common name.
//
// `key_log` is the descriptor of the file for TLS keys, negative for none. The environment has no effect on it.
void clarkspur_tls_set_up(void *easy, bool leaves_verdict, int key_log);
// Opens a file for TLS keys for appending; only its owner can read it. Returns a negative value and sets `errno` on
// failure.
int clarkspur_tls_open_key_log(const char *path);
// Returns whether the transfer's connection has negotiated HTTP/2.
bool clarkspur_tls_speaks_http2(void *easy);
// Returns whether a reused HTTP/1 connection is clean: no pending byte would be read as the next response. A few
// pending messages of TLS itself, such as session tickets, are allowed if they need no reply.
bool clarkspur_tls_is_silent(void *easy, int descriptor);

// Returns OpenSSL's verdict on the chain (X509_V_ERR_…). It is 0 if the chain leads to a trusted authority.
long clarkspur_tls_verdict(void *easy);
const char *clarkspur_tls_verdict_text(long verdict);
// Returns whether an alternative name of the leaf matches the host: a name, or an IP address in its usual form. The
// common name of its subject does not count.
bool clarkspur_tls_is_for(void *easy, const char *host);
