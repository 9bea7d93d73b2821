#pragma once

#include <stddef.h>
#include <stdint.h>

// Sockets for rtnetlink, by which Linux reports interfaces, addresses and routes. Other systems have none of these
// functions.

#if defined(__linux__)

// Opens a socket that receives the news of these groups, a mask of RTMGRP_… values. With 0, the socket serves for
// dumps, and each receive waits at most a second. Returns the negative error number on failure; sandboxes may forbid
// such sockets.
int clarkspur_netlink_open(uint32_t groups);
void clarkspur_netlink_close(int descriptor);

// Requests a dump of a whole table, as messages of this sequence number. Returns 0, or the negative error number.
int clarkspur_netlink_request(int descriptor, uint16_t type, uint32_t sequence);

// Receives a datagram of the kernel. A longer datagram than the buffer is cut. Returns its size, or the negative error
// number; -EAGAIN if there is none.
ptrdiff_t clarkspur_netlink_receive(int descriptor, void *buffer, size_t count);

#endif
