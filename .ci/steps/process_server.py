"""What the servers have in common that several processes of a test ask, some of which are killed."""

import http.server
import sys
import threading


class Server(http.server.ThreadingHTTPServer):
    """A server on a free port of loopback, which answers on threads of its own."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # of a process that was killed, or that has ended
            super().handle_error(request, address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **fields):
        """Sends a response. The names of fields have underscores in place of hyphens."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
