"""Lets processes share a token whose refresh token can be used once, and stops or kills the process that refreshes it.

usage: shared-tokens.py BENCH FOLDER [ROUNDS]    the number of rounds in which a process is killed at a random time
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
import process_server  # noqa: E402

sys.stdout.reconfigure(line_buffering=True)
USES = 1_200  # after so many uses a token is refused


class Server(process_server.Server):
    def __init__(self):
        self.number, self.limit, self.uses, self.refreshes, self.reused = 0, USES, USES, [], []
        self.kills_at_random = False
        self.signal = None  # the signal for the process of the next refresh
        self.struck = threading.Event()
        self.victim = None
        super().__init__(Handler)


class Handler(process_server.Handler):
    def do_GET(self):
        with self.server.lock:
            number = self.headers.get("Authorization", "").removeprefix("Bearer token-")
            good = number == str(self.server.number) and self.server.uses < self.server.limit
            self.server.uses += good
        self.answer(200 if good else 401)

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        server = self.server
        with server.lock:
            used = form["refresh_token"][0]
            (server.reused if used in server.refreshes else server.refreshes).append(used)
            server.number, server.uses = server.number + 1, 0
            number, chosen = server.number, server.signal
            server.signal = None
        if chosen:
            server.victim = int(self.headers["X-Process"])
            os.kill(server.victim, chosen)
            if chosen == signal.SIGSTOP:
                os.waitid(os.P_PID, server.victim, os.WSTOPPED | os.WNOWAIT)  # all of its threads have stopped
        try:
            self.answer(200, json.dumps({"access_token": f"token-{number}", "token_type": "Bearer", "expires_in": 3600,
                                         "refresh_token": f"refresh-{number}"}).encode(),
                        Content_Type="application/json")
        except OSError:
            assert chosen == signal.SIGKILL or server.kills_at_random
        if chosen:
            server.struck.set()


def main():
    bench, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 20
    server = Server()

    def start(policy, requests, store):
        return subprocess.Popen([bench, "tokens", store, server.url, policy, str(requests)], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def save(store):
        with server.lock:
            server.refreshes, server.reused, server.uses = [], [], server.limit
        subprocess.run([bench, "tokens", store, server.url, "save", f"refresh-{server.number}"], check=True)

    def ends(processes):
        return sorted(process.communicate(timeout=120)[0].decode(errors="replace").strip() for process in processes)

    def are_unknown(found):
        # A process that has failed to refresh often in a short time does not ask the store again.
        texts = {"refreshOutcomeUnknown", "excessiveRefresh,refreshOutcomeUnknown"}
        return set(found) <= texts

    def strike(policy, what, store):
        """Starts four processes, and stops or kills the one that refreshes. Returns it and the others' ends."""
        save(store)
        server.struck.clear()
        server.signal = what
        processes = [start(policy, 40, store) for _ in range(4)]
        assert server.struck.wait(60)
        victim = next(process for process in processes if process.pid == server.victim)
        return victim, ends([process for process in processes if process is not victim])

    store = os.path.join(folder, "store")
    os.makedirs(folder)

    save(store)
    found = ends([start("fail", 500, store) for _ in range(8)])
    assert found == ["ok"] * 8, found
    assert not server.reused and len(server.refreshes) >= 8 * 500 // USES, (server.refreshes, server.reused)
    assert len(server.refreshes) <= 8 * 500 // USES + 2, server.refreshes
    print(f"8 processes, 4000 requests: {len(server.refreshes)} tokens, no refresh token was used twice")

    server.limit = 1_000_000
    save(store)
    found = ends([start("fail", 1_000, store) for _ in range(8)])
    assert found == ["ok"] * 8, found
    assert len(server.refreshes) == 1 and not server.reused, (server.refreshes, server.reused)
    print("8 processes with a token that has expired, 8000 requests: one refresh")
    server.limit = USES

    victim, found = strike("fail", signal.SIGSTOP, store)
    assert len(found) == 3 and are_unknown(found), found
    victim.send_signal(signal.SIGCONT)
    assert ends([victim]) == ["ok"]
    assert ends([start("fail", 40, store)]) == ["ok"]
    assert len(server.refreshes) == 1 and not server.reused, (server.refreshes, server.reused)
    print("a process that was stopped stores its token late; until then the outcome is not known")

    victim, found = strike("reuse", signal.SIGSTOP, store)
    assert found == ["ok"] * 3, found
    victim.send_signal(signal.SIGCONT)
    assert ends([victim]) == ["ok"]
    assert ends([start("reuse", 40, store)]) == ["ok"]
    assert len(server.refreshes) == 1 and len(server.reused) == 1, (server.refreshes, server.reused)
    print("the late token of a process that was stopped is refused after another refresh")

    victim, found = strike("fail", signal.SIGKILL, store)
    assert len(found) == 3 and are_unknown(found), found
    victim.communicate()
    found = ends([start("fail", 40, store)])
    assert are_unknown(found), found
    assert len(server.refreshes) == 1 and not server.reused, (server.refreshes, server.reused)
    save(store)
    assert ends([start("fail", 40, store)]) == ["ok"]
    print("after the death of the process that refreshes, the outcome is not known until a login")

    server.kills_at_random, killed = True, 0
    for _ in range(rounds):
        save(store)
        processes = [start("reuse", 300, store) for _ in range(8)]
        time.sleep(random.random() * 0.5)
        victim = processes.pop(random.randrange(8))
        victim.kill()
        found = ends(processes)
        assert found == ["ok"] * 7, found
        # A refresh token is sent once more only if its refresh had begun in the process that was killed.
        assert len(server.reused) <= 1, server.reused
        killed += victim.wait() == -signal.SIGKILL
    print(f"{rounds} times 8 processes, {killed} of them killed at a random time: the others go on")


main()
