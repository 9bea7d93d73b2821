"""A TLS 1.3 server over HTTP/1.1 that sends messages of TLS itself, and bytes that answer no request, on demand; the path says what.

  /ok                  200 with the text "ok"
  /then/ACTION/KEY     like /ok; then it waits for /do/KEY and sends what ACTION says, parts joined by "+":
                         ticket   one session ticket
                         tickets  1000 session tickets
                         part     the first half of a record with a response that answers no request
                         data     a response that answers no request
                         garbage  a record that cannot be decrypted
  /do/KEY              to be asked on another connection: like /ok, when the other one has sent that
  /twice               like /ok, and a response that answers no request in the same packet
  /flood/tickets       a response's head, then session tickets without end
  /flood/updates       a response's head, then key updates without end

Python's own module for TLS sends none of these, so OpenSSL is called directly.

usage: tls-messages.py CERTIFICATE KEY PORT_FILE
"""

import ctypes
import ctypes.util
import os
import socket
import sys
import threading

library = ctypes.CDLL(ctypes.util.find_library("ssl"))
crypto = ctypes.CDLL(ctypes.util.find_library("crypto"))
pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STOLEN = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nSTOLEN"
PEM, CTRL_MIN_PROTO_VERSION, TLS1_3 = 1, 123, 0x0304


def bind(source, name, result, *parameters):
    function = getattr(source, name)
    function.restype, function.argtypes = result, parameters
    return function


TLS_server_method = bind(library, "TLS_server_method", pointer)
SSL_CTX_new = bind(library, "SSL_CTX_new", pointer, pointer)
SSL_CTX_ctrl = bind(library, "SSL_CTX_ctrl", ctypes.c_long, pointer, number, ctypes.c_long, pointer)
SSL_CTX_use_certificate_chain_file = bind(library, "SSL_CTX_use_certificate_chain_file", number, pointer, text)
SSL_CTX_use_PrivateKey_file = bind(library, "SSL_CTX_use_PrivateKey_file", number, pointer, text, number)
SSL_new = bind(library, "SSL_new", pointer, pointer)
SSL_free = bind(library, "SSL_free", None, pointer)
SSL_set_fd = bind(library, "SSL_set_fd", number, pointer, number)
SSL_set0_wbio = bind(library, "SSL_set0_wbio", None, pointer, pointer)
SSL_accept = bind(library, "SSL_accept", number, pointer)
SSL_read = bind(library, "SSL_read", number, pointer, text, number)
SSL_write = bind(library, "SSL_write", number, pointer, text, number)
SSL_new_session_ticket = bind(library, "SSL_new_session_ticket", number, pointer)
SSL_key_update = bind(library, "SSL_key_update", number, pointer, number)
SSL_do_handshake = bind(library, "SSL_do_handshake", number, pointer)
BIO_s_mem = bind(crypto, "BIO_s_mem", pointer)
BIO_new = bind(crypto, "BIO_new", pointer, pointer)
BIO_read = bind(crypto, "BIO_read", number, pointer, text, number)

places = {}
places_lock = threading.Lock()


def place(key):
    """What the two connections of a key wait for: the order, and its end."""
    with places_lock:
        return places.setdefault(key, (threading.Event(), threading.Event()))


class Connection:
    def __init__(self, stream, context):
        self.stream = stream
        self.tls = SSL_new(context)
        SSL_set_fd(self.tls, stream.fileno())
        if SSL_accept(self.tls) != 1:
            raise OSError
        # Written bytes wait here until they are sent in one go or in parts.
        self.output = BIO_new(BIO_s_mem())
        SSL_set0_wbio(self.tls, self.output)
        self.buffer = ctypes.create_string_buffer(1 << 20)

    def take(self):
        taken = b""
        while (count := BIO_read(self.output, self.buffer, len(self.buffer))) > 0:
            taken += self.buffer.raw[:count]
        return taken

    def head(self):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = ctypes.create_string_buffer(1)
            if SSL_read(self.tls, byte, 1) != 1:
                raise OSError
            head += byte.raw
        return head.split(b" ")[1].decode().strip("/").split("/")

    def write(self, content):
        SSL_write(self.tls, content, len(content))

    def ticket(self):
        SSL_new_session_ticket(self.tls)
        SSL_do_handshake(self.tls)

    def update(self):
        SSL_key_update(self.tls, 0)
        SSL_do_handshake(self.tls)

    def perform(self, action):
        for part in action.split("+"):
            if part in ("ticket", "tickets"):
                for _ in range(1000 if part == "tickets" else 1):
                    self.ticket()
            elif part != "garbage":
                self.write(STOLEN)
            sent = self.take() or b"\x17\x03\x03\x00\x20" + bytes(32)
            self.stream.sendall(sent[: len(sent) // 2] if part == "part" else sent)

    def flood(self, send):
        while True:
            for _ in range(200):
                send()
            self.stream.sendall(self.take())

    def serve(self):
        while True:
            path = self.head()
            if path[0] == "flood":
                self.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
                self.flood(self.ticket if path[1] == "tickets" else self.update)
            if path[0] == "do":
                order, end = place(path[1])
                order.set()
                end.wait()
            self.write(OK)
            if path[0] == "twice":
                self.write(STOLEN)
            self.stream.sendall(self.take())
            if path[0] == "then":
                order, end = place(path[2])
                order.wait()
                self.perform(path[1])
                end.set()


def serve(stream, context):
    connection = None
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(stream, context)
        connection.serve()
    except OSError:
        pass
    finally:
        if connection:
            SSL_free(connection.tls)
        stream.close()


def main():
    chain, key, port_file = sys.argv[1:]
    context = SSL_CTX_new(TLS_server_method())
    SSL_CTX_ctrl(context, CTRL_MIN_PROTO_VERSION, TLS1_3, None)
    if SSL_CTX_use_certificate_chain_file(context, chain.encode()) != 1:
        sys.exit("the certificate cannot be read")
    if SSL_CTX_use_PrivateKey_file(context, key.encode(), PEM) != 1:
        sys.exit("the key cannot be read")
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    with open(port_file + ".new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serve, args=(stream, context), daemon=True).start()


main()
