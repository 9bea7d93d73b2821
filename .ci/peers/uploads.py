"""Takes uploads and says in JSON what came, keeping none of it: at /digest the body's length and SHA-256 with the request's
header fields, at /form each part of a multipart form, as a parser that is not ours understands it.

usage: uploads.py PORT_FILE
"""

import hashlib
import http.server
import json
import os
import sys

import multipart

SIZE = 1 << 20


def pieces(handler):
    """The body of a request in pieces of bounded size, however it is framed."""
    if "chunked" not in handler.headers.get("Transfer-Encoding", ""):
        yield from exactly(handler.rfile, int(handler.headers.get("Content-Length", 0)))
        return
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        yield from exactly(handler.rfile, size)
        if handler.rfile.readline() != b"\r\n":
            raise ValueError("a chunk is longer than it says")
    while handler.rfile.readline().strip():
        pass


def exactly(stream, left):
    while left:
        data = stream.read(min(left, SIZE))
        if not data:
            raise EOFError("the body ends too early")
        left -= len(data)
        yield data


def digest(handler):
    length, hashed = 0, hashlib.sha256()
    for piece in pieces(handler):
        length += len(piece)
        hashed.update(piece)
    return {"length": length, "sha256": hashed.hexdigest(), "fields": handler.headers.items()}


def form(handler):
    _, options = multipart.parse_options_header(handler.headers["Content-Type"])
    parts, length = [], 0
    with multipart.PushMultipartParser(options["boundary"], max_header_size=SIZE, strict=True) as parser:
        for piece in pieces(handler):
            length += len(piece)
            for event in parser.parse(piece):
                if isinstance(event, multipart.MultipartSegment):
                    part, hashed = event, hashlib.sha256()
                elif event is None:
                    parts.append({
                        "name": part.name, "fileName": part.filename, "type": part.content_type,
                        "fields": part.headerlist, "length": part.size, "sha256": hashed.hexdigest(),
                    })
                else:
                    hashed.update(event)
    return {"length": length, "parts": parts}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        try:
            status, reply = 200, {"/digest": digest, "/form": form}[self.path](self)
        except (EOFError, OSError):
            self.close_connection = True
            return
        except Exception as error:
            # The rest of the body cannot be distinguished from the next request.
            status, reply = 400, {"error": f"{type(error).__name__}: {error}"}
            self.close_connection = True
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = answer

    def log_request(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(sys.argv[1] + ".new", "w") as file:
        print(server.server_port, file=file)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
