"""An HTTP/2 server over TLS that does what no ordinary one does on demand; the path says what. Needs PyPI's h2.

  /ok                200; a body sent with the request is read, and answered with its length
  /truncated         Content-Length 1000, ten bytes, END_STREAM
  /short             Content-Length 1000, ten bytes, RST_STREAM INTERNAL_ERROR
  /reset             Content-Length 1000, ten bytes, then a TCP reset
  /close             TCP closed before any head
  /goaway?KEY        the first time: GOAWAY with last stream 0, then closed; after that: like /ok
  /goaway-open?KEY   the first time: GOAWAY with last stream 0, and the connection left open; after that: like /ok
  /goaway-after?KEY  the first time: when all of the request is here, GOAWAY with it for the last, then closed; after that: like /ok
  /lost?KEY          the first time: when all of the request is here, closed; after that: like /ok
  /refused?KEY       the first time: RST_STREAM REFUSED_STREAM; after that: like /ok
  /reset-stream?CODE-KEY  each time: RST_STREAM with this code
  /asked?QUERY       how many requests for /reset-stream?QUERY and /lost?QUERY have arrived
  /stall-head        no answer
  /stall-body        Content-Length 1000, ten bytes, then nothing
  /trailers          a body, then trailers
  /interim-flood     1000 heads of status 103, then like /ok
  /endless-headers   a header block that never ends
  /no-window         never grants window for the request's body beyond the first 65,535 bytes, and never answers
  /pings             a head, then pings without end
  /single-bytes      300,000 bytes, each in a frame of its own
  /flood?KEY         134,217,728 bytes, as fast as the windows of its stream and connection let them go
  /flooded?KEY       how many bytes of that flood were sent, once it stands still; to be asked on a connection of its own

KEY is anything: "the first time", and a flood, is counted for each path with its query. On the second port every path is /no-window, and
SETTINGS_INITIAL_WINDOW_SIZE is 0 from the start. On the third port the server chooses HTTP/2 whether the client offers it or not.

usage: h2faults.py CERTIFICATE KEY PORT_FILE PORT_FILE_OF_THE_SECOND PORT_FILE_OF_THE_THIRD
"""

import _ssl
import ctypes
import os
import resource
import socket
import ssl
import struct
import sys
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame

FLOOD = 128 << 20
PARTIAL = [(":status", "200"), ("content-type", "text/plain"), ("content-length", "1000")]

seen = set()
seen_lock = threading.Lock()
flooded = {}  # each is counted by one thread
arrived = {}  # the number of requests, by query


def first_time(path):
    with seen_lock:
        known = path in seen
        seen.add(path)
        return not known


def count_arrival(path):
    query = path.partition("?")[2]
    with seen_lock:
        arrived[query] = arrived.get(query, 0) + 1


def standing(key):
    """How much of a flood was sent, when that has not grown for a second."""
    before = None
    while (count := flooded.get(key, 0)) != before:
        before = count
        time.sleep(1)
    return count


class Closed(Exception):
    """The connection is at its end, or is to be ended."""


class Connection:
    def __init__(self, stream, without_window):
        self.stream = stream
        self.without_window = without_window
        self.paths = {}
        self.lengths = {}
        self.floods = {}
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        if without_window:
            self.h2.local_settings.initial_window_size = 0
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.stream.sendall(data)

    def run(self):
        while data := self.stream.recv(65536):
            for event in self.h2.receive_data(data):
                self.handle(event)
            self.flush()
            self.pour()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            path = "/no-window" if self.without_window else dict(event.headers)[":path"]
            self.paths[event.stream_id] = path
            self.lengths[event.stream_id] = 0
            self.begin(event.stream_id, path)
        elif isinstance(event, h2.events.DataReceived):
            self.lengths[event.stream_id] = self.lengths.get(event.stream_id, 0) + len(event.data)
            if self.paths.get(event.stream_id) != "/no-window":
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.end(event.stream_id, self.paths.get(event.stream_id, ""))
        elif isinstance(event, h2.events.StreamReset):
            self.paths.pop(event.stream_id, None)
            self.floods.pop(event.stream_id, None)

    def begin(self, stream, path):
        """What is done as soon as the head of a request is here."""
        name = path.partition("?")[0]
        if name == "/close":
            raise Closed
        if name == "/goaway" and first_time(path):
            self.flush()
            self.stream.sendall(GoAwayFrame(stream_id=0, last_stream_id=0, error_code=0).serialize())
            raise Closed
        if name == "/goaway-open" and first_time(path):
            self.flush()
            self.stream.sendall(GoAwayFrame(stream_id=0, last_stream_id=0, error_code=0).serialize())
            self.paths[stream] = ""
            return
        if name == "/refused" and first_time(path):
            self.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        elif name == "/reset":
            self.send_partial(stream)
            time.sleep(0.1)  # so that what was sent is read before the reset
            self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            socket.socket.close(self.stream)
            raise Closed
        elif name == "/endless-headers":
            self.send_endless_headers(stream)

    def end(self, stream, path):
        """What is done when all of a request is here."""
        name = path.partition("?")[0]
        if name == "/lost":
            count_arrival(path)
            if first_time(path):
                raise Closed
        if name == "/goaway-after" and first_time(path):
            self.flush()
            self.stream.sendall(GoAwayFrame(stream_id=0, last_stream_id=stream, error_code=0).serialize())
            raise Closed
        if name == "/reset-stream":
            count_arrival(path)
            self.reset_stream(stream, int(path.partition("?")[2].partition("-")[0]))
        elif name == "/asked":
            with seen_lock:
                count = arrived.get(path.partition("?")[2], 0)
            self.answer(stream, count)
        elif name in ("/ok", "/goaway", "/goaway-open", "/goaway-after", "/lost", "/refused"):
            self.answer(stream, self.lengths[stream])
        elif name == "/pings":
            self.send_pings(stream)
        elif name == "/single-bytes":
            self.send_single_bytes(stream)
        elif name == "/flood":
            self.h2.send_headers(stream, [(":status", "200"), ("content-length", str(FLOOD))])
            self.floods[stream] = path.partition("?")[2]
        elif name == "/flooded":
            self.answer(stream, standing(path.partition("?")[2]))
        elif name == "/truncated":
            self.send_partial(stream)
            self.h2.end_stream(stream)
        elif name == "/short":
            self.send_partial(stream)
            self.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
        elif name == "/stall-body":
            self.send_partial(stream)
        elif name == "/trailers":
            self.h2.send_headers(stream, [(":status", "200"), ("trailer", "x-checksum")])
            self.h2.send_data(stream, b"with trailers")
            self.h2.send_headers(stream, [("x-checksum", "abc123")], end_stream=True)
        elif name == "/interim-flood":
            for number in range(1000):
                self.h2.send_headers(stream, [(":status", "103"), ("x-number", str(number))])
                self.flush()
            self.answer(stream, self.lengths[stream])
        elif name not in ("/stall-head", "/no-window", "/endless-headers", ""):
            self.h2.send_headers(stream, [(":status", "404"), ("content-length", "0")], end_stream=True)

    def pour(self):
        """Sends of the floods what their windows have room for."""
        for stream, key in list(self.floods.items()):
            sent = flooded.get(key, 0)
            while (room := min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size, FLOOD - sent)) > 0:
                sent += room
                self.h2.send_data(stream, bytes(room), end_stream=sent == FLOOD)
                self.flush()
                flooded[key] = sent
            if sent == FLOOD:
                del self.floods[stream]

    def answer(self, stream, number):
        body = b"%d\n" % number
        fields = [(":status", "200"), ("content-type", "text/plain"), ("content-length", str(len(body)))]
        self.h2.send_headers(stream, fields)
        self.h2.send_data(stream, body, end_stream=True)

    def send_partial(self, stream):
        self.h2.send_headers(stream, PARTIAL)
        self.h2.send_data(stream, b"ten bytes.")
        self.flush()

    def reset_stream(self, stream, code):
        self.h2.reset_stream(stream, error_code=code)
        self.paths[stream] = ""

    def send_pings(self, stream):
        self.flush()
        self.stream.sendall(HeadersFrame(stream, b"\x88", flags=["END_HEADERS"]).serialize())  # ":status: 200"
        pings = PingFrame(0, b"12345678").serialize() * 1000
        while True:
            self.stream.sendall(pings)

    def send_single_bytes(self, stream):
        self.flush()
        self.stream.sendall(HeadersFrame(stream, b"\x88", flags=["END_HEADERS"]).serialize())  # ":status: 200"
        frames = DataFrame(stream, b"x").serialize() * 6000
        for _ in range(50):
            self.stream.sendall(frames)
        self.stream.sendall(DataFrame(stream, b"", flags=["END_STREAM"]).serialize())

    def send_endless_headers(self, stream):
        self.flush()
        self.stream.sendall(HeadersFrame(stream, b"\x88").serialize())  # ":status: 200" and no END_HEADERS
        field = b"\x00" + b"\x06x-more" + b"\x7f\x81\x07" + b"m" * 1024  # literal, not indexed
        frame = ContinuationFrame(stream, field * 15).serialize()
        while True:
            self.stream.sendall(frame)


def serve(connection, context, without_window):
    connection.settimeout(60)
    try:
        stream = context.wrap_socket(connection, server_side=True)
    except OSError:
        connection.close()
        return
    try:
        stream.settimeout(None)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(stream, without_window).run()
    except (Closed, OSError, KeyError, h2.exceptions.ProtocolError):
        pass
    finally:
        try:
            stream.setblocking(False)
            stream.unwrap()
        except (OSError, ValueError):
            pass
        stream.close()


def listen(port_file):
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    with open(port_file + ".new", "w") as file:
        print(listener.getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    return listener


def accept(listener, context, without_window):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, context, without_window), daemon=True).start()


@ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_uint, ctypes.c_void_p)
def choose_http2(session, chosen, length, offered, offered_length, argument):
    ctypes.cast(chosen, ctypes.POINTER(ctypes.c_char_p))[0] = b"h2"
    ctypes.cast(length, ctypes.POINTER(ctypes.c_ubyte))[0] = 2
    return 0  # SSL_TLSEXT_ERR_OK


def make_context(certificate, key, is_stubborn=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    if is_stubborn:
        # The module has no function for that. The pointer to the SSL_CTX is the first member of the object.
        pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
        ctypes.CDLL(_ssl.__file__).SSL_CTX_set_alpn_select_cb(pointer, choose_http2, None)
    return context


def main():
    certificate, key, port_file, second_port_file, third_port_file = sys.argv[1:]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    context = make_context(certificate, key)
    stubborn = make_context(certificate, key, is_stubborn=True)
    threading.Thread(target=accept, args=(listen(third_port_file), stubborn, False), daemon=True).start()
    second = listen(second_port_file)
    threading.Thread(target=accept, args=(second, context, True), daemon=True).start()
    accept(listen(port_file), context, False)


main()
