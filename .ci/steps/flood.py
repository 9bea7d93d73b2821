"""Measures how long requests to one server take while other servers flood the same transport with HTTP/2 frames.

usage: flood.py BENCH LIBRARIES CA CERTIFICATE KEY WORK [--limit MS] [--seconds S] [--pattern NAME]... [--library NAME]...

LIBRARIES is the folder with a folder for each version of libcurl. Builds .ci/peers/flooder.c in the folder WORK, and prints a
table: the times of the neighbour's requests in milliseconds, and how often each outcome of the floods occurred. A flood is
requested again as soon as it has ended. The step fails if 99 of 100 requests need more than the limit, or if a flood has
another outcome than the pattern has to have.
"""

import argparse
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.stdout.reconfigure(line_buffering=True)

VERSIONS = ["7.74", "7.88", "8.14", "8.14-gnutls"]
# These send progress with each frame, or as much as pays for their frames, so they must not be ended.
LEGITIMATE = {"32-update-1-kib", "1-byte", "40-bytes", "events"}
# libcurl may report the end of these connections as a loss.
REPORTED_AS_LOSS = {("7.74", "https", "settings")}
TOGETHER = ["ping", "settings", "9000-ping-1-byte", "32-update-1-kib", "1-byte", "40-bytes"]


class Flooder:
    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = {name: int(port) for name, port in (line.split() for line in self.process.stdout)}

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def environment(libraries, version):
    folder = os.path.join(libraries, version)
    variables = dict(os.environ, LD_LIBRARY_PATH=folder)
    variables.pop("SSLKEYLOGFILE", None)
    is_gnutls = version.endswith("-gnutls")
    return variables, ["--library", os.path.join(folder, "libcurl-gnutls.so.4")] if is_gnutls else []


def main():
    parser = argparse.ArgumentParser()
    for name in ("bench", "libraries", "ca", "certificate", "key", "work"):
        parser.add_argument(name)
    parser.add_argument("--limit", type=float, default=50)
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--pattern", action="append")
    parser.add_argument("--library", action="append")
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    program = os.path.join(given.work, "flooder")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", ".ci/peers/flooder.c", "-o", program, "-ldl"],
                   check=True)
    flooders = {"http": Flooder(program), "https": Flooder(program, given.certificate, given.key)}
    neighbour = f"http://127.0.0.1:{flooders['http'].ports['neighbour']}/"
    names = [name for name in flooders["http"].ports if name != "neighbour"]
    failures, worst = [], 0

    def measure(version, scheme, name, patterns):
        nonlocal worst
        variables, library = environment(given.libraries, version)
        host = "127.0.0.1" if scheme == "http" else "localhost"
        floods = [word for pattern in patterns for word in ("--flood", f"{scheme}://{host}:{flooders[scheme].ports[pattern]}/")]
        run = subprocess.run(
            [given.bench, "flood", neighbour, *floods, *library, "--seconds", given.seconds, "--ca", given.ca],
            env=variables, capture_output=True, text=True, timeout=300)
        figures = dict(word.split("=", 1) for word in run.stdout.split() if "=" in word)
        if run.returncode != 0 or "p99_ms" not in figures:
            failures.append(f"{version} {scheme} {name}: {run.stdout}{run.stderr}")
            return
        outcomes = figures["floods"].replace(",", " ")
        print(f"| {version} | {scheme} | {name} | {figures['requests']} | {figures['p50_ms']} | {figures['p99_ms']} | "
              f"{figures['max_ms']} | {outcomes} |")
        worst = max(worst, float(figures["p99_ms"]))
        if float(figures["p99_ms"]) > given.limit:
            failures.append(f"{version} {scheme} {name}: 99 of 100 requests need up to {figures['p99_ms']} ms")
        if len(patterns) == 1:
            # The last flood of the time may still go on.
            ends = {word.split("=")[0] for word in outcomes.split()} - {"went-on"}
            if (version, scheme, name) in REPORTED_AS_LOSS and "connectionLost" in ends:
                ends = ends - {"connectionLost"} | {"protocolViolation"}
            if ends != (set() if name in LEGITIMATE else {"protocolViolation"}):
                failures.append(f"{version} {scheme} {name}: {outcomes}")

    print("| libcurl | scheme | pattern | requests | p50 ms | p99 ms | max ms | floods |")
    print("|---|---|---|---|---|---|---|---|")
    try:
        for version in given.library or VERSIONS:
            measure(version, "http", "none", [])
            for scheme in flooders:
                for name in given.pattern or names:
                    measure(version, scheme, name, [name])
                if not given.pattern:
                    measure(version, scheme, "six at once", TOGETHER)
    finally:
        for flooder in flooders.values():
            flooder.stop()
    for failure in failures:
        print(f"error: {failure}")
    print(f"note: p99 at most {worst} ms")
    sys.exit(bool(failures))


main()
