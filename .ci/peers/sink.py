"""Reads a request's body to its end, keeps none of it, and answers with its length: what stands behind nginx's /upload,
and on a port of its own, where no proxy is what limits an upload.

usage: sink.py UNIX_SOCKET PORT_FILE
"""

import os
import socket
import sys
import threading

SIZE = 1 << 20


def read_head(connection):
    head = bytearray()
    while (end := head.find(b"\r\n\r\n")) < 0:
        chunk = connection.recv(65536)
        if not chunk:
            return None, b""
        head += chunk
    fields = {}
    for line in bytes(head[:end]).split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    return fields, bytes(head[end + 4 :])


def drop_fixed(connection, length, rest):
    """Reads a body of a known length; returns what came of it."""
    count = len(rest)
    buffer = bytearray(SIZE)
    # A TCP socket can drop what it received without copying it first.
    flags = socket.MSG_TRUNC if connection.family == socket.AF_INET else 0
    while count < length:
        got = connection.recv_into(buffer, min(SIZE, length - count), flags)
        if not got:
            break
        count += got
    return count


def drop_chunked(connection, rest):
    """Reads a chunked body (nginx sends one if the length is not known); returns its length without the framing."""
    count = 0
    stream = connection.makefile("rb", SIZE)

    def line():
        nonlocal rest
        if b"\n" in rest:
            first, _, rest = rest.partition(b"\n")
            return first
        start, rest = rest, b""
        return start + stream.readline().rstrip(b"\n")

    while size := int(line().split(b";")[0], 16):
        left = size + 2
        taken = min(left, len(rest))
        rest = rest[taken:]
        left -= taken
        while left:
            data = stream.read(min(left, SIZE))
            if not data:
                return count
            left -= len(data)
        count += size
    while line().strip():
        pass
    return count


def serve(connection):
    with connection:
        try:
            while True:
                fields, rest = read_head(connection)
                if fields is None:
                    return
                if b"100-continue" in fields.get(b"expect", b"").lower():
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if b"chunked" in fields.get(b"transfer-encoding", b""):
                    count = drop_chunked(connection, rest)
                else:
                    count = drop_fixed(connection, int(fields.get(b"content-length", 0)), rest)
                body = b"%d\n" % count
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
                )
        except (OSError, ValueError):
            return


def accept(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def main():
    path, port_file = sys.argv[1:]
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    os.chmod(path, 0o666)
    local.listen(512)
    threading.Thread(target=accept, args=(local,), daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    with open(port_file + ".new", "w") as file:
        print(listener.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    accept(listener)


main()
