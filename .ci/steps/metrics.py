"""Reads the metrics of a program with the parser of Prometheus's own client, and compares their numbers with each other.

usage: metrics.py PROGRAM

The program prints its metrics. The package prometheus_client is needed.
"""

import math
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families


def main():
    text = subprocess.run(sys.argv[1:], check=True, capture_output=True, timeout=60).stdout.decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families) == text.count("# TYPE "), "a family was read in two parts"
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert sum(len(family.samples) for family in families.values()) == len(lines), "a sample was lost"

    def total(name):
        return sum(sample.value for sample in families[name].samples if not sample.name.endswith(("_bucket", "_sum")))

    for family in families.values():
        assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
        assert all(sample.value >= 0 for sample in family.samples), family
        if family.type == "histogram":
            check_buckets(family)
    assert total("larkspur_requests_in_flight") == 0
    assert total("larkspur_missed_requests") == 0
    assert total("larkspur_requests") == total("larkspur_request_duration_seconds") > 0
    assert total("larkspur_attempts") == total("larkspur_requests") + total("larkspur_retries") > total("larkspur_requests")
    assert total("larkspur_hops") >= total("larkspur_attempts") + total("larkspur_redirects") - 1  # one may have no hop
    outcomes = {sample.labels["outcome"] for sample in families["larkspur_requests"].samples}
    assert outcomes == {"success", "validation", "connectivity", "cancelled"}, outcomes
    hosts = {sample.labels["host"] for sample in families["larkspur_hops"].samples}
    assert hosts == {"server", 'a "quoted" \\ name\nin two lines'}, hosts
    methods = {sample.labels["method"] for sample in families["larkspur_requests"].samples}
    assert methods == {"GET", "POST", "other"}, methods
    cached = {sample.labels["outcome"] for sample in families["larkspur_cache_responses"].samples}
    assert "hit" in cached and "miss" in cached, cached
    print(f"{len(families)} families, {len(lines)} samples: as a scraper reads them")


def check_buckets(family):
    series = {}
    for sample in family.samples:
        labels = tuple(sorted(item for item in sample.labels.items() if item[0] != "le"))
        kind = sample.name.rsplit("_", 1)[1]
        series.setdefault(labels, {}).setdefault(kind, []).append((sample.labels.get("le"), sample.value))
    for labels, parts in series.items():
        bounds = [float(bound) for bound, _ in parts["bucket"]]
        counts = [count for _, count in parts["bucket"]]
        assert bounds == sorted(bounds) and math.isinf(bounds[-1]), (family.name, labels)
        assert counts == sorted(counts) and counts[-1] == parts["count"][0][1], (family.name, labels)
        assert len(parts["sum"]) == 1, (family.name, labels)


main()
