"""TLS in front of any plain server of a test: takes the port from the head of the first request (X-Forward-Port: n),
connects to 127.0.0.1:n and relays the bytes as they are, both ways. The end of a stream is passed on as its end, a reset
as a reset. All requests of one connection go to the port that the first one names.

usage: forwarder.py CERTIFICATE KEY PORT_FILE
"""

import os
import re
import resource
import select
import socket
import ssl
import struct
import sys
import threading

CAPACITY = 256 * 1024
LINGER = 30


class Side:
    """One of two connections, and what is still to be written to it."""

    def __init__(self, connection):
        self.connection = connection
        self.outgoing = bytearray()
        self.read_ended = False  # its peer has said that it sends no more
        self.write_ended = False  # the other side's end has been passed on
        self.broken = False  # poll has seen an error: Python's TLS calls a reset an end
        self.retry_on_write = False  # TLS can need either direction for either

    def interest(self, other):
        events = 0
        if not self.read_ended and len(other.outgoing) < CAPACITY:
            events |= select.POLLIN
        if self.outgoing or self.retry_on_write:
            events |= select.POLLOUT
        return events

    def has_more(self, other):
        """Whether bytes can be read that TLS has decrypted already: poll does not see them."""
        pending = isinstance(self.connection, ssl.SSLSocket) and self.connection.pending() > 0
        return pending and not self.read_ended and len(other.outgoing) < CAPACITY

    def read_into(self, other):
        self.retry_on_write = False
        while not self.read_ended and len(other.outgoing) < CAPACITY:
            try:
                data = self.connection.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                return
            except ssl.SSLWantWriteError:
                self.retry_on_write = True
                return
            except ssl.SSLError:  # an end without close_notify
                data = b""
            other.outgoing += data
            self.read_ended = not data
            if self.read_ended and self.broken:
                raise ConnectionResetError

    def write(self):
        while self.outgoing:
            try:
                count = self.connection.send(memoryview(self.outgoing)[:65536])
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            del self.outgoing[:count]

    def pass_on_end(self, other):
        """Ends this side's writing half, if the other side's reading half has ended and all has been written."""
        if not other.read_ended or self.outgoing or self.write_ended:
            return
        self.write_ended = True
        if isinstance(self.connection, ssl.SSLSocket):
            try:
                self.connection.unwrap()  # says close_notify; the answer is not waited for
            except (ssl.SSLError, BlockingIOError, ValueError):
                pass
            socket.socket.shutdown(self.connection, socket.SHUT_WR)
        else:
            self.connection.shutdown(socket.SHUT_WR)


def reset(connection):
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    connection.close()


def relay(client, upstream, head):
    sides = [Side(client), Side(upstream)]
    sides[1].outgoing += head
    numbers = {client.fileno(): 0, upstream.fileno(): 1}
    try:
        while True:
            for index in (0, 1):
                side, other = sides[index], sides[1 - index]
                side.read_into(other)
                other.write()
                other.pass_on_end(side)
            if sides[0].read_ended and sides[1].read_ended and not sides[0].outgoing and not sides[1].outgoing:
                break
            if sides[0].has_more(sides[1]) or sides[1].has_more(sides[0]):
                continue
            poll = select.poll()
            for number, index in numbers.items():
                events = sides[index].interest(sides[1 - index])
                # Of a side with nothing to wait for, an error would be reported without end once it has ended.
                if events or not sides[index].read_ended:
                    poll.register(number, events)
            ready = poll.poll(LINGER * 1000 if sides[1].read_ended else None)
            if not ready:
                break
            for number, events in ready:
                sides[numbers[number]].broken |= bool(events & select.POLLERR)
    except OSError:
        reset(client)
        reset(upstream)
        return
    client.close()
    upstream.close()


def serve(connection, context):
    connection.settimeout(LINGER)
    try:
        client = context.wrap_socket(connection, server_side=True)
    except OSError:
        connection.close()
        return
    upstream = None
    try:
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(65536)
            if not data or len(head) > 1 << 20:
                client.close()
                return
            head += data
        port = re.search(rb"\r\nx-forward-port:[ \t]*(\d+)", head, re.IGNORECASE)
        upstream = socket.create_connection(("127.0.0.1", int(port[1])), timeout=LINGER)
        for each in (client, upstream):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, TypeError):
        reset(client)
        if upstream:
            upstream.close()
        return
    relay(client, upstream, head)


def main():
    certificate, key, port_file = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    threading.stack_size(256 * 1024)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.num_tickets = 0  # a client that closes without having read them would send a reset
    context.set_alpn_protocols(["http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    with open(port_file + ".new", "w") as file:
        print(listener.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context), daemon=True).start()


main()
