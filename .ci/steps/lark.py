"""Checks the example lark: runs it against a server, through pipes and in a pseudo-terminal.

    python3 .ci/steps/lark.py Examples/.build/debug/lark
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import ssl
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(__file__))
import lark_server  # noqa: E402

LARK = os.path.abspath(sys.argv[1])
BOUND = 30
server = lark_server.start()
here = f":{server.server_port}"
folder = tempfile.mkdtemp()
checks = failures = 0


def environment(more):
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and name != "NO_COLOR"}
    return {**clean, "XDG_CONFIG_HOME": folder + "/config", "TERM": "xterm", **more}


class Result:
    def __init__(self, code, out, err=""):
        self.code, self.out, self.err = code, out, err
        self.text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out).replace("\r\n", "\n")

    @property
    def json(self):
        return json.loads(self.out)


def lark(*words, stdin=None, env={}):
    """Runs lark through pipes. Without `stdin`, its input is /dev/null."""
    source = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run([LARK, *words], capture_output=True, timeout=BOUND, cwd=folder, env=environment(env), **source)
    return Result(done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode())


def terminal(*words, env={}, until=None, send=None, keys=None, rows=24, columns=100):
    """Runs lark in a pseudo-terminal. When `until` has been printed, the signal `send` or the keys are sent."""
    child, end = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(LARK, [LARK, *words], environment(env))
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    text, limit = b"", time.monotonic() + BOUND
    while True:
        ready, _, _ = select.select([end], [], [], max(0, limit - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        try:
            piece = os.read(end, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if until is not None and until in text:
            until = None
            if keys is not None:
                os.write(end, keys)
            if send is not None:
                os.kill(child, send)
    status = os.waitpid(child, 0)[1]
    os.close(end)
    return Result(os.waitstatus_to_exitcode(status), text.decode(errors="surrogateescape"))


def check(name, holds, shown=None):
    global checks, failures
    checks += 1
    if holds:
        return print("ok:", name)
    failures += 1
    print("FAILED:", name)
    if shown is not None:
        print(f"    exit {shown.code}\n    out {shown.out[:1500]!r}\n    err {shown.err[:800]!r}")


def requests():
    r = lark(here + "/echo", "name=Ada", "age:=36", "page==1", "q==a b&ü", "X-Key:abc", "X-Empty;", "Accept:", r"a\:b=c")
    seen = r.json
    check("data items make a POST with JSON in their order", seen["method"] == "POST"
          and seen["body"] == '{"name":"Ada","age":36,"a:b":"c"}' and seen["headers"]["Content-Type"] == "application/json", r)
    check("query items are encoded", seen["query"] == "page=1&q=a%20b%26%C3%BC", r)
    check("headers are sent, empty, or removed", seen["headers"]["X-Key"] == "abc" and seen["headers"]["X-Empty"] == ""
          and "Accept" not in seen["headers"], r)
    check("without data the method is GET", lark(here + "/echo").json["method"] == "GET")
    check("a method may be named in small letters", lark("put", here + "/echo").json["method"] == "PUT")
    check("options may follow the URL", lark(here + "/echo", "--form", "a=1 2", "a=x&y").json["body"] == "a=1%202&a=x%26y")
    check("--raw is the body", lark(here + "/echo", "--raw", "hello").json["body"] == "hello")
    r = lark(here + "/echo", stdin=b"from a pipe")
    check("standard input is the body, with its length", r.json["body"] == "from a pipe" and r.json["method"] == "POST"
          and r.json["headers"]["Content-Length"] == "11", r)
    check("GET does not read standard input", lark("GET", here + "/echo", stdin=b"x").json["body"] == "")
    large = b"x" * (3 << 20)
    check("large input is streamed", len(lark(here + "/echo", stdin=large).json["body"]) == 3 << 20)
    r = lark(here + "/echo", "--chunked", stdin=b"piece")
    check("--chunked streams", r.json["body"] == "piece" and r.json["headers"].get("Transfer-Encoding") == "chunked", r)
    for name, text in (("t.txt", "text of a file"), ("v.json", '{"x":[1,2]}')):
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    check("=@ and :=@ read files", lark(here + "/echo", "t=@t.txt", "v:=@v.json").json["body"]
          == '{"t":"text of a file","v":{"x":[1,2]}}')
    r = lark(here + "/echo", "@v.json")
    check("@FILE is the body, with its type", r.json["body"] == '{"x":[1,2]}'
          and r.json["headers"]["Content-Type"] == "application/json", r)
    body = lark(here + "/echo", "who=Ada", "f@t.txt", "g@t.txt;type=image/png").json
    check("files make a multipart form", body["headers"]["Content-Type"].startswith("multipart/form-data; boundary=")
          and 'name="who"' in body["body"] and 'filename="t.txt"' in body["body"] and "image/png" in body["body"])
    r = lark(here + "/echo", "--compress", "--raw", "a" * 5000)
    check("--compress compresses", r.json["headers"].get("Content-Encoding") == "gzip", r)
    r = lark("--offline", "example.com/a", "X-A:b", "token=abc", "--auth", "u:p")
    check("--offline prints the request, with https elsewhere and secrets hidden", r.out.startswith("POST /a HTTP/1.1\nHost: example.com\n")
          and "REDACTED" in r.out and "abc" not in r.out and "Basic REDACTED" in r.out, r)
    check("--show-secrets shows them", '"token":"abc"' in lark("--offline", "--show-secrets", "example.com", "token=abc").out)
    r = lark("--curl", "example.com/a", "a=1")
    check("--curl prints the command", r.out.startswith("curl \\\n") and "'https://example.com/a'" in r.out, r)
    check("--curl uses http on this machine, --default-scheme elsewhere", "'http://localhost:1/'" in lark("--curl", ":1").out
          and "'http://example.com/'" in lark("--curl", "example.com", "--default-scheme=http").out)


def exchanges():
    r = lark(here + "/redirect?2", "--print=h")
    check("redirects are shown, not followed", "302 Found" in r.out, r)
    r = lark(here + "/redirect?3", "--follow", "--all", "--print=Hh")
    check("--follow follows, --all shows each hop", r.out.count("302 Found") == 3 and "200 OK" in r.out
          and r.out.count("GET /redirect?") == 3, r)
    r = lark(here + "/redirect?5", "--max-redirects=2")
    check("too many redirects end with 6", r.code == 6 and r.err.startswith("lark: ") and r.err.count("\n") == 1, r)
    for status, code in ((204, 0), (302, 3), (404, 4), (503, 5)):
        r = lark(here + f"/status?{status}", "--check-status")
        check(f"--check-status: {status} ends with {code}", r.code == code, r)
    check("without it a 404 is a success", lark(here + "/status?404").code == 0)
    r = lark(here + "/flaky", "--retry=3")
    check("--retry tries again, and shows the last response alone", r.out == "ready", r)
    r = lark(here + "/status?503", "--retry=1", "--print=hb")
    check("the last response is shown when all attempts fail", r.out.count("503") == 2 and r.code == 0, r)
    start = time.monotonic()
    r = lark(here + "/stall", "--timeout=0.3")
    check("--timeout ends with 8", r.code == 8 and time.monotonic() - start < 10 and "--timeout" in r.err, r)
    r = lark(":1/")
    check("a refused connection ends with 7, and says what to check", r.code == 7 and "is the server running" in r.err, r)
    r = lark("http://no.such.host.invalid/")
    check("an unknown host ends with 7", r.code == 7, r)
    r = lark("https://localhost" + here + "/")
    check("a server without TLS ends with 9", r.code == 9, r)
    one, two = (lark(here + "/cached", "--cache", "cache").out for _ in range(2))
    check("--cache keeps responses", one == two == "answer 1")
    check("basic credentials are sent at once", lark(here + "/basic", "-a", "ada:pass:word").out == "welcome")
    check("digest credentials answer", lark(here + "/digest", "-A", "digest", "-a", "ada:secret").out == "welcome")
    r = lark(here + "/echo", "-A", "bearer", "-a", "tok")
    check("bearer tokens are sent", r.json["headers"]["Authorization"] == "Bearer tok", r)
    r = lark(here.replace(":", "127.0.0.1:") + "/away", "--follow", "-A", "bearer", "-a", "tok")
    check("a redirect to another host gets no token", "Authorization" not in r.json["headers"], r)
    r = terminal(here + "/basic", "-a", "ada", until=b"Password", keys=b"pass:word\n")
    check("a missing password is asked for, and not echoed", "welcome" in r.text and "pass:word" not in r.text, r)
    lark(here + "/login", "X-Kept:yes", "--session=ada")
    r = lark(here + "/echo", "--session=ada")
    check("a session keeps cookies and headers", r.json["headers"].get("Cookie") == "sid=s3cret"
          and r.json["headers"].get("X-Kept") == "yes", r)
    path = folder + "/config/lark/sessions/localhost/ada.json"
    check("its file is private", os.path.exists(path) and os.stat(path).st_mode & 0o777 == 0o600)
    check("another session does not have them", "Cookie" not in lark(here + "/echo", "--session=bob").json["headers"])
    with open(path, "w") as file:
        file.write("{damaged")
    r = lark(here + "/echo", "--session=ada")
    check("a damaged session ends with 11", r.code == 11 and "move it away" in r.err, r)


def certificate(name):
    """Makes a self-signed certificate for localhost with its key."""
    pem, key = f"{folder}/{name}.pem", f"{folder}/{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", pem, "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    return pem, key


def trust():
    (pem, key), (client, client_key) = certificate("server"), certificate("client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    context.load_verify_locations(client)
    context.verify_mode = ssl.CERT_OPTIONAL
    url = f"https://localhost:{lark_server.start(context).server_port}/json"
    r = lark(url)
    check("an unknown authority ends with 9, and names --verify", r.code == 9 and "--verify" in r.err, r)
    check("--verify no trusts any server", lark(url, "--verify", "no").code == 0)
    check("--verify CA trusts its servers", lark(url, "--verify", pem).code == 0)
    check("--verify with another CA does not", lark(url, "--verify", client).code == 9)
    check("a client certificate is sent", lark(url, "--verify", pem, "--cert", client, "--key", client_key).code == 0)
    r = lark(url, "--verify", pem, "--cert", client, "--key", key)
    check("a key of another certificate ends with 9", r.code == 9, r)
    context.verify_mode = ssl.CERT_REQUIRED
    check("a server that requires a certificate gets it", lark(url, "--verify", pem, "--cert", client, "--key", client_key).code == 0)
    check("without one the exchange fails", lark(url, "--verify", pem).code in (7, 9))


def usage():
    for words, hint in ((["--folow", here], "--follow"), (["--no-such", here], "lark --help"), ([], "a URL is missing"), (["GET"], "a URL is missing"),
                        ([here, "nonsense"], "NAME=VALUE"), ([here, "a:={"], "not JSON"), (["--print=x", here], "HBhbm"),
                        ([here, "--timeout", "soon"], "seconds"), (["--download", "--continue", here], "--output"),
                        ([here, "f=@missing.txt"], "cannot be read"), ([here, "--raw=x", "a=1"], "exclude"),
                        ([here, "--json", "f@t.txt"], "--form"), ([here, "--timeout"], "a value is missing")):
        r = lark(*words)
        check(f"mistake {' '.join(words).replace(here, 'URL')}", r.code == 2 and hint in r.err and r.err.count("\n") == 1, r)
    topics = re.findall(r"^    (\w+)  +\w", lark("--help").out.split("Topics:")[1], re.M)
    check("--help fits on a screen, and so does each topic", len(topics) >= 9 and lark("--help").out.count("\n") <= 24
          and all(lark("--help", topic).out.count("\n") <= 32 and lark("--help", topic).code == 0 for topic in topics))
    check("--version names the libraries", "Larkspur" in lark("--version").out)


def outputs():
    r = lark(here + "/bytes")
    check("a pipe gets the bytes as received", r.out.encode(errors="surrogateescape") == lark_server.LARGE)
    check("a pipe gets hostile text as received", lark(here + "/hostile").out == lark_server.HOSTILE)
    check("gzip is decoded", lark(here + "/gzip").out == "unpacked text\n")
    lark(here + "/json", "--output", "out.json")
    with open(folder + "/out.json") as file:
        check("--output writes the body", file.read().startswith('{"b": 1'))
    r = terminal(here + "/json")
    check("a terminal gets head and colours", "\x1b[32;1m200 OK" in r.out and "\x1b[34m\"b\"\x1b[0m" in r.out, r)
    check("JSON keeps order and digits", '{\n    "b": 1,\n    "a": 10000000000000000000000.10,\n    "list": [\n        1,\n' in r.text
          and '"empty": {}' in r.text, r)
    r = terminal(here + "/json", env={"NO_COLOR": "1"})
    check("NO_COLOR means no colours", "\x1b" not in r.out and '    "b": 1' in r.text, r)
    check("--pretty=all colours a pipe", "\x1b[34m" in lark(here + "/json", "--pretty=all").out)
    check("--pretty=colors keeps the layout", '{"b": 1, ' in Result(0, lark(here + "/json", "--pretty=colors").out).text)
    check("--pretty=none on a terminal is plain", '{"b": 1, ' in terminal(here + "/json", "--pretty=none").out)
    check("JSON that is not valid is shown as it came", '{"a": 1,, }' in terminal(here + "/badjson").text)
    r = lark(here + "/long", "--pretty=format", "--fold=2")
    check("--fold=2 folds below", r.out.count("{… 2 members}") == 200, r)
    r = terminal(here + "/long", "--fold", "--body")
    check("--fold fits the screen", r.text.count("\n") <= 24 and "[… 200 elements]" in r.text, r)
    for path in ("/hostile", "/hostilejson", "/binary"):
        r = terminal(here + path)
        check(f"no control character of {path} reaches a terminal", r.code == 0 and is_harmless(r), r)
    check("escapes are shown", "red \\u{1B}[31mtext" in terminal(here + "/hostile").text)
    check("a binary body is a note", "binary body, 10 bytes" in terminal(here + "/binary").text)
    r = terminal(here + "/hostile", "--pretty=none")
    check("--pretty=none is safe on a terminal, too", "\x1b" not in r.out and "\x07" not in r.out, r)
    r = terminal(":1/", env={"TERM": "dumb"})
    check("an error on a terminal is one line", r.text.count("\n") == 1 and r.code == 7, r)
    r = lark("POST", here + "/echo", "a=1", "--verbose")
    check("--verbose prints both messages", r.out.startswith("POST /echo HTTP/1.1\n") and '{"a":"1"}\n\nHTTP/1.1 200 OK' in r.out, r)
    check("--quiet prints nothing", lark(here + "/json", "--quiet").out == "")
    check("--meta prints times", "ms" in lark(here + "/json", "--meta").out)
    r = subprocess.run(f"{LARK} {here}/endless | head -1; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash",
                       capture_output=True, timeout=BOUND, stdin=subprocess.DEVNULL, env=environment({}))
    check("a closed pipe ends lark quietly", r.stdout == b"line 0\n141\n" and r.stderr == b"")


def is_harmless(r):
    """Whether the output has no control characters but those of lark itself: colours, the cursor's and those of the bar."""
    rest = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r\x1b\[K", "", r.out)
    return not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202e]|\r(?!\n)", rest) and "\x1b[31mtext" not in r.out


def hostility():
    """Text that would take over a terminal, in each place from which a server's text can come."""
    for place, words, shown in (
            ("a status line and a cookie", [here + "/hostilestatus", "--print=h"], "299"),
            ("the fields of a head", [here + "/hostile", "--print=h"], "X-Bad"),
            ("an event's name, identifier and data", [here + "/hostileevents"], "red \\u{1B}[31mtext"),
            ("lines of JSON", [here + "/hostilelines"], "\\u007f"),
            ("a redirect's target", [here + "/hostileaway", "--follow", "--all", "--print=Hh", "--meta"], "302"),
            ("a file's name", ["--download", here + "/hostilename"], "saved "),
            ("a file's name, and no colours", ["--download", here + "/hostilename", "--pretty=none"], "exe"),
            ("a message and the reason of a close", [f"ws://127.0.0.1{here}/socket?feed", "--ignore-stdin"], "closed: ")):
        r = terminal(*words)
        check(f"no control character of {place} reaches a terminal", is_harmless(r) and shown in r.text, r)
    lark(here + "/hostileevents", "--har", "hostile.har")
    r = terminal("waterfall", "hostile.har")
    check("a recording of hostile text is drawn", r.code == 0 and is_harmless(r), r)


def streams():
    r = terminal(here + "/events", "--body")
    check("events are shown one by one", 'goal 7: {"home": 1}\n' in r.text and "message 7: plain \\u{1B}[31m\n" in r.text, r)
    check("a pipe gets the stream as it is", lark(here + "/events").out.startswith("event: goal\nid: 7\n"))
    check("JSON lines are shown line by line", '{"n": 1}\n{"n": 2}\n' in terminal(here + "/jsonlines").text)
    url = f"ws://127.0.0.1{here}/socket"
    r = lark(url, stdin=b"one\ntwo\n")
    check("lines are sent, messages printed, and the socket closes after the input", r.out == "echo: one\necho: two\n" and r.code == 0, r)
    lark(url, "-a", "ada:x", stdin=b"one\n")
    check("a WebSocket has credentials, too", server.seen[-1][2].get("Authorization") == "Basic YWRhOng=", r)
    r = terminal(url + "?feed", "--ignore-stdin", "--body")
    check("messages are printed safely", '{"tick": 1}\n' in r.text and "red \\u{1B}[31m" in r.text and "binary message, 2 bytes" in r.text
          and r.code == 0, r)
    r = terminal(here + "/endless", until=b"line 1", send=signal.SIGINT)
    check("Ctrl-C ends a stream with 130", r.code == 130 and "lark:" not in r.text, r)


def transfers():
    target = folder + "/file.bin"
    r = terminal("--download", here + "/file.bin?pace")
    whole = open(target, "rb").read() == lark_server.LARGE if os.path.exists(target) else False
    check("--download saves the file, with progress", whole and "█" in r.text and "/s" in r.text and "saved file.bin" in r.text, r)
    check("the cursor is hidden and shown again", r.out.rfind("\x1b[?25h") > r.out.rfind("\x1b[?25l") >= 0, r)
    r = lark("--download", here + "/file.bin")
    check("an existing file is not replaced", r.code == 11 and "--output" in r.err, r)
    check("--output replaces it", lark("--download", here + "/file.bin", "-o", "file.bin").code == 0)
    r = lark("--download", here + "/status?404", "-o", "no.bin")
    check("an error page is not a file", r.code == 4 and not os.path.exists(folder + "/no.bin"), r)
    r = lark("--download", here + "/file.bin?cut", "-o", "part.bin")
    check("a lost connection keeps what has come", r.code in (7, 10) and "--continue" in r.err, r)
    r = lark("--download", "--continue", here + "/file.bin?cut", "-o", "part.bin")
    check("--continue fetches the rest", r.code == 0 and open(folder + "/part.bin", "rb").read() == lark_server.LARGE
          and server.seen[-1][2].get("Range") == f"bytes={len(lark_server.LARGE) // 2}-", r)
    r = terminal("--download", here + "/file.bin?slow", "-o", "stop.bin", until="█".encode(), send=signal.SIGINT)
    check("Ctrl-C ends a download with 130, and shows the cursor", r.code == 130 and "--continue" in r.text
          and r.out.rfind("\x1b[?25h") > r.out.rfind("\x1b[?25l"), r)
    r = lark("--download", "--continue", here + "/file.bin?slow", "-o", "stop.bin")
    check("it can be continued", r.code == 0 and open(folder + "/stop.bin", "rb").read() == lark_server.LARGE, r)


    with open(folder + "/big.bin", "wb") as file:
        file.write(bytes(12 << 20))
    r = terminal(here + "/slowly", "@big.bin", "--body")
    check("a slow upload has a progress bar, which is removed at its end", "of 13 MB" in r.text and "░" in r.text
          and r.text.endswith("thanks\n"), r)


def stopped(number, *words, after=1):
    """Sends a signal once the server has received so many requests."""
    before = len(server.seen)
    process = subprocess.Popen([LARK, *words], cwd=folder, env=environment({}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    limit = time.monotonic() + BOUND
    while len(server.seen) < before + after and time.monotonic() < limit:
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=BOUND)
    return Result(process.returncode, out.decode(), err.decode())


def interruptions():
    r = stopped(signal.SIGINT, here + "/stall")
    check("Ctrl-C ends a request with 130, and without a message", r.code == 130 and r.err == "", r)
    r = stopped(signal.SIGTERM, here + "/stall")
    check("SIGTERM ends it with 143", r.code == 143, r)
    r = stopped(signal.SIGINT, f"ws://127.0.0.1{here}/socket")
    check("Ctrl-C ends a WebSocket with 130", r.code == 130, r)
    r = stopped(signal.SIGINT, here + "/json", "--repeat", "1000000", "-c", "2", after=20)
    check("Ctrl-C ends a measurement, and prints what there is", r.code == 130 and "requests/s" in r.out, r)


def measurements():
    r = lark(here + "/json?counted", "--repeat", "40", "-c", "8")
    check("--repeat sends as often as asked", sum("counted" in str(seen) for seen in server.seen) == 40, r)
    check("it prints statuses, rate, percentiles and a histogram", "40 requests in" in r.out and "requests/s" in r.out
          and "200: 40" in r.out and "99 %" in r.out and "█" in r.out, r)
    r = lark(":1/", "--repeat", "3")
    check("failures are counted", "connectionRefused: 3" in r.out and r.code == 7, r)
    r = lark(here + "/redirect?1", "--follow", "--har", "visit.har")
    entries = json.load(open(folder + "/visit.har"))["log"]["entries"]
    check("--har records each hop", [e["response"]["status"] for e in entries] == [302, 200], r)
    r = lark(here + "/redirect?1", "--follow", "--waterfall", "own.html")
    page = open(folder + "/own.html").read() if r.code == 0 else ""
    check("--waterfall draws the exchange", page.lower().startswith("<!doctype html>") and "/redirect" in page, r)
    r = lark("waterfall", "visit.har")
    page = open(folder + "/visit.html").read() if r.code == 0 else ""
    check("lark waterfall draws an archive", page.lower().startswith("<!doctype html>") and "/redirect" in page, r)
    r = lark("waterfall", "t.txt")
    check("a file that is no archive is refused", r.code in (10, 11) and r.err.count("\n") == 1, r)


try:
    for part in (requests, exchanges, trust, usage, outputs, hostility, streams, transfers, interruptions, measurements):
        part()
finally:
    server.gate.set()
    shutil.rmtree(folder, ignore_errors=True)
print(f"{checks} checks, {failures} failed")
sys.exit(1 if failures else 0)
