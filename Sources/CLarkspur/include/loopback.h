#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Sockets of a server that only this machine can reach: none of them blocks, is inherited, or raises SIGPIPE.
// Each function that fails returns -1 and leaves the reason in `errno`.

// Listens on 127.0.0.1, at a port that the system chooses.
int clarkspur_loopback_listen(uint16_t *port);
int clarkspur_loopback_accept(int listener);
ssize_t clarkspur_loopback_send(int descriptor, const void *bytes, size_t count);

// Makes the next `close` of the socket a reset.
void clarkspur_loopback_reset_on_close(int descriptor);

// Lets the process have as many descriptors as the system allows it.
void clarkspur_raise_descriptor_limit(void);
