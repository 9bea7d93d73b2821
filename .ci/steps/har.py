"""Checks the HTTP archive that a program writes: by the rules of HAR 1.2, and with a reader of other programs.

usage: har.py PROGRAM FILE

The program is called with the file. The package haralyzer is needed.
"""

import datetime
import json
import subprocess
import sys

from haralyzer import HarEntry, HarParser

TEXT, NUMBER, LIST, OBJECT = str, (int, float), list, dict
PAIR = {"name": TEXT, "value": TEXT}
COOKIE = {"name": TEXT, "value": TEXT}
# The members that HAR 1.2 requires, with their types. The members of a list's elements follow the name with a star.
ENTRY = {
    "startedDateTime": TEXT, "time": NUMBER, "cache": OBJECT,
    "request": {
        "method": TEXT, "url": TEXT, "httpVersion": TEXT, "cookies*": COOKIE, "headers*": PAIR, "queryString*": PAIR,
        "headersSize": NUMBER, "bodySize": NUMBER,
    },
    "response": {
        "status": NUMBER, "statusText": TEXT, "httpVersion": TEXT, "cookies*": COOKIE, "headers*": PAIR,
        "content": {"size": NUMBER, "mimeType": TEXT}, "redirectURL": TEXT, "headersSize": NUMBER, "bodySize": NUMBER,
    },
    "timings": {"send": NUMBER, "wait": NUMBER, "receive": NUMBER},
}
POST_DATA = {"mimeType": TEXT, "params*": {"name": TEXT}, "text": TEXT}


def check(value, form, path):
    assert isinstance(value, dict), f"{path} is not an object"
    for name, kind in form.items():
        key = name.rstrip("*")
        assert key in value, f"{path}.{key} is missing"
        if name.endswith("*"):
            assert isinstance(value[key], list), f"{path}.{key} is not a list"
            for number, element in enumerate(value[key]):
                check(element, kind, f"{path}.{key}[{number}]")
        elif isinstance(kind, dict):
            check(value[key], kind, f"{path}.{key}")
        else:
            assert isinstance(value[key], kind) and not isinstance(value[key], bool), f"{path}.{key}"


def check_entry(entry, path):
    check(entry, ENTRY, path)
    date = datetime.datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00"))
    assert date.tzinfo is not None, path
    phases = ("blocked", "dns", "connect", "send", "wait", "receive")
    total = sum(max(0, entry["timings"].get(phase, -1)) for phase in phases)
    assert abs(total - entry["time"]) < 0.01, f"{path}: the phases are {total}, the time is {entry['time']}"
    assert entry["timings"].get("ssl", -1) <= max(0, entry["timings"].get("connect", -1)), path
    if "postData" in entry["request"]:
        check(entry["request"]["postData"], POST_DATA, f"{path}.postData")


def main():
    program, file = sys.argv[1:]
    subprocess.run([program, file], check=True, stdout=subprocess.DEVNULL, timeout=60)
    with open(file, encoding="utf-8") as text:
        content = text.read()
    assert "s3cret" not in content, "a secret is in the archive"
    archive = json.loads(content)
    check(archive["log"], {"version": TEXT, "creator": {"name": TEXT, "version": TEXT}, "entries": LIST}, "log")
    assert archive["log"]["version"] == "1.2"
    for number, entry in enumerate(archive["log"]["entries"]):
        check_entry(entry, f"entries[{number}]")

    entries = [HarEntry(entry) for entry in HarParser(archive).har_data["entries"]]
    statuses = [entry.response.status for entry in entries]
    assert statuses == [302, 200, 503, 200, 200, 200, 201, 0, 0, 0, 101], statuses
    login = entries[4]
    assert login.request.method == "POST" and login.raw_entry["response"]["cookies"][0]["name"] == "session"
    assert {item["name"]: item["value"] for item in login.raw_entry["request"]["postData"]["params"]} == {
        "user": "Ada", "password": "REDACTED"}
    picture = entries[5]
    assert picture.request.queryString == [{"name": "page", "value": "2"}]
    assert picture.response.mimeType == "image/png" and picture.response.textEncoding == "base64"
    assert all(entry.startTime.tzinfo is not None for entry in entries)
    messages = archive["log"]["entries"][-1]["_webSocketMessages"]
    assert [message["opcode"] for message in messages] == [1, 1, 2, 2], messages
    print(f"{len(entries)} entries: as HAR 1.2 requires, and as another reader reads them")


main()
