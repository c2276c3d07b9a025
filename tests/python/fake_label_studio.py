"""A small stand-in for Label Studio's REST API, to inject failures: replies as those of 1.23.2 where quorate reads them."""
import json
import re
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "header.payload.signature"


class FakeLabelStudio:
    """`trouble(method, path)` may return "before" (500, nothing done), "after" (done, then 500), or None."""

    def __init__(self):
        self.projects, self.tasks, self.annotations, self.webhooks = {}, {}, {}, {}
        self.users = {1: "ann@example.com", 2: "bob@example.com"}
        self.requests, self.access = [], set()
        self.trouble = lambda method, path: None
        self._numbers = iter(range(1, 1_000_000))
        self._time = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self._lock = threading.RLock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, reply = fake.handle(self.command, self.path, json.loads(body) if body else None, self.headers)
                text = b"" if reply is None else json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = answer

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def now(self):
        self._time += timedelta(seconds=1)
        return self._time.isoformat().replace("+00:00", "Z")

    # What people do ----------------------------------------------------------

    def annotate(self, task, label, user=1):
        return self._annotate(task, user, label=label)

    def skip(self, task, user=1):
        return self._annotate(task, user, label=None)

    def _annotate(self, task, user, label):
        with self._lock:
            number = next(self._numbers)
            self.annotations[number] = {"id": number, "task": task, "completed_by": user, "lead_time": 1.5}
            self.change(number, label)
            return number

    def change(self, annotation, label):
        with self._lock:
            one = self.annotations[annotation]
            value = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
            one.update(result=[] if label is None else [value], was_cancelled=label is None, updated_at=self.now())
            self.tasks[one["task"]]["updated_at"] = self.now()

    def delete(self, annotation):
        with self._lock:
            self.tasks[self.annotations.pop(annotation)["task"]]["updated_at"] = self.now()

    def of(self, task):
        return [one for one in self.annotations.values() if one["task"] == task]

    def waiting(self):
        return [task for task in sorted(self.tasks) if not self.of(task)]

    # Requests ----------------------------------------------------------------

    def handle(self, method, target, body, headers):
        url = urlsplit(target)
        path, query = url.path.rstrip("/"), {key: value[0] for key, value in parse_qs(url.query).items()}
        with self._lock:
            self.requests.append((method, path))
            trouble = self.trouble(method, path)
            if trouble == "before":
                return 500, {"detail": "trouble"}
            if path == "/api/token/refresh":
                if body != {"refresh": PERSONAL}:
                    return 401, {"detail": "Token is invalid"}
                self.access.add(f"access {len(self.access)}")
                return 200, {"access": f"access {len(self.access) - 1}"}
            given = headers.get("Authorization") or ""
            if given != f"Token {TOKEN}" and given.removeprefix("Bearer ") not in self.access:
                return 401, {"detail": f"Invalid token: {given}"}
            status, reply = self.route(method, path, query, body)
            return (500, {"detail": "trouble"}) if trouble == "after" else (status, reply)

    def route(self, method, path, query, body):
        number = int(found[1]) if (found := re.search(r"/(\d+)", path)) else None
        kind = re.sub(r"/\d+", "/N", path)
        if (method, kind) == ("GET", "/api/projects"):
            return 200, {"results": [p for p in self.projects.values() if query["title"] in p["title"]]}
        if (method, kind) == ("POST", "/api/projects"):
            number = next(self._numbers)
            self.projects[number] = {"id": number} | body
            return 201, self.projects[number]
        if (method, kind) == ("GET", "/api/projects/N"):
            return (200, self.projects[number]) if number in self.projects else (404, {"detail": "Not found."})
        if (method, kind) == ("POST", "/api/projects/N/import"):
            made = []
            for task in body:
                made.append(next(self._numbers))
                self.tasks[made[-1]] = {"id": made[-1], "project": number, "updated_at": self.now()} | task
            return 201, {"task_ids": made}
        if (method, kind) == ("GET", "/api/tasks"):
            tasks = [t for t in self.tasks.values() if t["project"] == int(query["project"])]
            tasks.sort(key=lambda t: t["updated_at"], reverse=True)
            page, size = int(query["page"]), int(query["page_size"])
            shown = tasks[(page - 1) * size : page * size]
            return (200, {"total": len(tasks), "tasks": [t | {"annotations": self.of(t["id"])} for t in shown]}) if shown or page == 1 else (404, {})
        if kind == "/api/tasks/N" and number not in self.tasks:
            return 404, {"detail": "Not found."}
        if (method, kind) == ("GET", "/api/tasks/N"):
            return 200, self.tasks[number] | {"annotations": self.of(number)}
        if (method, kind) == ("DELETE", "/api/tasks/N"):
            del self.tasks[number]
            self.annotations = {n: one for n, one in self.annotations.items() if one["task"] != number}
            return 204, None
        if (method, kind) == ("GET", "/api/users"):
            return 200, [{"id": n, "email": email, "username": ""} for n, email in self.users.items()]
        if (method, kind) == ("GET", "/api/webhooks"):
            return 200, list(self.webhooks.values())
        if (method, kind) == ("POST", "/api/webhooks"):
            number = next(self._numbers)
            self.webhooks[number] = {"id": number} | body
            return 201, self.webhooks[number]
        if (method, kind) == ("DELETE", "/api/webhooks/N"):
            del self.webhooks[number]
            return 204, None
        return 404, {"detail": f"{method} {path}"}
