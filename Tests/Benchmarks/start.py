"""Measures whole processes: start.py COUNT COMMAND…

Runs the command COUNT times, which makes one request each time, and prints one line of figures as the subjects do. The
CPU time is that of the whole process, and p50_us is the median time from its start to its end.
"""

import os
import statistics
import subprocess
import sys
import time


def main():
    count, command = int(sys.argv[1]), sys.argv[2:]
    walls, cpu, rss, transferred, errors, name = [], 0.0, 0, 0, 0, ""
    for number in range(count + 1):
        start = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        lines = [line for line in output.splitlines() if line.startswith("variant=")]
        if process.returncode or not lines:
            sys.exit(1)
        if number == 0:  # the files of the program are read from the disk
            continue
        figures = dict(part.split("=", 1) for part in lines[0].split())
        name = figures["variant"]
        walls.append(wall)
        cpu += usage.ru_utime + usage.ru_stime
        rss = max(rss, usage.ru_maxrss)
        transferred += int(figures["bytes"])
        errors += int(figures["errors"])
    seconds = sum(walls)
    print(
        f"variant={name} requests={count} seconds={seconds:.3f} rps={count / seconds:.1f}",
        f"cpu_us={cpu / count * 1e6:.0f} p50_us={statistics.median(walls) * 1e6:.0f} rss_kib={rss}",
        f"bytes={transferred} errors={errors}",
    )


main()
