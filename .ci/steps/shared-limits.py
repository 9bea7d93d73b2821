"""Lets four processes share a limit, a cache and a circuit, and kills one of them.

usage: shared-limits.py BENCH STORE...    each store is a folder that does not exist, or the URL of a Redis server
"""

import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import process_server  # noqa: E402

sys.stdout.reconfigure(line_buffering=True)
PROCESSES = 4
LIMIT = 400
PAUSE = 0.5  # of a circuit, in seconds


class Server(process_server.Server):
    def __init__(self):
        self.reset()
        super().__init__(Handler)

    def reset(self):
        self.counts, self.times, self.is_well = {}, [], False


class Handler(process_server.Handler):
    def do_GET(self):
        with self.server.lock:
            self.server.counts[self.path] = self.server.counts.get(self.path, 0) + 1
            self.server.times.append(time.monotonic())
            is_well = self.server.is_well or self.path != "/circuit"
        if self.path.startswith("/cache"):
            time.sleep(0.05)  # so that the others ask meanwhile
        self.answer(200 if is_well else 503, b"hello", Cache_Control="max-age=600")


def main():
    bench, stores = sys.argv[1], sys.argv[2:]
    server = Server()

    def start(store, subject, count):
        return [subprocess.Popen([bench, "fleet", store, server.url, subject, str(count)], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for _ in range(PROCESSES)]

    def ends(processes):
        """Returns how often each outcome was printed, for each process."""
        texts = [process.communicate(timeout=120)[0].split() for process in processes]
        return [{name: int(number) for name, number in (word.split("=") for word in text)} for text in texts]

    def part(store, name):
        """A store of its own for each part. A server has one store, so its parts have subjects of their own."""
        if "://" in store:
            return store
        os.makedirs(store, exist_ok=True)
        return os.path.join(store, name)

    def rates(store, kills):
        server.reset()
        processes = start(part(store, f"rates{kills}"), "rates", LIMIT)
        if kills:
            while len(server.times) < LIMIT // 4:
                time.sleep(0.005)
            processes.pop().kill()
        found, sent = ends(processes), server.counts["/rates"]
        assert all(set(end) <= {"200", "rateLimited"} for end in found), found
        assert sent <= LIMIT, sent
        # A process that was killed takes what it has borrowed with it.
        assert kills or sent == LIMIT == sum(end.get("200", 0) for end in found), (sent, found)
        print(f"{PROCESSES} processes{', one of them killed' if kills else ''}: {sent} of {LIMIT} permits were used")

    def cache(store):
        server.reset()
        found = ends(start(part(store, "cache"), "cache", 200))
        assert found == [{"200": 200}] * PROCESSES, found
        assert len(server.counts) == 20 and set(server.counts.values()) == {1}, server.counts
        print(f"{PROCESSES} processes, {200 * PROCESSES} requests for 20 URLs: the server was asked 20 times")

    def circuit(store):
        server.reset()
        processes = start(part(store, "circuit"), "circuit", 1)
        while not server.times or time.monotonic() - server.times[0] < 6 * PAUSE:
            time.sleep(0.01)
        with server.lock:
            begin = server.times[0]
            probes = [moment for moment in server.times if begin + 2 * PAUSE < moment < begin + 6 * PAUSE]
            server.is_well = True
        found = ends(processes)
        # Alone, each process would send a probe after each pause.
        assert 1 <= len(probes) <= 5, [moment - begin for moment in server.times]
        assert all(end["200"] == 1 and end["circuitOpen"] > 0 for end in found), found
        print(f"{PROCESSES} processes with one circuit: {len(probes)} probes in four pauses, then all are well")

    for store in stores:
        for kills in (False, True) if "://" not in store else (False,):
            rates(store, kills)
        cache(store)
        circuit(store)


main()
