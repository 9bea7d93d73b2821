#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The state of a transfer's TLS connection, read from the OpenSSL that libcurl uses. The functions that take an easy
// handle and return a state must be called while libcurl is about to send the request.

// Returns whether this state is available. Returns false if libcurl uses another TLS library.
bool clarkspur_tls_load(void);

typedef void (*clarkspur_certificate_function)(void *context, const uint8_t *bytes, size_t count);

// Returns the name of the connection's TLS version, and stores the name of its cipher. Both live as long as the process.
// Returns NULL and stores nothing without TLS, or if libcurl does not use OpenSSL.
const char *clarkspur_tls_version(void *easy, const char **cipher);
// Passes each certificate of the verified chain to `each`: leaf first, in DER. Certificates that the peer sent but that
// are not part of the chain are left out. Returns false if there is no chain.
bool clarkspur_tls_peer(void *easy, clarkspur_certificate_function each, void *context);
// Configures the TLS connections that a transfer opens from now on. Requires a successful load.
//
// If `leaves_verdict` is true, the handshake continues even if the chain is invalid, and `clarkspur_tls_verdict`
// returns OpenSSL's verdict. If it is false, the handshake fails if the chain is invalid. It also fails if the
// certificate has no alternative names, because libcurl would match the common name of such a certificate.
//
// `key_log` is the descriptor of the file to which TLS keys are written, or negative for none. The environment variable
// SSLKEYLOGFILE has no effect.
void clarkspur_tls_set_up(void *easy, bool leaves_verdict, int key_log);
// Opens a file for TLS keys for appending; only its owner can read it. Returns a negative value and sets `errno` on
// failure.
int clarkspur_tls_open_key_log(const char *path);
// Returns whether the transfer's connection has negotiated HTTP/2.
bool clarkspur_tls_speaks_http2(void *easy);
// Returns whether the transfer's connection is known not to have negotiated HTTP/2.
bool clarkspur_tls_speaks_http1(void *easy);
// Returns whether a reused HTTP/1 connection has no pending bytes that libcurl would read as the next response. A few
// pending messages of the TLS protocol, such as session tickets, are allowed if they need no reply.
bool clarkspur_tls_is_silent(void *easy, int descriptor);

// Returns OpenSSL's verdict on the chain: 0 if the chain leads to a trusted authority, otherwise X509_V_ERR_….
long clarkspur_tls_verdict(void *easy);
const char *clarkspur_tls_verdict_text(long verdict);
// Returns whether an alternative name of the leaf matches the host. The host is a name or an IP address in text form.
// The common name of the leaf's subject is ignored.
bool clarkspur_tls_is_for(void *easy, const char *host);
