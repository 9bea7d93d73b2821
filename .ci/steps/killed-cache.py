"""Lets processes use one folder of a cache, and kills some of them at random times. Each process checks each body that it
gets. Afterwards the folder must have no leftovers, and only private files.

usage: killed-cache.py BENCH FOLDER KILLS
"""

import os
import random
import stat
import subprocess
import sys


def start(bench, folder, seconds):
    return subprocess.Popen(
        [bench, "cache-folder", folder, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process, seed):
    output, _ = process.communicate(timeout=120)
    text = output.decode(errors="replace")
    assert process.returncode == 0, f"{process.returncode} (seed {seed}): {text[-4000:]}"
    return dict(part.split("=") for part in text.split())


def main():
    bench, folder, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    root = os.path.join(folder, "larkspur-cache-1")
    survivors, killed, hits = 0, 0, 0
    steady = start(bench, folder, 5)
    while killed < kills:
        if steady.poll() is not None:
            hits += int(finish(steady, seed)["hits"])
            survivors += 1
            steady = start(bench, folder, 5)
        victim = start(bench, folder, 60)
        try:
            output, _ = victim.communicate(timeout=chance.uniform(0.03, 0.2))
            raise AssertionError(f"a process ended by itself (seed {seed}): {output.decode(errors='replace')[-4000:]}")
        except subprocess.TimeoutExpired:
            victim.kill()
            output, _ = victim.communicate()
            assert b"wrong" not in output, f"(seed {seed}): {output.decode(errors='replace')}"
            killed += 1
    hits += int(finish(steady, seed)["hits"])

    # Temporary files are removed when they are old.
    leftovers = 0
    for path, _, names in os.walk(root):
        for name in names:
            if name.startswith("new-"):
                leftovers += 1
                os.utime(os.path.join(path, name), (0, 0))
    last = finish(start(bench, folder, 2), seed)
    assert hits + int(last["hits"]) > 0, f"nothing came from the cache (seed {seed})"
    assert stat.S_IMODE(os.stat(root).st_mode) == 0o700
    for path, _, names in os.walk(root):
        for name in names:
            status = os.lstat(os.path.join(path, name))
            assert stat.S_IMODE(status.st_mode) == 0o600, f"{name} is not private"
            assert not name.startswith("new-") or status.st_mtime > 0, f"{name} is left (seed {seed})"
    print(f"{killed} processes killed, {leftovers} leftovers removed, {hits} hits, no wrong byte")


main()
