#!/usr/bin/env python3
"""Prints a regular expression for each test and suite that has the trait `.timing`. Swift Testing cannot select by traits."""
import re
import subprocess
import sys

MARK = re.compile(r"@(Test|Suite)\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?\.timing\b")
NAME = re.compile(r"\b(?:func|struct|class|enum|extension)\s+([\w.]+)")
failed = False
for path in subprocess.run(["git", "grep", "-l", r"\.timing\b", "--", "Tests/*.swift"], capture_output=True, text=True).stdout.split():
    text = open(path, encoding="utf-8").read()
    marks = list(MARK.finditer(text))
    if len(marks) != len(re.findall(r"(?<!var )\.timing\b", text)):
        print(f"{path}: a mark that is not an argument of @Test or @Suite", file=sys.stderr)
        failed = True
    for mark in marks:
        name = NAME.search(text, mark.end()).group(1).split(".")[-1]
        print(rf"/{name}\(" if mark.group(1) == "Test" else rf"[./]{name}/")
sys.exit(failed)
