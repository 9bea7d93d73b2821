#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Sockets of a server on the loopback interface. The sockets do not block, are not inherited by child processes and do
// not raise SIGPIPE. On failure, the functions that return a value return -1 and set `errno`.

// Listens on 127.0.0.1, on a port that the system chooses.
int clarkspur_loopback_listen(uint16_t *port);
int clarkspur_loopback_accept(int listener);
ssize_t clarkspur_loopback_send(int descriptor, const void *bytes, size_t count);

// Makes the next `close` of the socket send a reset.
void clarkspur_loopback_reset_on_close(int descriptor);

// Raises the process's limit of open descriptors to the maximum that the system allows.
void clarkspur_raise_descriptor_limit(void);
