#!/usr/bin/env python3
"""Measures WebSockets against a client in C, which shares the same server in C.

usage: Tests/Benchmarks/websockets.py [REPETITIONS]

Prints a line for each figure. Figures are medians of all repetitions, in which the clients alternate; ratios are medians
of the repetitions' ratios. README.md says what the scenarios are. Linux only.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# name, scenario, bytes of a message, messages
SCENARIOS = [
    ("echo-64", "echo", 64, 20_000),
    ("send-64", "send", 64, 1_000_000),
    ("receive-64", "receive", 64, 1_000_000),
    ("send-65536", "send", 65_536, 20_000),
    ("receive-65536", "receive", 65_536, 20_000),
]


def output(*command):
    """The figures that a command prints, by name."""
    text = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def compare(binaries, port, repetitions):
    for name, scenario, size, count in SCENARIOS:
        metric = "p50_us" if scenario == "echo" else "rate"
        ours, floor, ratios, growth = [], [], [], 0
        for _ in range(repetitions):
            reference = float(output(binaries / "websocket-floor", scenario, port, size, count)[metric])
            figures = output(binaries / "bench", "websocket", scenario, f"ws://127.0.0.1:{port}", size, count)
            growth = max(growth, int(figures.get("rss_growth_kib", 0)))
            ours.append(float(figures[metric]))
            floor.append(reference)
            ratios.append(ours[-1] / reference)
        line = f"scenario={name} metric={metric} larkspur={statistics.median(ours):.2f}"
        line += f" floor={statistics.median(floor):.2f} vs_floor={statistics.median(ratios):.2f}"
        if metric == "rate":
            line += f" mbps={statistics.median(ours) * size / 1e6:.0f}"
        if scenario == "receive":
            line += f" rss_growth_kib={growth}"
        print(line, flush=True)


def memory(binaries, port, folder):
    """The memory of sockets that wait, in clear text and over TLS."""
    certificate, key, port_file = folder / "certificate.pem", folder / "key.pem", folder / "port"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    forwarder = subprocess.Popen([sys.executable, HERE / "../../.ci/peers/forwarder.py", certificate, key, port_file])
    try:
        while not (port_file.exists() and port_file.read_text().strip()):
            if forwarder.poll() is not None:
                raise SystemExit("the TLS server has ended")
        tls = [f"wss://localhost:{port_file.read_text().strip()}", 0, 1_000, certificate, port]
        for name, arguments in [("idle", [f"ws://127.0.0.1:{port}", 0, 1_000]), ("idle-tls", tls)]:
            command = [binaries / "bench", "websocket", "idle", *arguments]
            text = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
            for line in text.splitlines():
                print(f"scenario={name} {line}", flush=True)
    finally:
        forwarder.kill()


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    build = ["swift", "build", "-c", "release", "--package-path", str(HERE)]
    print("building", file=sys.stderr)
    subprocess.run([*build, "-Xswiftc", "-warnings-as-errors"], check=True, stdout=subprocess.DEVNULL)
    binaries = pathlib.Path(
        subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip())
    server = subprocess.Popen(
        [binaries / "websocket-floor", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip().removeprefix("port=")
        compare(binaries, port, repetitions)
        figures = output(binaries / "bench", "websocket", "deflate", f"ws://127.0.0.1:{port}", 100_000, 1)
        print("scenario=deflate", *(f"{name}={value}" for name, value in figures.items()), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            memory(binaries, port, pathlib.Path(folder))
    finally:
        server.kill()


main()
