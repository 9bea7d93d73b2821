"""Checks the pages of waterfalls in Debian's Chromium: rows, bars, filters, keys, hostile text, and the time to open.

usage: waterfall.py PROGRAM FOLDER

The program makes the page of an archive: PROGRAM ARCHIVE PAGE. Archives, pages and pictures are written to the folder.
Chromium is installed if it is missing.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

PHASES = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"]


class Browser:
    """Chromium, driven by the DevTools protocol over a pipe."""

    def __init__(self, folder):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4; copies with high numbers do not overwrite each other.
        high = [os.dup2(to_browser, 203), os.dup2(from_browser, 204)]
        os.close(to_browser), os.close(from_browser)
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars=false",
                   f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec 3<&203 4>&204 203<&- 204>&-; exec "$@"', "bash", *command], pass_fds=high,
            stderr=(folder / "chromium.log").open("w"))
        for number in high:
            os.close(number)
        self.buffer, self.number, self.session, self.problems, self.loads = b"", 0, None, [], set()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.input, 1 << 20)
            assert part, "Chromium has ended"
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        name, values = message.get("method"), message.get("params", {})
        if name == "Page.lifecycleEvent" and values["name"] == "load":
            self.loads.add(values["loaderId"])
        if name == "Runtime.exceptionThrown":
            self.problems.append(values["exceptionDetails"])
        if name == "Runtime.consoleAPICalled":
            self.problems.append(values["args"])
        if name == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(values["entry"])
        if name == "Page.javascriptDialogOpening":
            self.problems.append("a dialog: " + values["message"])
            os.write(self.output, json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True},
                                              "sessionId": self.session}).encode() + b"\0")
        if name == "Network.requestWillBeSent" and not values["request"]["url"].startswith("file:"):
            self.problems.append("a request: " + values["request"]["url"])
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def load(self, url):
        """Waits for the load of this very document: that of the one before may be reported late."""
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while loader not in self.loads:
            self.receive()

    def open(self, page, width=1300, height=800, dark=False):
        """Opens the page, and returns the seconds until it has drawn its rows."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.load("about:blank")
        self.problems = []
        start = time.monotonic()
        self.load(page.resolve().as_uri())
        # Two frames later the rows are on the screen.
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        seconds = time.monotonic() - start
        assert self.value("document.documentElement.dataset.ready") == "true", f"{page.name} is not ready: {self.problems}"
        return seconds

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def key(self, name, text=None):
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=name, **({"text": text} if text and kind == "keyDown" else {}))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        x, y = self.value(f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                          " return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        for kind in ["mousePressed", "mouseReleased"]:
            self.mouse(kind, x, y, button="left", clickCount=1)

    def picture(self, file):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


# MARK: Archives


def entry(start, timings, url="https://api.example.com/v1/items", status=200, method="GET", body="", **more):
    minutes, us = divmod(round(start * 1_000_000), 60_000_000)
    connect, ssl = timings.get("connect", -1), timings.get("ssl", -1)
    total = sum(max(0, value) for name, value in timings.items() if name != "ssl")
    value = {
        "startedDateTime": f"2026-11-26T10:{minutes:02d}:{us // 1_000_000:02d}.{us % 1_000_000:06d}Z", "time": total,
        "request": {"method": method, "url": url, "httpVersion": "HTTP/2", "cookies": [], "queryString": [],
                    "headers": [{"name": "Accept", "value": "application/json"}], "headersSize": -1, "bodySize": 0},
        "response": {"status": status, "statusText": "", "httpVersion": "HTTP/2", "cookies": [], "redirectURL": "",
                     "headers": [{"name": "Content-Type", "value": "application/json"}], "headersSize": -1,
                     "bodySize": len(body), "content": {"size": len(body), "mimeType": "application/json", "text": body}},
        "cache": {}, "timings": {name: timings.get(name, -1) for name in PHASES},
    }
    assert connect < 0 or ssl <= connect
    redirect = more.pop("redirect", None)
    if redirect:
        value["response"]["redirectURL"] = redirect
    value.update({f"_{name}": content for name, content in more.items()})
    return value


def sample(count):
    """Entries of all kinds, the same in each run."""
    entries, start, request = [], 0.0, 0
    hosts = ["api.example.com", "images.example.net", "auth.example.com", "api.example.com"]
    while len(entries) < count:
        request += 1
        number = len(entries)
        host = hosts[request % 4]
        timings = {"blocked": 2 + request % 7, "send": 0.4, "wait": 30 + request * 37 % 140, "receive": 4 + request * 13 % 90}
        if request % 4 == 1:
            timings.update(dns=12 + request % 9, connect=48 + request % 20, ssl=29)
        path = ["/v1/users?page=%d", "/thumbnails/%d.webp", "/oauth/token/%d", "/v1/orders/%d/items"][request % 4] % request
        common = dict(request=f"#{request}", attempt=1, hop=1, body=json.dumps({"id": number, "name": "Ada", "tags": ["a", "b"]}))
        url = f"https://{host}{path}"
        if request % 9 == 3:
            entries.append(entry(start, timings, url, 302, redirect="/v2" + path, **common))
            common["hop"] = 2
            entries.append(entry(start + 0.15, {"send": 0.3, "wait": 41, "receive": 12}, f"https://{host}/v2{path}", **common))
        elif request % 11 == 5:
            entries.append(entry(start, timings, url, 503, **common))
            common.update(attempt=2, hop=2)
            entries.append(entry(start + 0.4, {"send": 0.3, "wait": 62, "receive": 22}, url, **common))
        elif request % 13 == 7:
            error = "timedOut: the server did not respond within 300 ms; raise the timeout or retry"
            entries.append(entry(start, {"blocked": 3, "send": 1, "wait": 300}, url, 0, error=error, **common))
        elif request % 8 == 2:
            entries.append(entry(start, {"wait": 1.2, "receive": 0.6}, url, cache="hit", **common))
        elif request % 17 == 6:
            messages = [{"type": "send", "time": 1795687201, "opcode": 1, "data": "hello"}]
            entries.append(entry(start, timings, url.replace("https", "wss"), 101, webSocketMessages=messages, **common))
        else:
            status = 404 if request % 19 == 4 else 200
            entries.append(entry(start, timings, url, status, "POST" if request % 5 == 0 else "GET", **common))
        start += 0.02 + (request * 29 % 50) / 1000
    return entries[:count]


class Pages:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def make(self, name, entries):
        archive, page = self.folder / f"{name}.har", self.folder / f"{name}.html"
        archive.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
        subprocess.run([self.program, archive, page], check=True, stdout=subprocess.DEVNULL)
        return page


# MARK: Checks


def rows_shown(browser):
    return int(browser.value("element('grid').getAttribute('aria-rowcount')"))


def check_bars(browser, pages):
    entries = sample(30)
    browser.open(pages.make("thirty", entries), height=1200)
    drawn = browser.value("""[...document.querySelectorAll('.row')].map(node => { const lane = node.querySelector('.lane').getBoundingClientRect();
        return { index: node.row.index, top: node.getBoundingClientRect().top, path: node.querySelector('.path').textContent,
            cells: [...node.children].map(cell => cell.getAttribute('role')),
            bars: [...node.querySelectorAll('.lane i')].map(bar => { const box = bar.getBoundingClientRect();
                return [bar.className, (box.left - lane.left) / lane.width, box.width / lane.width, lane.width]; }) }; })""")
    assert len(drawn) == 30 and rows_shown(browser) == 30, f"{len(drawn)} rows of 30"
    assert len({row["top"] for row in drawn}) == 30, "rows lie above each other"
    moments = [float(item["startedDateTime"][17:-1]) * 1000 for item in entries]
    ordered = sorted(range(30), key=lambda index: (moments[index], index))
    end = max(start + item["time"] for start, item in zip(moments, entries))
    for row in drawn:
        item, start = entries[ordered[row["index"]]], moments[ordered[row["index"]]]
        assert item["request"]["url"].endswith(row["path"]), f"row {row['index']} shows {row['path']}"
        assert row["cells"] == ["gridcell"] * 5, "a row has five cells"
        width, expected = row["bars"][0][3], []
        for number, name in enumerate(PHASES):
            length = item["timings"][name]
            if name == "connect" and length >= 0:
                length -= max(0, item["timings"]["ssl"])
            if length > 0:
                expected.append((f"p{number}", start / end, length / end))
                start += length
        bars = [bar for bar in row["bars"] if bar[0].startswith("p")]
        assert [bar[0] for bar in bars] == [bar[0] for bar in expected], f"phases of row {row['index']}: {bars}"
        for bar, (name, left, length) in zip(bars, expected):
            # A bar is at least a pixel wide.
            assert abs(bar[1] - left) * width < 1.5 and abs(bar[2] - length) * width < 1.5, f"{name} of row {row['index']}: {bar}, not {left, length}"
    order = browser.value("[...document.querySelectorAll('.row')].map(node => node.row.request)")
    assert len([1 for left, right in zip(order, order[1:]) if left != right]) + 1 == len(set(order)), "hops of a request are not adjacent"
    rails = browser.value("document.querySelectorAll('.rail').length")
    assert rails == sum(order.count(number) for number in set(order) if order.count(number) > 1), "joined rows"


def check_filters(browser, pages):
    browser.open(pages.folder / "thirty.html", height=1200)
    every = browser.value("rows.map(row => ({ host: row.host, status: row.status, kinds: row.kinds, url: row.url }))")
    cases = {
        ("host", "auth.example.com"): lambda row: row["host"] == "auth.example.com", ("status", "3xx"): lambda row: row["status"] // 100 == 3,
        ("status", "No response"): lambda row: row["status"] == 0, ("text", "v2"): lambda row: "v2" in row["url"],
    } | {("kind", kind): (lambda row, kind=kind: kind in row["kinds"]) for kind in ["redirect", "retry", "cache", "error", "websocket"]}
    for (field, value), test in cases.items():
        browser.value(f"element('{field}').value = '{value}'; element('{field}').dispatchEvent(new Event('input'))")
        expected = sum(map(test, every))
        assert 0 < expected < 30, f"the sample has {expected} rows for {field} {value}"
        assert rows_shown(browser) == expected, f"{field} {value}: {rows_shown(browser)} rows, not {expected}"
        browser.value("clearFilters()")
    for column, value in [("status", "row.status"), ("time", "row.length")]:
        browser.value("element('together').checked = false; element('together').dispatchEvent(new Event('change'))")
        browser.click(f"#columns [data-key={column}]")
        order = browser.value(f"state.shown.map(row => {value})")
        assert order == sorted(order), f"sorted by {column}"
        browser.click(f"#columns [data-key={column}]")
        order = browser.value(f"state.shown.map(row => {value})")
        assert order == sorted(order, reverse=True), f"sorted by {column}, descending"


def check_keys(browser, pages):
    browser.open(pages.folder / "thirty.html", height=500)
    browser.value("grid.focus()")
    for _ in range(3):
        browser.key("ArrowDown")
    assert browser.value("rows[state.selected].place") == 2, "three arrows select the third row"
    assert browser.value("document.getElementById(grid.getAttribute('aria-activedescendant')).getAttribute('aria-selected')") == "true"
    browser.key("Enter")
    assert browser.value("!panel.hidden && document.activeElement === panel"), "Enter opens the details"
    browser.key("Escape")
    assert browser.value("panel.hidden && document.activeElement === grid"), "Escape closes the details"
    browser.key("End")
    assert browser.value("rows[state.selected].place") == 29 and browser.value("drawn.has(state.selected)"), "End selects the last row"
    browser.key("/")
    assert browser.value("document.activeElement.id") == "text", "a slash moves to the filter"
    browser.call("Input.insertText", text="no such request")
    assert rows_shown(browser) == 0 and not browser.value("element('empty').hidden"), "an empty result says so"
    browser.key("Escape")
    assert rows_shown(browser) == 30, "Escape clears the filter"
    before = browser.value("state.view[1] - state.view[0]")
    browser.key("+")
    assert browser.value("state.view[1] - state.view[0]") < before, "plus zooms in"
    browser.key("0")
    assert browser.value("state.view[1] - state.view[0]") == before, "0 shows the whole time"
    box = browser.value("(() => { const box = element('overview').getBoundingClientRect(); return [box.left, box.width, box.top + 9]; })()")
    browser.mouse("mousePressed", box[0] + box[1] / 4, box[2], button="left", clickCount=1)
    browser.mouse("mouseMoved", box[0] + box[1] / 2, box[2], button="left", buttons=1)
    browser.mouse("mouseReleased", box[0] + box[1] / 2, box[2], button="left", clickCount=1)
    span = browser.value("(state.view[1] - state.view[0]) / (whole[1] - whole[0])")
    assert abs(span - 0.25) < 0.02, f"a drag over a quarter selects {span}"
    browser.click("#theme")
    assert browser.value("getComputedStyle(document.documentElement).colorScheme") == "light"
    browser.click("#theme")
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 29)", "the dark theme"


HOSTILE = ["</script><script>window.hit=1</script>", "<!--<script>", "<img src=x onerror=\"window.hit=1\">", "]]><svg onload=window.hit=1>",
           "\"'`;window.hit=1//", "\u2028window.hit=1\u2029", "javascript:window.hit=1", "</title></style></textarea><script>window.hit=1</script>"]


def check_hostile(browser, pages):
    """Puts the texts in each place of an archive, and looks at each row."""
    entries = []
    for number, text in enumerate(HOSTILE):
        item = entry(number / 10, {"wait": 5}, f"https://h/{text}", 302, text or "GET", text, request=text, cache=text, error=text, resourceType=text)
        request, response = item["request"], item["response"]
        request["httpVersion"] = response["httpVersion"] = response["statusText"] = response["redirectURL"] = text
        request["headers"] = response["headers"] = item["_trailers"] = [{"name": text, "value": text}]
        request["postData"] = {"mimeType": text, "text": text, "params": [], "comment": text}
        response["content"].update(mimeType=text, comment=text)
        item["serverIPAddress"] = text
        item["_webSocketMessages"] = [{"type": "receive", "time": 1795687201, "opcode": 1, "data": text}]
        entries.append(item)
        entries.append(entry(number / 10, {"wait": 1}, text))
    browser.open(pages.make("hostile", entries))
    elements = browser.value("document.querySelectorAll('script').length")
    assert elements == 4, f"{elements} scripts"
    assert rows_shown(browser) == len(entries)
    for number in range(len(entries)):
        browser.value(f"choose(rows[{number}], true)")
        browser.value(f"showTip(rows[{number}], 10, 10)")
        assert browser.value("document.querySelectorAll('img, svg, a, iframe, script').length") == 4, f"row {number} made an element"
    texts = browser.value("rows.map(row => { choose(row, true); return panel.textContent; })")
    for text in HOSTILE:
        shown = text.replace("\u2028", "").replace("\u2029", "")
        assert sum(shown in content.replace("\u2028", "").replace("\u2029", "") for content in texts) >= 1, f"not shown as text: {text!r}"
    assert browser.value("window.hit") is None, "a script of an archive ran"
    # Injected elements would not run either.
    browser.value("(() => { const script = document.createElement('script'); script.textContent = 'window.hit = 1'; document.body.append(script); })()")
    assert browser.value("window.hit") is None, "the content security policy allows other scripts"
    assert browser.problems and all("Content Security Policy" in str(problem) for problem in browser.problems), browser.problems
    browser.problems = []


def check_many(browser, pages):
    seconds = browser.open(pages.make("many", sample(5000)))
    assert rows_shown(browser) == 5000
    longest, nodes = browser.value("""(async () => { let longest = 0, nodes = 0;
        for (let step = 0; step <= 60; step++) {
            const start = performance.now();
            grid.scrollTop = step / 60 * (grid.scrollHeight - grid.clientHeight);
            drawRows(false);
            document.body.getBoundingClientRect();
            longest = Math.max(longest, performance.now() - start);
            nodes = Math.max(nodes, document.querySelectorAll('.row').length);
            await new Promise(done => requestAnimationFrame(done));
        }
        return [longest, nodes]; })()""")
    filtering = browser.value("(() => { const start = performance.now(); state.text = 'thumbnails'; refresh(); const end = performance.now(); clearFilters(); return end - start; })()")
    print(f"5,000 rows: open after {seconds:.2f} s; the slowest of 60 jumps draws in {longest:.1f} ms, a filter in {filtering:.1f} ms")
    assert nodes < 200, f"{nodes} rows are in the document"
    assert longest < 250 and filtering < 1000 and seconds < 5
    browser.value("grid.scrollTop = grid.scrollHeight; drawRows(false)")
    assert browser.value("drawn.has(state.shown.at(-1).index)"), "the last row"


def check_large(browser, pages):
    entries = sample(4000)
    for number, item in enumerate(entries):
        text = json.dumps({"number": number, "text": "lorem ipsum <dolor> " * 1300})
        item["response"]["content"].update(text=text, size=len(text))
    start = time.monotonic()
    page = pages.make("large", entries)
    made = time.monotonic() - start
    size = (pages.folder / "large.har").stat().st_size
    assert size >= 100e6, f"the archive has {size} bytes"
    seconds = browser.open(page)
    assert rows_shown(browser) == 4000
    start = time.monotonic()
    browser.value("choose(rows[3999], true)")
    print(f"archive of {size / 1e6:.0f} MB: page of {page.stat().st_size / 1e6:.1f} MB (with the archive's writing in {made:.1f} s), "
          f"open after {seconds:.2f} s, details after {time.monotonic() - start:.2f} s")
    assert seconds <= 3, f"the page of a large archive opens after {seconds:.2f} s"


def pictures(browser, pages):
    pages.make("none", []), pages.make("one", sample(1))
    for name in ["none", "one", "thirty", "many"]:
        for width, dark in [(1300, False), (1300, True), (400, False), (400, True)]:
            page = pages.folder / f"{name}.html"
            browser.open(page, width, 700, dark)
            assert browser.value("document.documentElement.scrollWidth") <= width, f"{name} is wider than {width} pixels"
            browser.picture(pages.folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
            assert not browser.problems, browser.problems
    browser.open(pages.folder / "thirty.html", 1300, 700)
    browser.value("choose(rows.find(row => row.redirect), true)")
    browser.picture(pages.folder / "details.png")


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not shutil.which("chromium"):
        sys.exit("install chromium")
    pages, browser = Pages(program, folder), Browser(folder)
    try:
        for check in [check_bars, check_filters, check_keys, check_hostile, check_many, check_large, pictures]:
            check(browser, pages)
            assert not browser.problems, f"{check.__name__}: {browser.problems}"
    finally:
        browser.end()
    print("waterfall: pages as expected")


if __name__ == "__main__":
    main()
