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


def read(path):
    """The identifiers of the tests that failed, and of those that did not end, without their file and line."""
    suites, failed, running = set(), set(), set()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a process that crashed
            payload = record["payload"]
            kind = payload.get("kind")
            if record["kind"] == "test":
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
    red = 0
    for _ in range(times):
        command = [program, "--testing-library", "swift-testing", "--filter", "^" + re.escape(test) + "/"]
        try:
            red += subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300).returncode != 0
        except subprocess.TimeoutExpired:
            red += 1
    return f"{red} of {times} red, alone" if red else f"0 of {times} red, alone: unstable"


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
