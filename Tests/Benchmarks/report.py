"""Medians and ratios of a scenario's runs.

usage: report.py RESULTS SCENARIO [--verbose] [--markdown]
       report.py --check RESULTS
RESULTS has a line for each run: scenario=… subject=… repetition=… size=… and its figures, or crashed=1. With --check, the
command fails if a run transferred another number of bytes than its requests should have, or if Larkspur's requests failed.
"""

import statistics
import sys

# The first metric decides which of the two loops in C is the floor.
METRICS = {
    "a": ["p50_us", "cpu_us"],
    "b": ["rps", "cpu_us", "rss_mib"],
    "b-bare": ["rps", "cpu_us"],
    "c": ["rps", "cpu_us", "rss_mib"],
    "c-decoded": ["rps", "cpu_us", "rss_mib"],
    "c-json": ["rps", "cpu_us", "rss_mib"],
    "d": ["mbps", "rss_mib"],
    "d-file": ["mbps", "rss_mib"],
    "e": ["mbps", "rss_mib"],
    "f-h1": ["rps", "cpu_us"],
    "f-h2": ["rps", "cpu_us"],
    "h2-goaway": ["errors", "rps"],
    **{f"scaling-{concurrency}": ["rps", "cpu_us", "rss_mib"] for concurrency in (1, 8, 64, 512, 4096)},
    "start": ["cpu_us", "p50_us", "rss_mib"],
    "start-tls": ["cpu_us", "p50_us", "rss_mib"],
}
MORE_IS_BETTER = {"rps", "mbps"}
FLOORS = ["floor-poll", "floor-sockets"]
SUBJECTS = ["larkspur", "old", "floor", "urlsession"]
OTHERS = ["old", "floor", "urlsession"]


def figures(run):
    value = {name: float(run[name]) for name in ("p50_us", "rps", "cpu_us", "errors")}
    value["rss_mib"] = float(run["rss_kib"]) / 1024
    value["mbps"] = float(run["bytes"]) / float(run["seconds"]) / 1e6
    return value


def lines(path):
    with open(path) as file:
        return [dict(part.split("=", 1) for part in line.split()) for line in file]


def read(path, scenario):
    """Returns the figures of each subject's runs by repetition, and the number of each subject's crashes."""
    runs, crashes = {}, {}
    for run in lines(path):
        if run["scenario"] != scenario:
            continue
        subject = run["subject"]
        runs.setdefault(subject, {})
        crashes.setdefault(subject, 0)
        if "crashed" in run:
            crashes[subject] += 1
        else:
            runs[subject][run["repetition"]] = figures(run)
    return runs, crashes


def check(path):
    """Returns a line for each run whose bytes or errors are wrong."""
    wrong = []
    for run in lines(path):
        if "crashed" in run:
            continue
        errors, transferred = int(run["errors"]), int(run["bytes"])
        expected = (int(run["requests"]) - errors) * int(run["size"])
        name = f"scenario={run['scenario']} subject={run['subject']} repetition={run['repetition']}"
        # A failed request may have transferred a part of its body.
        if transferred != expected and not errors:
            wrong.append(f"{name}: {transferred} bytes instead of {expected}")
        if errors and run["subject"] == "larkspur":
            wrong.append(f"{name}: {errors} requests failed")
    return wrong


def ratio(runs, subject, other, metric):
    """Returns the median of the ratios of alternating runs, so that the machine's load affects both."""
    pairs = [(run, runs[other].get(repetition)) for repetition, run in runs.get(subject, {}).items()]
    ratios = [mine[metric] / theirs[metric] for mine, theirs in pairs if theirs and theirs[metric]]
    return statistics.median(ratios) if ratios else None


def text(value):
    if value is None:
        return "crashed"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def main():
    if sys.argv[1] == "--check":
        wrong = check(sys.argv[2])
        sys.exit("\n".join(wrong) if wrong else 0)
    path, scenario, *options = sys.argv[1:]
    runs, crashes = read(path, scenario)
    metrics = list(METRICS[scenario])
    if "errors" not in metrics and any(run["errors"] for all_runs in runs.values() for run in all_runs.values()):
        metrics.append("errors")

    medians = {
        subject: {metric: statistics.median(run[metric] for run in all_runs.values()) for metric in metrics}
        for subject, all_runs in runs.items()
        if all_runs
    }
    floors = [subject for subject in FLOORS if subject in medians]
    if floors:
        first = metrics[0]
        best = (max if first in MORE_IS_BETTER else min)(floors, key=lambda subject: medians[subject][first])
        medians["floor"], runs["floor"] = medians[best], runs[best]
        if "--verbose" in options:
            print(f"scenario={scenario} floor={best}")
    asked = set(runs) | ({"floor"} if set(FLOORS) & set(runs) else set())
    subjects = [name for name in SUBJECTS if name in asked]
    shown = subjects + (FLOORS if "--verbose" in options and floors else [])

    for metric in metrics:
        values = {subject: medians.get(subject, {}).get(metric) for subject in shown}
        parts = [f"scenario={scenario} metric={metric}"]
        parts += [f"{subject}={text(value)}" for subject, value in values.items()]
        ratios = {}
        for other in OTHERS:
            if values.get("larkspur") and values.get(other):
                value = ratio(runs, "larkspur", other, metric)
                if value is not None:
                    ratios[other] = value
                    parts.append(f"vs_{other}={value:.2f}")
        if "--markdown" in options:
            columns = [name for name in SUBJECTS if name != "old" or "old" in asked]
            cells = [text(values[subject]) if subject in values else "" for subject in columns]
            cells += [f"{ratios[other]:.2f}" if other in ratios else "" for other in columns[1:]]
            print(f"| {scenario} | {metric} | " + " | ".join(cells) + " |")
        else:
            print(" ".join(parts))
    for subject, count in crashes.items():
        if count and subject in medians:
            print(f"scenario={scenario} subject={subject} crashed in {count} runs of {count + len(runs[subject])}")


if __name__ == "__main__":
    main()
