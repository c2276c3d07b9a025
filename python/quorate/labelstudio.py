"""People answer in Label Studio what the learner of `quorate serve` asks: the program quorate-labelstudio.

A pass makes both sides agree. What Label Studio has counts for answers, and what the server has counts for questions, so a
pass that is repeated, or that ended in the middle, does no harm: nothing is stored here.

  annotations -> answers    each is put under the name of its Label Studio user, with the annotation's id as its source
  deleted annotations       an answer of this project whose annotation is gone is taken back
  cancelled annotations     the lease is given up, so that others may be asked
  tasks without annotation  their leases are renewed; of a question that is not open any more the task is deleted
  questions -> tasks        up to `ahead` of them wait in the project, with the prediction (not of audits)
"""

from __future__ import annotations

import argparse
import base64
import hmac
import http.client
import ipaddress
import json
import os
import re
import secrets
import signal
import struct
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

from quorate.client import Client, ServerError

__all__ = ["Bridge", "Form", "LabelStudio", "LabelStudioError", "main"]

_PAGE = 100  # tasks of a request
_MARGIN = timedelta(seconds=10)  # within which Label Studio may save changes in another order than their times
_LONGEST_WAIT = 30.0  # seconds between two attempts while a server is down
_LONGEST_BODY = 64 << 20  # bytes of a request to the listener
_ACTIONS = ["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED"]
_META = "quorate"  # the key of a task's meta with its ticket

_TOO_LATE = (404, 409, 410)  # of a lease
_REFUSED = (409, 410, 422)  # of an answer

Json = dict[str, Any]


class SetupError(Exception):
    """What the user has to change."""


class LabelStudioError(RuntimeError):
    """Label Studio refused a request: ``status`` is HTTP's."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another address."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class LabelStudio:
    """Label Studio's REST API. The token is either kind: a personal access token, which buys short-lived ones, or a legacy
    token. It appears in no message."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise SetupError(f"--url {url!r}: expected an address that begins with http:// or https://")
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._personal = token.count(".") == 2
        self._access: str | None = None
        self._open = urllib.request.build_opener(_NoRedirect).open

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Raises LabelStudioError, or ConnectionError if Label Studio cannot be reached or has trouble of its own."""
        if self._personal and self._access is None:
            self._refresh()
        try:
            return self._request(method, path, body, self._authorization())
        except LabelStudioError as error:
            if error.status != 401 or not self._personal:
                raise
        self._refresh()
        return self._request(method, path, body, self._authorization())

    def _authorization(self) -> str:
        return f"Bearer {self._access}" if self._personal else f"Token {self._token}"

    def _refresh(self) -> None:
        self._access = self._request("POST", "/api/token/refresh/", {"refresh": self._token}, None)["access"]

    def _request(self, method: str, path: str, body: Any, authorization: str | None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"Authorization": authorization} if authorization else {})
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            with self._open(request, timeout=self._timeout) as reply:
                text = reply.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                detail = self._detail(error)
            if error.code >= 500 or error.code == 429:
                raise ConnectionError(f"Label Studio at {self.url}: {error.code} {detail}") from None
            raise LabelStudioError(error.code, detail) from None
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionError(f"Label Studio at {self.url}: {getattr(error, 'reason', error)}") from None
        except ValueError:
            raise ConnectionError(f"Label Studio at {self.url}: {method} {path.split('?')[0]}: the reply is not JSON") from None

    def _detail(self, error: urllib.error.HTTPError) -> str:
        if 300 <= error.code < 400:
            return f"redirects to {error.headers.get('Location')}; expected that address as --url"
        text = error.read(100_000).decode(errors="replace")
        try:
            found = json.loads(text)
            text = "; ".join(str(found[k]) for k in ("detail", "validation_errors") if found.get(k)) or text
        except (ValueError, AttributeError):
            text = error.reason if text.lstrip().startswith("<") else text
        return " ".join(str(text).split())[:500].replace(self._token, "...")


@dataclass
class Form:
    """What a labeling config shows and asks."""

    config: str
    control: str  # name of the Choices
    shown: str  # name of the object that they belong to
    choices: list[str]
    variables: set[str]  # keys of a task's data

    @classmethod
    def read(cls, config: str) -> Form:
        """Raises SetupError if it does not ask for one of several choices."""
        try:
            root = ElementTree.fromstring(config)
        except ElementTree.ParseError as error:
            raise SetupError(f"its labeling config is no XML: {error}") from None
        controls = list(root.iter("Choices"))
        if len(controls) != 1:
            raise SetupError(f"its labeling config has {len(controls)} Choices; expected one")
        control = controls[0]
        if control.get("choice", "single") not in ("single", "single-radio"):
            raise SetupError(f"its Choices have choice={control.get('choice')!r}; expected choice=\"single\"")
        others = [tag for tag in root.iter() if tag.get("toName") and tag is not control and tag.get("required") == "true"]
        if others:
            raise SetupError(f"its {others[0].tag} is required, but Quorate asks only for Choices; expected no such tag")
        values = [choice.get("alias") or choice.get("value") or "" for choice in control.iter("Choice")]
        shows = [value for tag in root.iter() if tag.tag != "Choice" for value in tag.attrib.values()]
        variables = {name for value in shows for name in re.findall(r"^\$(\w+)", value)}
        return cls(config, control.get("name", ""), control.get("toName", "").split(",")[0], values, variables)

    @classmethod
    def make(cls, question: Mapping[str, Any]) -> Form:
        """For the fields and choices of a question: texts and images each as they are, the other columns in a table."""
        tags = [f"<Header value={quoteattr(_literal(question['prompt']))}/>", '<Header value="$task" size="6"/>']
        shown = []
        single = sum(one["kind"] in ("text", "image") for one in question["fields"]) < 2
        for one in question["fields"]:
            if one["kind"] not in ("text", "image"):
                continue
            name = _key(one["name"])
            shown.append(name)
            if not single:
                tags.append(f"<Header value={quoteattr(_literal(one['name']))} size=\"5\"/>")
            tags.append(f"<{one['kind'].capitalize()} name={quoteattr(name)} value={quoteattr('$' + name)}/>")
        if any(one["kind"] not in ("text", "image") for one in question["fields"]) or not shown:
            shown.append("columns")
            tags.append('<Table name="columns" value="$columns"/>')
        choices = "".join(f"<Choice value={quoteattr(choice)}/>" for choice in question["choices"])
        tags.append(
            f'<Choices name="label" toName={quoteattr(shown[0])} choice="single" required="true" showInline="true">'
            f"{choices}</Choices>"
        )
        return cls.read("<View>" + "".join(tags) + "</View>")

    def check(self, question: Mapping[str, Any]) -> None:
        """Raises SetupError if the question cannot be asked with this config."""
        expected = list(question["choices"])
        if sorted(self.choices) != sorted(expected):
            raise SetupError(f"its choices are {', '.join(self.choices)}; expected {', '.join(expected)}")
        known, shown = set(_data(question)), self.variables - {"task"}
        if shown and not shown & known:
            raise SetupError(
                f"its labeling config shows {', '.join('$' + name for name in sorted(shown))}; "
                f"expected some of {', '.join('$' + name for name in sorted(known))}"
            )

    def data(self, question: Mapping[str, Any]) -> Json:
        """A task's data; what the config shows and the example lacks is empty."""
        return dict.fromkeys(self.variables - {"columns"}, "") | _data(question)

    def result(self, label: str, score: float) -> list[Json]:
        """What an annotation or a prediction with this label consists of."""
        value = {"choices": [label]}
        return [{"from_name": self.control, "to_name": self.shown, "type": "choices", "value": value, "score": score}]

    def label(self, annotation: Mapping[str, Any]) -> str | None:
        """The choice of an annotation; None if it has none."""
        for item in annotation.get("result") or []:
            if item.get("from_name") == self.control and item.get("type") == "choices":
                chosen = item.get("value", {}).get("choices") or []
                return str(chosen[0]) if chosen else None
        return None


def _key(name: str) -> str:
    """A field's name as Label Studio's configs can refer to it."""
    key = re.sub(r"\W", "_", name, flags=re.ASCII)
    return key + "_" if key in ("task", "columns") else key


def _literal(text: str) -> str:
    """Text that Label Studio shows as it is: a value that begins with $ would be a variable."""
    return " " + text if text.startswith("$") else text


def _data(question: Mapping[str, Any]) -> Json:
    table: Json = {}
    data: Json = {"task": question["task"], "columns": table}
    for one in question["fields"]:
        value: Any = one["value"]
        if one["kind"] in ("number", "count"):
            try:
                value = json.loads(value)
            except ValueError:
                pass
        elif one["kind"] == "image":
            value = _image(value)
        data[_key(one["name"])] = value
        if one["kind"] not in ("text", "image"):
            table[one["name"]] = one["value"]
    return data


def _image(value: str) -> str:
    """An image as a browser shows it: grey values, as "2,1:0 255", become a PNG file."""
    found = re.fullmatch(r"(\d+),(\d+):([\d ]*)", value)
    if found is None:
        return value
    width, height, grey = int(found[1]), int(found[2]), [min(int(v), 255) for v in found[3].split()]
    if not width * height or len(grey) != width * height:
        return value
    rows = b"".join(b"\0" + bytes(grey[y * width : (y + 1) * width]) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for name, part in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        png += struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
    return "data:image/png;base64," + base64.b64encode(png).decode()


class Log:
    """Lines for people, or JSON for machines. Has no member through which a token could come."""

    def __init__(self, as_json: bool, out: TextIO) -> None:
        self._as_json = as_json
        self._out = out
        self._lock = threading.Lock()

    def __call__(self, event: str, text: str, **values: Any) -> None:
        line = json.dumps({"at": round(time.time(), 3), "event": event} | values) if self._as_json else text
        with self._lock:
            print(line, file=self._out, flush=True)


@dataclass
class Waiting:
    """A task of the project, and what is known of its question."""

    ticket: int
    example: str
    lease: str | None = None
    renewed: float = field(default_factory=time.monotonic)
    open: bool = True  # no annotation answers it
    skipped: bool = False


class Bridge:
    """Makes a Label Studio project and a server agree, a pass at a time. Not for use by several threads at once."""

    def __init__(
        self, studio: LabelStudio, server: Client, project: str, log: Log, *, ahead: int = 10, name: str = "labelstudio",
        sweep: float = 600.0, predictions: bool = True,
    ) -> None:  # fmt: skip
        self.studio = studio
        self.server = server
        self.log = log
        self._project = project
        self._ahead = ahead
        self._name = name
        self._sweep = sweep
        self._predictions = predictions
        self.project_id: int | None = None
        self.form: Form | None = None
        self._seconds = 300.0  # of a lease
        self._checked = False
        self._waiting: dict[int, Waiting] = {}  # by the task's id
        self._by_ticket: dict[int, int] = {}
        self._users: dict[int, str] = {}
        self._reported: set[tuple[Any, ...]] = set()
        self._seen: datetime | None = None  # the latest change of a task
        self._swept: float | None = None
        self._idle = False

    # A pass ----------------------------------------------------------------------------------------------------------

    def run_pass(self) -> None:
        """Raises ConnectionError if a server cannot be reached; the next pass begins with all tasks."""
        try:
            self._run_pass()
        except BaseException:
            self._swept = None
            raise

    def _run_pass(self) -> None:
        fresh: list[Json] = []
        if self.project_id is None:
            fresh = self._find_project()
        if self.project_id is not None:
            self._bring_back()
            self._keep_waiting()
        self._push(fresh)

    def _find_project(self) -> list[Json]:
        """Finds the project or makes it. Returns the question that it was made for."""
        found = self._named_project()
        if found is not None:
            try:
                self.form = Form.read(found["label_config"] or "<View/>")
            except SetupError as error:
                raise SetupError(f"project {found['title']!r}: {error}") from None
            self._use(found)
            self.log("project", f"project {found['title']!r}: {self.studio.url}/projects/{found['id']}", project=found["id"])
            return []
        question = self.server.next(self._name, self._ahead)
        if question is None:
            self._say_idle()
            return []
        self.form = Form.make(question)
        body = {
            "title": self._project,
            "description": "What the learner asks. Tasks come and go; answers are in quorate serve.",
            "label_config": self.form.config,
            "show_skip_button": True,
            "enable_empty_annotation": False,
        }
        try:
            made = self.studio.call("POST", "/api/projects", body)
        except LabelStudioError as error:
            raise SetupError(f"project {self._project!r}: Label Studio refuses to make it: {error}") from None
        self._use(made)
        self.log(
            "project", f"made project {self._project!r}: {self.studio.url}/projects/{made['id']}", project=made["id"], made=True
        )
        return [question]

    def _use(self, project: Mapping[str, Any]) -> None:
        self.project_id = int(project["id"])

    def _named_project(self) -> Json | None:
        if self._project.isdigit():
            try:
                found: Json = self.studio.get(f"/api/projects/{self._project}")
                return found
            except LabelStudioError as error:
                if error.status != 404:
                    raise
                raise SetupError(f"--project {self._project}: no project has this number") from None
        listed = self.studio.get("/api/projects", title=self._project, page_size=1000)["results"]
        same = [one for one in listed if one["title"] == self._project]
        if len(same) > 1:
            numbers = ", ".join(str(one["id"]) for one in same)
            raise SetupError(f"--project {self._project}: projects {numbers} have this title; expected the number of one")
        return same[0] if same else None

    # From Label Studio -----------------------------------------------------------------------------------------------

    def _changed_tasks(self) -> list[Json]:
        """Tasks that may have changed since the last pass; now and then all."""
        everything = self._seen is None or self._swept is None or time.monotonic() - self._swept > self._sweep
        since = None if everything or self._seen is None else self._seen - _MARGIN
        newest = self._seen
        found: dict[int, Json] = {}
        query = json.dumps({"ordering": ["-tasks:updated_at"]})
        page, total, reached = 1, 1, False
        while (page - 1) * _PAGE < total and not reached:
            try:
                reply = self.studio.get(
                    "/api/tasks", project=self.project_id, fields="all", page_size=_PAGE, page=page, query=query
                )
            except LabelStudioError as error:
                if error.status == 404 and page > 1:
                    break  # tasks were deleted meanwhile
                raise
            total = reply["total"]
            for task in reply["tasks"]:
                changed = datetime.fromisoformat(task["updated_at"].replace("Z", "+00:00"))
                newest = changed if newest is None else max(newest, changed)
                if reached := since is not None and changed < since:
                    break
                found[task["id"]] = {key: task.get(key) for key in ("id", "meta", "annotations")}
            page += 1
        if everything:
            if len(found) >= total:  # else tasks were deleted between two pages, and others slipped past
                for gone in [task for task in self._waiting if task not in found]:
                    self._drop(gone)
                self._swept = time.monotonic()
            else:
                self._swept = None
        self._seen = newest
        return list(found.values())

    def _bring_back(self) -> None:
        for task in self._changed_tasks():
            about = (task["meta"] or {}).get(_META)
            if isinstance(about, dict) and isinstance(about.get("ticket"), int):
                self._bring_back_task(task, about["ticket"], str(about.get("example", "")))

    def _bring_back_task(self, task: Json, ticket: int, example: str) -> None:
        assert self.form is not None
        waiting = self._waiting.get(task["id"])
        if waiting is None:
            waiting = self._waiting[task["id"]] = Waiting(ticket, example)
            self._by_ticket.setdefault(ticket, task["id"])
        wanted: dict[str, tuple[Json, str]] = {}
        skipped = False
        for annotation in sorted(task["annotations"], key=lambda one: (one["updated_at"], one["id"])):
            label = None if annotation["was_cancelled"] else self.form.label(annotation)
            if label is None:
                skipped = True
            else:
                wanted[self._user(annotation["completed_by"])] = annotation, label
        waiting.open = not wanted
        try:
            known = self.server.answers(ticket, example)
        except ServerError as error:
            if error.status != 404:
                raise
            known = {"open": False, "holder": None, "lease": None, "answers": []}
        if known.get("long_ago"):
            wanted.clear()  # the server has dropped what it would compare
        answers = known["answers"]
        for given in answers:
            if given["annotator"] not in wanted and given["source"].startswith(f"labelstudio {self.project_id} "):
                self._take_back(waiting, given)
        for annotator, (annotation, label) in wanted.items():
            source = f"labelstudio {self.project_id} {annotation['id']}"
            same = {"annotator": annotator, "label": label, "source": source}
            if not any(same.items() <= given.items() for given in answers):
                self._put(waiting, annotator, annotation, label, source)
        if waiting.open and answers:  # taken back, so the lease is another
            self._look_again(task["id"], waiting)
        elif waiting.open:
            self._note_holder(task["id"], waiting, known)
        if waiting.open and skipped and not waiting.skipped:
            self._skip(ticket, waiting.lease)
            waiting.lease = None
        waiting.skipped = skipped and waiting.open

    def _put(self, waiting: Waiting, annotator: str, annotation: Json, label: str, source: str) -> None:
        seconds = annotation.get("lead_time")
        about = f"ticket {waiting.ticket}, {annotator}"
        values = {"ticket": waiting.ticket, "example": waiting.example, "annotator": annotator, "annotation": annotation["id"]}
        try:
            saved = self.server.put_answer(
                waiting.ticket, annotator, label, source, example=waiting.example or None, holder=self._name,
                seconds=None if seconds is None else min(max(float(seconds), 0.0), 86_400.0),
            )  # fmt: skip
        except ServerError as error:
            if error.status not in _REFUSED:
                raise
            self._report(
                ("answer", annotation["id"], annotation["updated_at"]), "refused",
                f"{about}: {label} does not count: {error}", label=label, reason=str(error), **values,
            )  # fmt: skip
            return
        labels = saved["labels"]
        limit = f" of {labels['limit']}" if labels.get("limit") is not None else ""
        self.log("answer", f"{about}: {label}; {labels['bought']}{limit} labels", label=label, labels=labels["bought"], **values)

    def _take_back(self, waiting: Waiting, given: Json) -> None:
        annotator = given["annotator"]
        about, values = f"ticket {waiting.ticket}, {annotator}", {"ticket": waiting.ticket, "annotator": annotator}
        try:
            self.server.put_answer(
                waiting.ticket, annotator, None, given["source"], example=waiting.example or None, holder=self._name
            )
        except ServerError as error:
            if error.status not in _REFUSED:
                raise
            key = ("back", waiting.ticket, given["source"])
            self._report(key, "refused", f"{about}: {given['label']} stays: {error}", reason=str(error), **values)
            return
        self.log("undo", f"{about}: {given['label']} taken back", label=given["label"], **values)

    def _skip(self, ticket: int, lease: str | None) -> None:
        """Leaves the question to others, if it is held."""
        if lease is None:
            return
        try:
            self.server.skip({"lease": lease})
        except ServerError as error:
            if error.status not in _TOO_LATE:
                raise
        else:
            self.log("skip", f"ticket {ticket}: left to others", ticket=ticket)

    def _user(self, user: Any) -> str:
        number = int(user["id"] if isinstance(user, dict) else user or 0)
        if number not in self._users:
            for one in self.studio.get("/api/users"):
                name = "".join(c for c in str(one.get("email") or one.get("username") or "") if c.isprintable())
                self._users[int(one["id"])] = name.encode()[:100].decode(errors="ignore")
        return self._users.get(number) or f"Label Studio user {number}"

    def _report(self, key: tuple[Any, ...], event: str, text: str, **values: Any) -> None:
        """Once."""
        if key not in self._reported:
            self._reported.add(key)
            self.log(event, text, **values)

    # Tasks that wait -------------------------------------------------------------------------------------------------

    def _keep_waiting(self) -> None:
        """Renews leases; deletes tasks whose questions are not open for them any more."""
        for task, waiting in list(self._waiting.items()):
            if waiting.open:
                self._look_again(task, waiting)

    def _look_again(self, task: int, waiting: Waiting) -> None:
        try:
            known = self.server.answers(waiting.ticket, waiting.example)
        except ServerError as error:
            if error.status != 404:
                raise
            known = {"open": False, "holder": None}
        self._note_holder(task, waiting, known)

    def _note_holder(self, task: int, waiting: Waiting, known: Mapping[str, Any]) -> None:
        self._seconds = known.get("seconds", self._seconds)
        if self._by_ticket.get(waiting.ticket, task) != task or known.get("ticket", waiting.ticket) != waiting.ticket:
            self._remove(task, waiting, "asked again in another task")
        elif not known["open"]:
            self._remove(task, waiting, "not asked any more")
        elif known["holder"] not in (None, self._name):
            self._remove(task, waiting, f"held by {known['holder']}")
        elif known["holder"] == self._name:
            if waiting.lease != known["lease"]:
                waiting.lease, waiting.renewed = known["lease"], float("-inf")
            if time.monotonic() - waiting.renewed > self._seconds / 3:
                self._renew(waiting)
        else:
            waiting.lease = None

    def _renew(self, waiting: Waiting) -> None:
        try:
            self.server.renew({"lease": waiting.lease})
        except ServerError as error:
            if error.status not in _TOO_LATE:
                raise
            waiting.lease = None  # the next pass looks at it
            return
        waiting.renewed = time.monotonic()

    def _remove(self, task: int, waiting: Waiting, reason: str) -> None:
        """Deletes a task that nobody has answered, as seen now."""
        try:
            now = self.studio.get(f"/api/tasks/{task}")
            if any(not one["was_cancelled"] for one in now["annotations"]):
                return  # the next pass brings it back
            self.studio.call("DELETE", f"/api/tasks/{task}")
        except LabelStudioError as error:
            if error.status != 404:
                raise
        self._drop(task)
        self.log("removed", f"ticket {waiting.ticket}: {reason}; task {task} is deleted", ticket=waiting.ticket, task=task)

    def _drop(self, task: int) -> None:
        waiting = self._waiting.pop(task)
        if self._by_ticket.get(waiting.ticket) == task:
            del self._by_ticket[waiting.ticket]

    # To Label Studio -------------------------------------------------------------------------------------------------

    def _push(self, questions: list[Json]) -> None:
        """Leases what is asked, until `ahead` tasks wait."""
        if self.project_id is None or self.form is None:
            return
        held = sum(waiting.open and not waiting.skipped for waiting in self._waiting.values())
        while held + len(questions) < self._ahead:
            question = self.server.next(self._name, self._ahead)
            if question is None or any(question["ticket"] == one["ticket"] for one in questions):
                break
            task = self._by_ticket.get(question["ticket"])
            if task is None:
                questions.append(question)
            elif self._waiting[task].open:
                break  # as many are held as may be
            else:
                self._skip(question["ticket"], question["lease"])  # a second opinion, which is for somebody else
        if not questions:
            if held == 0:
                self._say_idle()
            return
        self._idle = False
        self._seconds = float(questions[0]["seconds"])
        if not self._checked:
            try:
                self.form.check(questions[0])
            except SetupError as error:
                raise SetupError(f"project {self._project!r}: {error}") from None
            self._checked = True
        tasks = [self._task(question) for question in questions]
        try:
            made = self.studio.call("POST", f"/api/projects/{self.project_id}/import?return_task_ids=true", tasks)
        except LabelStudioError as error:
            raise SetupError(f"project {self._project!r}: Label Studio refuses a task: {error}") from None
        for number, question in zip(made["task_ids"], questions, strict=True):
            self._waiting[number] = Waiting(question["ticket"], question["example"], question["lease"])
            self._by_ticket[question["ticket"]] = number
        tickets = [question["ticket"] for question in questions]
        self.log("asked", f"{len(tickets)} questions to answer: ticket{'s' * (len(tickets) > 1)} {', '.join(map(str, tickets))}",
                 tickets=tickets)  # fmt: skip

    def _task(self, question: Json) -> Json:
        assert self.form is not None
        about = {"ticket": question["ticket"], "example": question["example"], "task": question["task"]}
        task: Json = {"data": self.form.data(question), "meta": {_META: about}}
        found = prediction(self.server, question["ticket"], self.form) if self._predictions else None
        if found is not None:
            task["predictions"] = [found]
        return task

    def _say_idle(self) -> None:
        if not self._idle:
            self._idle = True
            self.log("idle", "nothing is asked now; waiting")


def prediction(server: Client, ticket: int, form: Form) -> Json | None:
    """What Label Studio shows of an open question's prediction; None of an audit, whose prediction stays hidden."""
    try:
        found = server.explain(ticket)
    except ServerError as error:
        if error.status not in (403, 404):
            raise
        return None
    if "probability" not in found or found.get("towards") not in form.choices:
        return None
    return _prediction(form, found["towards"], found["probability"])


def _prediction(form: Form, label: str, probability: float) -> Json:
    """`probability` is that of `label`."""
    if len(form.choices) == 2 and probability < 0.5:
        label, probability = next(c for c in form.choices if c != label), 1 - probability
    return {"model_version": _META, "score": probability, "result": form.result(label, probability)}


# Requests from Label Studio ------------------------------------------------------------------------------------------


def _backend_predictions(server: Client, body: Mapping[str, Any]) -> list[Json]:
    """The reply to /predict of the ML backend protocol."""
    form = Form.read(str(body.get("label_config") or ""))
    tasks = list(body.get("tasks") or [])
    ours = [isinstance((task.get("meta") or {}).get(_META), dict) for task in tasks]
    rows = [{"id": f"label studio {n}"} | dict(task.get("data") or {}) for n, task in enumerate(tasks) if not ours[n]]
    found = iter(server.predict(rows))
    out: list[Json] = []
    for task, own in zip(tasks, ours, strict=True):
        if own:
            one = prediction(server, int(task["meta"][_META]["ticket"]), form)
        else:
            row = next(found, {})
            one = None
            if row.get("label") in form.choices:
                positive = row.get("probability")
                likely = row.get("probabilities", {}).get(row["label"], positive)
                if likely is None:
                    likely = 0.5
                elif positive is not None:
                    likely = max(positive, 1 - positive)
                one = _prediction(form, row["label"], likely)
        out.append(one or {"model_version": _META, "score": 0.0, "result": []})
    return out


class Listener:
    """Takes what Label Studio sends: webhooks, as hints to look now, and the requests of the ML backend protocol. Bodies are
    never logged: they carry an access token."""

    def __init__(
        self, address: str, hint: Callable[[], None], log: Log, *, server: Callable[[], Client] | None, secret: str | None,
        password: str | None = None,
    ) -> None:  # fmt: skip
        host, port = _address(address)
        listener = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                listener._handle(self, b"")

            def do_POST(self) -> None:
                try:
                    length = int(self.headers.get("Content-Length") or 0)
                except ValueError:
                    length = -1
                if not 0 <= length <= _LONGEST_BODY:
                    self.close_connection = True
                    listener._reply(self, 413, {"detail": "the body is too long"})
                    return
                listener._handle(self, self.rfile.read(length))

        self._hint = hint
        self._log = log
        self._server = server
        self._secret = secret
        self._password = password
        try:
            self._http = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise SetupError(f"{address}: cannot listen there: {error.strerror or error}") from None
        self._http.daemon_threads = True
        port = self._http.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @staticmethod
    def _reply(to: BaseHTTPRequestHandler, status: int, body: Json) -> None:
        text = json.dumps(body).encode()
        to.send_response(status)
        if status == 401:
            to.send_header("WWW-Authenticate", 'Basic realm="quorate"')
        to.send_header("Content-Type", "application/json")
        to.send_header("Content-Length", str(len(text)))
        to.end_headers()
        to.wfile.write(text)

    def _handle(self, to: BaseHTTPRequestHandler, body: bytes) -> None:
        path = to.path.split("?")[0].rstrip("/") or "/"
        try:
            status, reply = self._answer(to, path, body)
        except (ConnectionError, ServerError, SetupError, ValueError, LookupError, TypeError, AttributeError) as error:
            bad = not isinstance(error, ConnectionError | ServerError)
            status, reply = (400 if bad else 503), {"detail": type(error).__name__ if bad else str(error)}
            self._log("failed", f"{to.command} {path}: {reply['detail']}", path=path, status=status)
        try:
            self._reply(to, status, reply)
        except OSError:
            pass  # Label Studio waits a second for some replies

    def _answer(self, to: BaseHTTPRequestHandler, path: str, body: bytes) -> tuple[int, Json]:
        if path == "/webhook":  # to a backend it is sent without a password; it only makes us look
            if self._secret is not None and not hmac.compare_digest(to.headers.get("X-Quorate") or "", self._secret):
                return 403, {"detail": "unknown sender"}
            self._hint()
            return 200, {}
        if self._server is None:
            return 404, {"detail": "no such path"}
        if path in ("/", "/health") and to.command == "GET":
            return 200, {"status": "UP", "model_class": "quorate"}
        if self._password is not None and not self._allowed(to.headers.get("Authorization") or ""):
            return 401, {"detail": "a password is needed"}
        if path == "/setup":
            return 200, {"model_version": _META}
        if path == "/versions":
            return 200, {"versions": [_META]}
        if path == "/predict" and to.command == "POST":
            return 200, {"results": _backend_predictions(self._server(), json.loads(body))}
        return 404, {"detail": "no such path"}

    def _allowed(self, given: str) -> bool:
        assert self._password is not None
        try:
            scheme, _, code = given.partition(" ")
            word = base64.b64decode(code, validate=True).partition(b":")[2]
        except ValueError:
            return False
        return scheme.lower() == "basic" and hmac.compare_digest(word, self._password.encode())


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise SetupError(f"{text!r}: expected HOST:PORT, as 127.0.0.1:9090")
    return host.strip("[]"), int(port)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Webhook:
    """Registered with the project while the program runs. One that a killed program left is replaced."""

    def __init__(self, studio: LabelStudio, project: int, url: str, secret: str) -> None:
        self._studio = studio
        self._number: int | None = None
        for old in studio.get("/api/webhooks/", project=project):
            if old["url"] == url and old["project"] == project:
                studio.call("DELETE", f"/api/webhooks/{old['id']}/")
        body = {"url": url, "project": project, "send_payload": False, "send_for_all_actions": False, "actions": _ACTIONS}
        self._number = studio.call("POST", "/api/webhooks/", body | {"headers": {"X-Quorate": secret}})["id"]

    def close(self) -> None:
        try:
            self._studio.call("DELETE", f"/api/webhooks/{self._number}/")
        except (ConnectionError, LabelStudioError):
            pass


# The program ---------------------------------------------------------------------------------------------------------


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="quorate labelstudio",
        description="Let people answer in Label Studio what quorate serve asks.",
        epilog="The token of Label Studio is read from the environment, LABEL_STUDIO_TOKEN, or from --token-file; that of the "
        "server, of the role owner, from QUORATE_TOKEN. The password of the ML backend is that of LABEL_STUDIO_BACKEND_PASSWORD.",
    )
    parser.add_argument("--server", default="http://127.0.0.1:8717", help="address of quorate serve (default: %(default)s)")
    parser.add_argument("--url", required=True, help="address of Label Studio, as http://127.0.0.1:8080")
    parser.add_argument("--project", required=True, help="title or number of the project; a title that is new makes one")
    parser.add_argument("--token-file", metavar="FILE", help="file with Label Studio's token")
    parser.add_argument("--ahead", type=int, default=10, metavar="N", help="questions that wait in the project (default: 10)")
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="time between two looks (default: 5)")
    parser.add_argument("--listen", metavar="HOST:PORT", help="take webhooks there, as hints to look now")
    parser.add_argument("--listen-url", metavar="URL", help="address of --listen as Label Studio reaches it")
    parser.add_argument("--ml-backend", metavar="HOST:PORT", help="serve the ML backend protocol there")
    parser.add_argument("--name", default="labelstudio", help="annotator under which questions are held (default: labelstudio)")
    parser.add_argument("--no-predictions", action="store_true", help="push questions without the learner's prediction")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    parser.add_argument("--json", action="store_true", help="log as JSON lines")
    options = parser.parse_args(argv)
    if not 1 <= options.ahead <= 1000:
        parser.error(f"--ahead {options.ahead}: expected 1 to 1000")
    if not 0.1 <= options.every <= 86_400:
        parser.error(f"--every {options.every}: expected 0.1 to 86400 seconds")
    if options.listen_url and not options.listen:
        parser.error("--listen-url needs --listen")
    return options


def _token(path: str | None) -> str:
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"--token-file {path}: cannot be read: {getattr(error, 'strerror', 'not text')}") from None
    else:
        token = os.environ.get("LABEL_STUDIO_TOKEN", "").strip()
    if not token:
        raise SetupError("no token of Label Studio: expected LABEL_STUDIO_TOKEN in the environment, or --token-file")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise SetupError("the token of Label Studio has spaces or other signs in it; expected one word")
    return token


class _Program:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._log = Log(options.json, sys.stdout)
        self._wake = threading.Event()
        self._webhook: Webhook | None = None
        self._secret = secrets.token_urlsafe(24)
        self._listeners: list[Listener] = []

    def run(self) -> int:
        o = self._options
        token = os.environ.get("QUORATE_TOKEN") or None
        studio = LabelStudio(o.url, _token(o.token_file))
        try:
            server = Client(o.server, token, patience=2.0)
        except ValueError as error:
            raise SetupError(f"--server: {error}") from None
        bridge = Bridge(studio, server, o.project, self._log, ahead=o.ahead, name=o.name, predictions=not o.no_predictions)
        try:
            self._listen(token)
            return self._look(bridge)
        finally:
            if self._webhook is not None:
                self._webhook.close()
            for listener in self._listeners:
                listener.close()

    def _listen(self, token: str | None) -> None:
        o = self._options
        if o.listen:
            self._listeners.append(Listener(o.listen, self._wake.set, self._log, server=None, secret=self._secret))
            self._listen_url = (o.listen_url or self._listeners[0].url).rstrip("/") + "/webhook"
        if o.ml_backend:
            password = os.environ.get("LABEL_STUDIO_BACKEND_PASSWORD") or None
            if password is None and not _loopback(_address(o.ml_backend)[0]):
                raise SetupError(
                    f"--ml-backend {o.ml_backend}: an address other than loopback needs a password; "
                    "expected LABEL_STUDIO_BACKEND_PASSWORD in the environment"
                )
            client = lambda: Client(o.server, token, patience=5.0)  # noqa: E731  (one for each thread)
            self._listeners.append(
                Listener(o.ml_backend, self._wake.set, self._log, server=client, secret=None, password=password)
            )
            url = self._listeners[-1].url
            self._log("backend", f"ML backend: {url}", url=url)

    def _look(self, bridge: Bridge) -> int:
        wait, down = 1.0, False
        while True:
            self._wake.clear()
            try:
                bridge.run_pass()
                self._register(bridge)
            except ServerError as error:
                if error.status != 503:
                    raise SetupError(f"the server at {self._options.server} refuses: {error}") from None
                trouble = f"the server at {self._options.server}: {error}"
            except LabelStudioError as error:
                if error.status in (401, 403):
                    raise SetupError(f"Label Studio at {self._options.url} refuses the token: {error}") from None
                if error.status == 404 and bridge.project_id is not None:
                    raise SetupError(f"Label Studio at {self._options.url}: the project is gone: {error}") from None
                trouble = f"Label Studio at {self._options.url}: {error}"
            except ConnectionError as error:
                trouble = str(error)
            else:
                if down:
                    self._log("up", "both servers answer again")
                wait, down = 1.0, False
                if self._options.once:
                    return 0
                self._wake.wait(self._options.every)
                continue
            if self._options.once:
                self._log("down", trouble, reason=trouble)
                return 3
            if not down:
                self._log("down", f"{trouble}; trying again until it answers, nothing is lost", reason=trouble)
            down = True
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _register(self, bridge: Bridge) -> None:
        if self._webhook is not None or not self._options.listen or self._options.once or bridge.project_id is None:
            return
        try:
            self._webhook = Webhook(bridge.studio, bridge.project_id, self._listen_url, self._secret)
        except LabelStudioError as error:
            if error.status == 401:
                raise
            raise SetupError(
                f"Label Studio refuses the webhook {self._listen_url}: {error}; of a private address it needs "
                "SSRF_PROTECTION_ENABLED=false, or leave --listen out"
            ) from None


def _interrupt(*_: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # the second one ends it at once
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """The program quorate-labelstudio. A signal may end it anywhere: a pass that is cut short does no harm."""
    program = _Program(_arguments(argv))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return program.run()
    except KeyboardInterrupt:
        return 0
    except SetupError as error:
        print(f"quorate labelstudio: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
