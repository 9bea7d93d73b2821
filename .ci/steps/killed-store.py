"""Lets processes use one folder of a store, kills some of them at random times and stops others for a while. Each process
notes each of its additions to a sum in a file. Afterwards no addition may be missing, and none may be there twice.

usage: killed-store.py BENCH FOLDER KILLS
"""

import os
import random
import signal
import subprocess
import sys

sys.stdout.reconfigure(line_buffering=True)


def start(bench, folder, seconds):
    return subprocess.Popen([bench, "store", folder, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    bench, folder, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.makedirs(folder)
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    steady = start(bench, folder, 3_600)
    for number in range(kills):
        victim = start(bench, folder, 3_600)
        try:
            output, _ = victim.communicate(timeout=chance.uniform(0.02, 0.15))
            raise AssertionError(f"a process ended by itself (seed {seed}): {output.decode(errors='replace')[-2000:]}")
        except subprocess.TimeoutExpired:
            if number % 4 == 0:  # a holder that is stopped longer than its lease lasts
                victim.send_signal(signal.SIGSTOP)
                try:
                    victim.wait(0.1)
                except subprocess.TimeoutExpired:
                    pass
                victim.send_signal(signal.SIGCONT)
                try:
                    victim.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            victim.kill()
            output, _ = victim.communicate()
            assert not output, f"(seed {seed}): {output.decode(errors='replace')[-2000:]}"
    assert steady.poll() is None, f"a process ended by itself (seed {seed})"
    steady.kill()
    steady.communicate()

    last = start(bench, folder, 1)
    output, _ = last.communicate(timeout=60)
    text = output.decode(errors="replace")
    assert last.returncode == 0 and " stale=0" in text and not text.startswith("added=0 "), f"(seed {seed}): {text[-2000:]}"
    noted = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.startswith("log-"))
    with open(os.path.join(folder, "store", "value", "sum"), "rb") as file:
        record = file.read()
    # The value is the end of the record, after the kind, the length of the boot's identity and the identity.
    start_of_value = 4 + 8 + 6 * 8 + 2 + record[4 + 8 + 6 * 8 + 1]
    total = int(record[start_of_value:])
    # A process can be killed between an addition and its note.
    assert noted <= total <= noted + kills + 1, f"{noted} additions were noted, the sum is {total} (seed {seed})"
    leftovers = [name for _, _, names in os.walk(os.path.join(folder, "store")) for name in names if name.endswith(".new")]
    assert len(leftovers) <= 3, leftovers
    print(f"{kills} processes killed, {total} additions, none lost and none made twice")


main()
