"""A running `quorate serve` for tests, with examples whose label a number decides."""
import json
import select
import signal
import urllib.error
import urllib.request

from program import GUARD

SETTINGS = ["--positive", "spam", "--negative", "ham", "--labels", "40", "--audit", "0.1", "--bits", "10"]


def is_spam(number):
    return number % 3 == 0


def example(number, **more):
    words = "free money invoice" if is_spam(number) else "lunch on friday"
    return {"id": f"m{number}", "task": f"t{number % 4}", "text": f"{words} w{chr(ord('a') + number % 17)}"} | more


class Server:
    def __init__(self, quorate, *args, dir="desk", new=True):
        self.process = quorate.start("serve", "--dir", dir, *(() if "--port" in args else ("--port", "0")), *(SETTINGS if new else []), *args)
        ready, _, _ = select.select([self.process.stdout], [], [], GUARD)
        assert ready, "no address"
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url.startswith("http"), self.process.stderr.read().decode()

    def request(self, method, path, body=None, token=None, type="application/json", raw=False):
        headers = {"Content-Type": type} if body is not None else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers, method=method), timeout=GUARD) as reply:
                status, found, kind = reply.status, reply.read(), reply.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            status, found, kind = error.code, error.read(), error.headers["Content-Type"]
            assert kind == "application/problem+json"
        return (status, found.decode()) if raw else (status, json.loads(found))

    def ok(self, method, path, body=None, **kwargs):
        status, found = self.request(method, path, body, **kwargs)
        assert status == 200, found
        return found

    def post(self, first, last, **kwargs):
        lines = "".join(json.dumps(example(n)) + "\n" for n in range(first, last))
        return self.ok("POST", "/v1/examples", lines.encode(), type="application/x-ndjson", **kwargs)

    def next(self, annotator="ann"):
        return self.ok("POST", "/v1/next", {"annotator": annotator})

    def answer(self, question):
        label = "spam" if is_spam(int(question["example"][1:])) else "ham"
        return self.ok("POST", "/v1/answer", {"lease": question["lease"], "label": label, "seconds": 1.5})

    def status(self):
        return self.ok("GET", "/v1/status")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        code = self.process.wait(GUARD)
        assert how == signal.SIGKILL or code == 0, self.process.stderr.read().decode()
