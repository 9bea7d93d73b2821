#!/usr/bin/env python3
"""Says of each failed test whether it fails always or sometimes: runs it ten times more, alone.

usage: failures.py EVENTS PROGRAM [TIMES]

EVENTS is the event stream of the run that failed. The verdict of that run stays.
"""
import json
import os
import re
import subprocess
import sys
import time

END = time.monotonic() + 600  # of all runs together: the step has to end, too


def read(path):
    """The identifiers of the tests that failed, and of those that did not end, without their file and line."""
    suites, failed, running = set(), set(), set()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a process that crashed
            payload = record.get("payload", {})
            kind = payload.get("kind")
            if record.get("kind") == "test":
                if kind == "suite":
                    suites.add(payload["id"])
                continue
            test = payload.get("testID")
            if kind == "issueRecorded" and not payload.get("issue", {}).get("isKnown"):
                failed.add(test)
            elif kind == "testStarted" and test not in suites:
                running.add(test)
            elif kind in ("testEnded", "testSkipped"):
                running.discard(test)
    name = lambda test: "/".join(test.split("/")[:-1]) if re.search(r"\.swift:\d+:\d+$", test) else test
    return sorted({name(test) for test in failed if test}), sorted({name(test) for test in running})


def classify(program, test, times):
    red = runs = 0
    command = [program, "--testing-library", "swift-testing", "--filter", "^" + re.escape(test) + "/"]
    while runs < times and time.monotonic() < END:
        try:
            # No pipes: a process that the test leaves behind would keep them open.
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120).returncode
        except subprocess.TimeoutExpired:
            code = 1
        if code == 69:  # EX_UNAVAILABLE: Swift Testing found no such test
            return "not found when alone"
        runs, red = runs + 1, red + (code != 0)
    if not runs:
        return "not run again"
    return f"{red} of {runs} red, alone" + ("" if red else ": unstable")


def main():
    events, program = sys.argv[1:3]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    if not os.path.exists(events):
        return print("== the tests did not begin")
    failed, unfinished = read(events)
    print("== failed tests")
    for test in failed[:10]:
        print(f"== {test}: {classify(program, test, times)}", flush=True)
    for test in failed[10:]:
        print(f"== {test}: not run again")
    if unfinished:
        print("== tests that had not ended when the process did:", *unfinished[:20], sep="\n== ")


main()
