"""Kills the background example at random times, again and again, while it downloads and uploads files. The run that is let
finish must give the very files, here and on the server, and lose no transfer.

usage: killed-background.py EXAMPLE FOLDER KILLS; the server is part of this script, on a port that the system chooses
"""

import hashlib
import http.server
import os
import random
import subprocess
import sys
import threading
import time

MEGABYTE = 1 << 20
# Bytes that a killed process may have received and not written: the sockets' buffers, and what waits between them and the file.
BUFFERS = 4 * MEGABYTE


class Server(http.server.ThreadingHTTPServer):
    """Files to download, slowly, and places for uploads: whole files in one request, or by tus."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, files, rates):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.rates = files, rates
        self.sent = {name: 0 for name in files}
        self.stored, self.partial = {}, {}
        self.guard = threading.Lock()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        name = self.path[1:]
        data, tag = self.server.files[name], f'"{name}"'
        start = 0
        if (wanted := self.headers.get("Range")) and self.headers.get("If-Range") == tag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(data):
            return self.answer(416, Content_Range=f"bytes */{len(data)}", ETag=tag)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        step = min(64 << 10, max(4096, int(self.server.rates[name] / 20)))
        for position in range(start, len(data), step):
            piece = data[position : position + step]
            self.wfile.write(piece)
            with self.server.guard:
                self.server.sent[name] += len(piece)
            time.sleep(len(piece) / self.server.rates[name])

    def pieces(self):
        """Reads the body, slowly; ends early if the client is gone."""
        left = int(self.headers["Content-Length"])
        while left:
            piece = self.rfile.read1(min(left, 64 << 10))
            if not piece:
                raise ConnectionResetError
            left -= len(piece)
            time.sleep(len(piece) / self.server.rates.get(self.path[1:], 64 * MEGABYTE))
            yield piece

    def do_PUT(self):
        self.do_POST()

    def do_POST(self):
        if length := self.headers.get("Upload-Length"):
            with self.server.guard:
                number = len(self.server.partial)
                self.server.partial[number] = (bytearray(), int(length), threading.Lock())
            return self.answer(201, Location=f"/tus/{number}", Tus_Resumable="1.0.0")
        hash = hashlib.sha256()
        for piece in self.pieces():
            hash.update(piece)
        digest = hash.hexdigest()
        with self.server.guard:
            self.server.stored.setdefault(self.path[1:], []).append(digest)
        self.answer(200, digest.encode())

    def upload(self):
        return self.server.partial[int(self.path.rsplit("/", 1)[1])]

    def do_HEAD(self):
        data, length, guard = self.upload()
        # A connection of a killed client may still store bytes.
        with guard:
            self.answer(200, Upload_Offset=len(data), Upload_Length=length, Tus_Resumable="1.0.0")

    def do_PATCH(self):
        data, length, guard = self.upload()
        with guard:
            if int(self.headers["Upload-Offset"]) != len(data):
                self.close_connection = True
                return self.answer(409)
            for piece in self.pieces():
                data.extend(piece)
        self.answer(204, Upload_Offset=len(data), Tus_Resumable="1.0.0")


def main():
    example, folder, kills = *sys.argv[1:3], int(sys.argv[3])
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    # The rates are such that kills fall into all parts of transfers: the clips end one after another, the shots in one run.
    sizes = {"film": 24 * MEGABYTE, "album": 12 * MEGABYTE} | {f"clip{number}": 300_000 for number in range(24)}
    files = {name: chance.randbytes(size + chance.randrange(1000)) for name, size in sizes.items()}
    rates = {"film": 3 * MEGABYTE, "album": 2 * MEGABYTE, "tape": 16 * MEGABYTE, "tus/0": 4 * MEGABYTE}
    rates |= {f"clip{number}": 300_000 / (0.2 + number / 3) for number in range(24)}
    rates |= {f"shot{number}": MEGABYTE for number in range(6)}
    server = Server(files, rates)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"

    os.makedirs(folder)
    sources = {"tape": 12 * MEGABYTE, "reel": 24 * MEGABYTE} | {f"shot{number}": 60_000 * (number + 1) for number in range(6)}
    bodies = {name: chance.randbytes(size + chance.randrange(1000)) for name, size in sources.items()}
    plan = [f"download {name} {base}/{name}" for name in files]
    for name, body in bodies.items():
        path = os.path.join(folder, name + ".source")
        with open(path, "wb") as file:
            file.write(body)
        plan.append(f"{'resumable' if name == 'reel' else 'upload'} {name} {base}/{name} {path}")
    place = os.path.join(folder, "plan")
    with open(place, "w") as file:
        file.write("\n".join(plan))

    command = [example, folder, place]
    killed = 0
    for number in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=chance.uniform(0.02, 0.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
            continue
        assert process.returncode == 0, f"run {number} (seed {seed}): {output.decode(errors='replace')[-4000:]}"
    last = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    output = last.stdout.decode(errors="replace")
    assert last.returncode == 0, f"{last.returncode} (seed {seed}): {output[-4000:]}"
    assert output.strip() == f"all {len(plan)} transfers are done", f"seed {seed}: {output[-4000:]}"

    for name, data in files.items():
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read() == data, f"{name} is another file (seed {seed})"
    for name in bodies.keys() - {"reel"}:
        digest = hashlib.sha256(bodies[name]).hexdigest()
        assert set(server.stored[name]) == {digest}, f"{name} arrived as another file (seed {seed})"
        with open(os.path.join(folder, name + ".done")) as file:
            assert file.read() == digest, f"the result of {name} is another one (seed {seed})"
    complete = [data for data, length, _ in server.partial.values() if len(data) == length]
    assert complete == [bodies["reel"]], f"the resumable upload is wrong, or was complete twice (seed {seed})"
    left = set(os.listdir(folder)) - {"plan", "records"} - {name + ".source" for name in bodies} - set(files)
    assert left == {name + ".done" for name in [*files, *bodies]}, f"more is left than the files (seed {seed}): {left}"
    assert os.listdir(os.path.join(folder, "records")) == ["lock"], f"records are left (seed {seed})"
    for name, data in files.items():
        assert server.sent[name] <= 1.05 * len(data) + (kills + 1) * BUFFERS, f"{name} was fetched too often (seed {seed})"
    fetched = sum(server.sent.values()) / sum(len(data) for data in files.values())
    arrived = sum(len(digests) for digests in server.stored.values())
    print(f"{killed} of {kills} runs killed; fetched {fetched:.3f} of the files; {arrived} uploads of {len(server.stored)} files")


main()
