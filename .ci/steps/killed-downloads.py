"""Kills the download example while it fetches a file, at random times, again and again. The run that is let finish must
give the very file, and little may have been fetched twice.

usage: killed-downloads.py EXAMPLE URL FOLDER KILLS; LARKSPUR_DOWNLOAD_FILE and _LOG are the server's file and what it has sent
"""

import hashlib
import os
import random
import subprocess
import sys
import time

# Bytes that a killed process may have received and not written: the sockets' buffers, and what waits between them and the file.
BUFFERS = 4 << 20


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sent(log, start):
    with open(log) as file:
        return sum(int(line) for line in file.readlines()[start:])


def main():
    example, url, folder, kills = *sys.argv[1:4], int(sys.argv[4])
    source, log = os.environ["LARKSPUR_DOWNLOAD_FILE"], os.environ["LARKSPUR_DOWNLOAD_LOG"]
    with open(log) as file:
        before = len(file.readlines())
    os.makedirs(folder)
    target = os.path.join(folder, "file")
    partial = os.path.join(folder, ".file.larkspur")
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    lengths = []
    for _ in range(kills):
        process = subprocess.Popen([example, url, target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.03, 0.3))
        process.kill()
        process.wait()
        assert not os.path.exists(target), f"the file is there before it is whole (seed {seed})"
        lengths.append(os.path.getsize(partial) if os.path.exists(partial) else 0)
    assert lengths == sorted(lengths), f"what was there is gone (seed {seed}): {lengths}"
    assert lengths[-1] > 0, f"nothing was written (seed {seed})"
    last = subprocess.run([example, url, target], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert last.returncode == 0, f"{last.returncode} (seed {seed}): {last.stderr.decode(errors='replace')[-4000:]}"
    assert os.listdir(folder) == ["file"], f"more is left than the file (seed {seed}): {os.listdir(folder)}"
    assert digest(target) == digest(source), f"the file is another one (seed {seed})"
    time.sleep(1)  # the server writes its log when it sees that a connection is gone
    fetched, size = sent(log, before), os.path.getsize(source)
    assert fetched <= 1.05 * size + kills * BUFFERS, f"{fetched} bytes were fetched for {size} (seed {seed})"
    print(f"{kills} kills, after {lengths} bytes; fetched {fetched / size:.3f} of the file in all")


main()
