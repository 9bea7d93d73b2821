"""A server for the checks of lark: what servers do well, slowly, wrongly and with bad intentions."""
import base64
import gzip
import hashlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOSTILE = "red \x1b[31mtext\x1b[0m, title \x1b]0;owned\x07, C1 \u009b2J, bidi \u202egpj.exe, return\rover"
LARGE = bytes(range(256)) * 4096


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, body=b"", status=200, kind="text/plain; charset=utf-8", **fields):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunks(self, kind, parts):
        """Sends each part when the server's gate opens for it, or after half a second."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            self.server.gate.wait(0.2)
        self.wfile.write(b"0\r\n\r\n")

    def read(self):
        if self.path == "/slowly":
            left = int(self.headers["Content-Length"])
            while left and (piece := self.rfile.read(min(left, 65536))):
                left -= len(piece)
                self.server.gate.wait(0.01)
            return b""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def handle_any(self):
        body = b"" if self.path.startswith("/socket") else self.read()
        path, _, query = self.path.partition("?")
        with self.server.lock:
            self.server.seen.append((self.command, self.path, dict(self.headers), body))
        try:
            route = getattr(self, "at" + path.replace("/", "_").replace(".", "_"), None)
            route(query, body) if route else self.answer("no such page", 404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = handle_any

    def at_echo(self, query, body):
        seen = {"method": self.command, "query": query, "headers": {k.title(): v for k, v in self.headers.items()},
                "body": body.decode("latin-1")}
        self.answer(json.dumps(seen), kind="application/json")

    def at_json(self, query, body):
        self.answer('{"b": 1, "a": 10000000000000000000000.10, "list": [1, "two", null, true], "empty": {}}',
                    kind="application/json")

    def at_badjson(self, query, body):
        self.answer('{"a": 1,, }', kind="application/json")

    def at_long(self, query, body):
        self.answer(json.dumps({"rows": [{"id": i, "deep": {"x": [i, i]}} for i in range(200)]}), kind="application/json")

    def at_hostile(self, query, body):
        self.answer(HOSTILE, X_Bad="\x1b]0;owned\x07" + "\u009b".encode().decode("latin-1"))

    def at_hostilejson(self, query, body):
        self.answer(json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False).replace("\\u001b", "\x7f"), kind="application/json")

    def at_hostileevents(self, query, body):
        text = HOSTILE.replace("\r", "")
        self.chunks("text/event-stream", [f"event: {text}\nid: {text}\ndata: {text}\n\n".encode()])

    def at_hostilelines(self, query, body):
        line = json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False).replace("\\u001b", "\x7f") + "\n"
        self.chunks("application/x-ndjson", [line.encode()] * 2)

    def at_hostilestatus(self, query, body):
        self.send_response_only(299, HOSTILE.replace("\r", "").encode().decode("latin-1"))
        self.send_header("Content-Length", "0")
        self.send_header("Set-Cookie", "a=\x1b[31mtext\x07")
        self.end_headers()

    def at_hostileaway(self, query, body):
        self.answer("", 302, Location=f"http://localhost:{self.server.server_port}/\x1b[31mtext\x1b]0;owned\x07?\u009b")

    def at_hostilename(self, query, body):
        name = urllib.parse.quote(HOSTILE.replace("\r", ""))
        self.answer("text", Content_Disposition=f"attachment; filename*=UTF-8''{name}")

    def at_binary(self, query, body):
        self.answer(b"\x89PNG\x00\x1b[31m", kind="image/png")

    def at_bytes(self, query, body):
        self.answer(LARGE, kind="application/octet-stream")

    def at_gzip(self, query, body):
        self.answer(gzip.compress(b"unpacked text\n"), Content_Encoding="gzip")

    def at_status(self, query, body):
        self.answer(f"status {query}", int(query))

    def at_redirect(self, query, body):
        left = int(query)
        self.answer("", 302, Location=f"/redirect?{left - 1}" if left > 1 else "/echo")

    def at_away(self, query, body):
        self.answer("", 302, Location=f"http://localhost:{self.server.server_port}/echo")

    def at_flaky(self, query, body):
        with self.server.lock:
            self.server.flaky += 1
            failed = self.server.flaky % 3 != 0
        self.answer("busy", 503) if failed else self.answer("ready")

    def at_basic(self, query, body):
        good = "Basic " + base64.b64encode(b"ada:pass:word").decode()
        if self.headers.get("Authorization") == good:
            self.answer("welcome")
        else:
            self.answer("who?", 401, WWW_Authenticate='Basic realm="test"')

    def at_digest(self, query, body):
        text = self.headers.get("Authorization", "")
        if not text.startswith("Digest "):
            challenge = 'Digest realm="test", nonce="abc", qop="auth", algorithm=SHA-256'
            return self.answer("who?", 401, WWW_Authenticate=challenge)
        fields = dict(part.strip().split("=", 1) for part in text[7:].split(","))
        fields = {name: value.strip('"') for name, value in fields.items()}
        h = lambda *parts: hashlib.sha256(":".join(parts).encode()).hexdigest()
        want = h(h("ada", "test", "secret"), "abc", fields["nc"], fields["cnonce"], "auth", h(self.command, self.path))
        self.answer("welcome" if fields["response"] == want else "wrong", 200 if fields["response"] == want else 403)

    def at_login(self, query, body):
        self.answer("logged in", Set_Cookie="sid=s3cret; Path=/")

    def at_cached(self, query, body):
        with self.server.lock:
            self.server.cached += 1
        self.answer(f"answer {self.server.cached}", Cache_Control="max-age=60")

    def at_file_bin(self, query, body):
        """A file that can be resumed. With ?cut, the first response loses its connection halfway."""
        start = 0
        if range_ := self.headers.get("Range"):
            start = int(range_[6:].rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(LARGE) - start))
        self.send_header("ETag", '"v1"')
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(LARGE) - 1}/{len(LARGE)}")
        self.end_headers()
        if query in ("cut", "slow") and not start:
            self.wfile.write(LARGE[:len(LARGE) // 2])
            self.wfile.flush()
            if query == "slow":
                self.server.gate.wait(20)
            self.close_connection = True
            return self.connection.close()
        for i in range(start, len(LARGE), 65536):
            self.wfile.write(LARGE[i:i + 65536])
            if query == "pace":
                self.server.gate.wait(0.03)

    def at_events(self, query, body):
        self.chunks("text/event-stream", [b'event: goal\nid: 7\ndata: {"home": 1}\n\n', b"data: plain \x1b[31m\n\n"])

    def at_jsonlines(self, query, body):
        self.chunks("application/x-ndjson", [b'{"n": 1}\n{"n"', b": 2}\n"])

    def at_endless(self, query, body):
        self.chunks("text/plain", (b"line %d\n" % i for i in range(100000)))

    def at_slowly(self, query, body):
        self.answer("thanks")

    def at_stall(self, query, body):
        self.server.gate.wait(20)

    def at_socket(self, query, body):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

        def frame(kind, data):
            self.wfile.write(bytes([0x80 | kind, len(data)]) + data)
            self.wfile.flush()

        if query == "feed":
            for text in (b'{"tick": 1}', HOSTILE.encode()):
                frame(1, text)
            frame(2, b"\x00\x01")
            frame(8, b"\x03\xe8" + HOSTILE.encode())
        while head := self.rfile.read(2):
            length = head[1] & 127
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            if head[0] & 15 == 8:
                if query != "feed":
                    frame(8, data)
                return
            frame(head[0] & 15, b"echo: " + data)


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, address):
        """Clients that leave are part of the checks."""


def start(context=None):
    """Starts the server on a free port, over TLS if there is a context."""
    server = Server(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.daemon_threads = True
    server.lock, server.gate = threading.Lock(), threading.Event()
    server.seen, server.flaky, server.cached = [], 0, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
