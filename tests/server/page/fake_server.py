"""A small stand-in for `quorate serve`: the page's files and /v1, with failures on demand. For tests of the page alone.

    python3 tests/server/page/fake_server.py [PORT]     to look at the page by hand
"""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "apps/server/page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"


def text_question(text, task="carl", prompt="Is this message spam?", choices=("ham", "spam"), audit=False):
    return {"task": task, "prompt": prompt, "choices": list(choices), "audit": audit,
            "fields": [{"name": "text", "kind": "text", "value": text}]}


class Desk:
    """Questions, leases and answers. `fail[path]` is a list of what the next requests get: a status, a problem, "drop" (the connection breaks
    before the request is looked at), "lose" (it is carried out, the reply is lost); `slow[path]` seconds before the reply."""

    def __init__(self, questions, limit=500, lease_seconds=300):
        self.lock = threading.RLock()
        self.limit, self.lease_seconds, self.taking, self.problem = limit, lease_seconds, True, None
        self.pool = [dict(question, ticket=n, example=f"mail-{n}") for n, question in enumerate(questions, 1)]
        self.bought, self.leases, self.answers, self.skips, self.calls, self.serial = 139, {}, [], [], [], 0
        self.fail, self.slow, self.guidelines, self.token, self.changes = {}, {}, None, None, 0
        self.why, self.extra = {}, {}

    def labels(self):
        return {"bought": self.bought, "limit": self.limit, "waiting": len(self.pool), "audits": 12}

    EXPIRED = "lease: it has expired, and its question was given to somebody else or is no longer asked"  # as quorate says it

    def lease(self, question, annotator, first=False):
        self.serial += 1
        name = f"a9f3-{self.serial}"
        self.leases[name] = {"question": question, "who": annotator, "until": time.time() + self.lease_seconds, "reply": None, "label": None}
        shown = {key: question[key] for key in ("ticket", "example", "task", "prompt", "fields", "choices")}
        return shown | {"lease": name, "until": self.leases[name]["until"], "seconds": self.lease_seconds}

    def next(self, body):
        with self.lock:
            if self.limit is not None and self.bought >= self.limit:
                return {"question": None, "reason": "the label budget is spent", "labels": self.labels()}
            if not self.pool:
                return {"question": None, "reason": "no example is worth a label now", "labels": self.labels()}
            return {"question": self.lease(self.pool.pop(0), body["annotator"]), "labels": self.labels()}

    def use(self, body, label):
        lease = self.leases.get(body["lease"])
        if lease is None:
            raise Refused(404, "no such lease")
        if lease["reply"]:
            if lease["label"] != label:
                raise Refused(409, "this lease has answered otherwise")
            return lease["reply"]
        if lease["until"] < time.time():
            raise Refused(410, self.EXPIRED)
        ticket = lease["question"]["ticket"]
        lease["label"] = label
        return self.settled(lease, ticket, label)

    def settled(self, lease, ticket, label):
        self.changes += 1
        lease["reply"] = {"saved": True, "ticket": ticket} | ({"label": label} if label is not None else {})
        return lease["reply"]

    def answer(self, body):
        with self.lock:
            known = self.leases.get(body["lease"], {}).get("reply")
            reply = self.use(body, body["label"])
            if not known:
                self.answers.append((reply["ticket"], body["label"], body["seconds"], body["lease"]))
                self.bought += 1
            return reply | {"labels": self.labels()}

    def skip(self, body):
        with self.lock:
            reply = self.use(body, None)
            self.skips.append(reply["ticket"])
            return reply | {"labels": self.labels()}

    def undo(self, body):
        with self.lock:
            if not self.answers:
                raise Refused(409, "nothing to undo")
            ticket, label, _, name = self.answers.pop()
            self.bought -= 1
            question = self.leases[name]["question"]
            return {"undone": {"ticket": ticket, "label": label}, "question": self.lease(question, body["annotator"]), "labels": self.labels()}

    def renew(self, body):
        with self.lock:
            lease = self.leases.get(body["lease"])
            if lease is None or lease["until"] < time.time() or lease.get("withdrawn"):
                raise Refused(410, self.EXPIRED)
            lease["until"] = time.time() + self.lease_seconds
            return {"until": lease["until"]}

    def explain(self, ticket):
        question = next((lease["question"] for lease in self.leases.values() if str(lease["question"]["ticket"]) == ticket), None)
        if question is None:
            raise Refused(404, "no such question")
        if question["audit"]:
            raise Refused(403, "hidden")
        return {"ticket": question["ticket"], "probability": 0.54, "threshold": 0.4, "towards": "spam", "task_labels": 12, "all_labels": 127,
                "why": "It is close: 54 % spam (spam begins at 40 %) by what is known, from 12 labels of this task and 127 of all",
                "features": [{"name": "text^invoice", "shared": 0.08, "own": -0.41}, {"name": "text^free", "shared": 0.37, "own": 0.04},
                             {"name": "text^confirm", "shared": 0.31, "own": 0.02}, {"name": "text^friday", "shared": -0.03, "own": -0.22},
                             {"name": "text^your account", "shared": 0.19, "own": 0.05}, {"name": "constant", "shared": -0.07, "own": 0.0}]} | self.why

    def status(self):
        with self.lock:
            held = [lease for lease in self.leases.values() if not lease["reply"] and lease["until"] > time.time()]
            names = ["carl", "dora", "emil", "fritz", "gerda", "hanna", "ines", "jonas"]
            curve = [{"labels": 10 * n, "value": 0.975 - 0.34 * 0.72 ** n, "low": 0.975 - 0.34 * 0.72 ** n - 0.19 / (n + 1) ** 0.62,
                      "high": min(0.995, 0.975 - 0.34 * 0.72 ** n + 0.11 / (n + 1) ** 0.62)} for n in range(14)]
            return {"name": "spam", "learner": "cohort", "examples": 8123, "labels": self.labels(), "taking_answers": self.taking,
                    "accuracy": {"value": 0.964, "low": 0.931, "high": 0.983, "audits": 41}, "curve": curve,
                    "always": {"label": "ham", "accuracy": 0.652}, "when_each_came": {"value": 0.951, "low": 0.9, "high": 0.98, "audits": 30},
                    "measures": {"recall": {"value": 0.94, "low": 0.83, "high": 0.99, "audits": 15},
                                 "precision": {"value": 0.97, "low": 0.88, "high": 0.99, "audits": 15}},
                    "forecast": {"target": 0.98, "labels": 430, "low": 300, "high": 750},
                    "tasks": [{"name": name, "examples": 1930 // (n + 1) + n, "labels": 31 - 3 * n, "mistakes": (7 - n) // 2} for n, name in enumerate(names)],
                    "task_count": 41,
                    "annotators": [{"name": "ann", "answers": 71, "skips": 3, "median_seconds": 6.2, "agreement": 0.97, "holds": 1},
                                   {"name": "bob", "answers": 52, "skips": 0, "median_seconds": 4.9, "agreement": 0.95, "holds": 1},
                                   {"name": "eve", "answers": 16, "skips": 9, "median_seconds": 11.4, "agreement": None, "holds": 0}],
                    "questions": [{"ticket": lease["question"]["ticket"], "task": lease["question"]["task"], "holder": lease["who"], "until": lease["until"],
                                   "waiting_seconds": 41, "probability": 0.54} for lease in held]
                    + [{"ticket": question["ticket"], "task": question["task"], "holder": None, "until": None, "waiting_seconds": 12 + 37 * n,
                        "probability": 0.4 + 0.05 * n} for n, question in enumerate(self.pool[:5])],
                    "disagreements": [{"ticket": 9, "example": "mail-9", "task": "carl", "fields": text_question("message 9")["fields"], "answers": [{"annotator": "ann", "label": "spam"}, {"annotator": "bob", "label": "ham"}]}],
                    } | ({"problem": self.problem} if self.problem else {}) | self.extra

    def decide(self, body):
        with self.lock:
            self.extra["disagreements"] = [d for d in self.status()["disagreements"] if d["ticket"] != body["ticket"]]
            self.changes += 1
            return {"saved": True}

    def limits(self, body):
        with self.lock:
            self.limit = body["labels"]
            if body.get("audits") is False:
                self.extra["audits_left"] = 0
            self.changes += 1
            return self.status()


class Refused(Exception):
    def __init__(self, status, detail):
        super().__init__(detail)
        self.status, self.detail = status, detail


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    desk: Desk

    def setup(self):
        super().setup()
        self.server.open.add(self.connection)

    def finish(self):
        self.server.open.discard(self.connection)
        try:
            super().finish()
        except OSError:
            pass

    def log_message(self, *args):
        pass

    def reply(self, status, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), ("Content-Security-Policy", POLICY),
                            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, detail):
        self.reply(status, {"type": "about:blank", "title": "refused", "status": status, "detail": detail}, "application/problem+json")

    def handle_api(self, work):
        desk, path = self.desk, self.path
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        desk.calls.append((self.command, path, body))
        planned = desk.fail.get(path, [])
        fate = planned.pop(0) if planned else None
        if fate == "drop":
            self.close_connection = True
            self.connection.shutdown(2)
            return
        if desk.token and self.headers.get("Authorization") != f"Bearer {desk.token}":
            self.problem(401, "a token is needed")
            return
        if isinstance(fate, int):
            self.problem(fate, "disk is full" if fate == 503 else "as planned")
            return
        if isinstance(fate, dict):  # a whole problem document
            self.reply(fate["status"], {"type": "about:blank", "title": "refused", "detail": "as planned"} | fate, "application/problem+json")
            return
        try:
            found = work(body)
        except Refused as refused:
            self.problem(refused.status, refused.detail)
            return
        time.sleep(desk.slow.get(path, 0))
        if fate == "lose":
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self.reply(200, found)

    def do_POST(self):
        works = {f"/v1/{name}": getattr(self.desk, name) for name in ("next", "answer", "skip", "undo", "renew", "decide")}
        self.handle_api(works[self.path])

    def do_PUT(self):
        self.handle_api(self.desk.limits)

    def do_GET(self):
        if self.path == "/v1/status":
            self.handle_api(lambda _: self.desk.status())
        elif self.path.startswith("/v1/explain/"):
            self.handle_api(lambda _: self.desk.explain(self.path.rpartition("/")[2]))
        elif self.path == "/v1/guidelines":
            if self.desk.guidelines is None:
                self.problem(404, "no guidelines")
            else:
                self.reply(200, self.desk.guidelines.encode(), "text/markdown; charset=utf-8")
        elif self.path == "/v1/events":
            self.events()
        else:
            name = {"/": "index.html", "/team": "team.html"}.get(self.path.partition("?")[0], self.path[1:])
            file = PAGE / name
            if "/" in name or not file.is_file():
                self.problem(404, "no such page")
            else:
                self.reply(200, file.read_bytes(), TYPES[file.suffix])

    def events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.close_connection = True
        seen = None
        self.desk.calls.append(("GET", self.path, {}))
        while not self.server.stopping and not self.desk.fail.get("/v1/events"):
            if seen != self.desk.changes:
                seen = self.desk.changes
                try:
                    self.wfile.write(f"event: status\ndata: {json.dumps(self.desk.status())}\n\n".encode())
                except OSError:
                    return
            time.sleep(0.05)


class Server(ThreadingHTTPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a browser that left is no error
            super().handle_error(request, client_address)


class FakeServer:
    """`with FakeServer(desk) as server:` serves it on `server.url`; stop() and start() again on the same port play an outage."""

    def __init__(self, desk, port=0):
        self.desk, self.port, self.running = desk, port, None

    def start(self):
        self.running = Server(("127.0.0.1", self.port), type("Bound", (Handler,), {"desk": self.desk}))
        self.running.open = set()
        self.running.stopping = False
        self.port = self.running.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.running.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        if self.running:
            self.running.stopping = True
            self.running.shutdown()
            self.running.server_close()
            for connection in list(self.running.open):  # connections kept alive would go on being served
                try:
                    connection.shutdown(2)
                except OSError:
                    pass
            self.running = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


LETTER = ("Re: your invoice from last Thursday\n\nHello Carl, as discussed I attach the invoice for the second half. You are entitled to a free "
          "extension if you confirm your account before Friday.\n\nKind regards, Ann")


if __name__ == "__main__":
    desk = Desk([text_question(LETTER if n % 3 == 0 else f"Message {n}: lunch on Friday?", task=["carl", "dora", "emil"][n % 3], audit=n % 4 == 3) for n in range(400)])
    desk.guidelines = "# Spam or not\n\nSpam is mail that the reader never asked for.\n\n- newsletters that were ordered are **ham**\n"
    with FakeServer(desk, int(sys.argv[1]) if len(sys.argv) > 1 else 8718) as server:
        print(server.url)
        threading.Event().wait()
