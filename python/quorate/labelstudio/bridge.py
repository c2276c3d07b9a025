"""A pass, which synchronizes a project and a server."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from quorate.client import Client, ServerError
from quorate.labelstudio.common import META, Json, Log, SetupError
from quorate.labelstudio.form import Form
from quorate.labelstudio.predictions import of_question
from quorate.labelstudio.studio import LabelStudio, LabelStudioError

_MARGIN = timedelta(seconds=10)  # within which Label Studio may save changes in another order than their times
_TOO_LATE = (404, 409, 410)  # statuses for a lease that has ended
_REFUSED = (409, 410, 422)  # statuses for an answer


@dataclass
class Waiting:
    """A task of the project, and the state of its question."""

    ticket: int
    example: str
    lease: str | None = None
    renewed: float = field(default_factory=time.monotonic)
    open: bool = True  # no annotation answers it
    skipped: bool = False


class Bridge:
    """Synchronizes a Label Studio project and a server, one pass at a time. Not for use by several threads at once."""

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
        """Raises ConnectionError if a server cannot be reached; after an error the next pass begins with all tasks."""
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
        found = self.studio.project(self._project)
        if found is not None:
            try:
                self.form = Form.read(found["label_config"] or "<View/>")
            except SetupError as error:
                raise SetupError(f"project {found['title']!r}: {error}") from None
            self.project_id = int(found["id"])
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
        self.project_id = int(made["id"])
        self.log(
            "project", f"made project {self._project!r}: {self.studio.url}/projects/{made['id']}", project=made["id"], made=True
        )
        return [question]

    # From Label Studio -----------------------------------------------------------------------------------------------

    def _changed_tasks(self) -> list[Json]:
        """Tasks that may have changed since the last pass; every `sweep` seconds all tasks."""
        assert self.project_id is not None
        everything = self._seen is None or self._swept is None or time.monotonic() - self._swept > self._sweep
        since = None if everything or self._seen is None else self._seen - _MARGIN
        tasks, all_found = self.studio.changed_tasks(self.project_id, since)
        if everything:
            if all_found:
                found = {task["id"] for task in tasks}
                for gone in [task for task in self._waiting if task not in found]:
                    self._drop(gone)
            self._swept = time.monotonic() if all_found else None
        changes = [task["changed"] for task in tasks] + ([] if self._seen is None else [self._seen])
        self._seen = max(changes, default=None)
        return tasks

    def _bring_back(self) -> None:
        for task in self._changed_tasks():
            about = (task["meta"] or {}).get(META)
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
        known = self._known(waiting)
        if known.get("long_ago"):
            wanted.clear()  # the server no longer has the answers to compare with
        answers = known["answers"]
        for given in answers:
            if given["annotator"] not in wanted and given["source"].startswith(f"labelstudio {self.project_id} "):
                self._take_back(waiting, given)
        for annotator, (annotation, label) in wanted.items():
            source = f"labelstudio {self.project_id} {annotation['id']}"
            same = {"annotator": annotator, "label": label, "source": source}
            if not any(same.items() <= given.items() for given in answers):
                self._put(waiting, annotator, annotation, label, source)
        if waiting.open and answers:  # taken back, so there is a new lease
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
        """Logs each key once."""
        if key not in self._reported:
            self._reported.add(key)
            self.log(event, text, **values)

    # Tasks that wait -------------------------------------------------------------------------------------------------

    def _keep_waiting(self) -> None:
        """Renews leases; deletes tasks whose questions are no longer open or leased to us."""
        for task, waiting in list(self._waiting.items()):
            if waiting.open:
                self._look_again(task, waiting)

    def _look_again(self, task: int, waiting: Waiting) -> None:
        self._note_holder(task, waiting, self._known(waiting))

    def _known(self, waiting: Waiting) -> Json:
        """The server's answers to the question, and its holder."""
        try:
            return self.server.answers(waiting.ticket, waiting.example)
        except ServerError as error:
            if error.status != 404:
                raise
            return {"open": False, "holder": None, "lease": None, "answers": []}

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
            waiting.lease = None  # the next pass checks the question
            return
        waiting.renewed = time.monotonic()

    def _remove(self, task: int, waiting: Waiting, reason: str) -> None:
        """Deletes a task, unless it has an answer by now."""
        try:
            now = self.studio.get(f"/api/tasks/{task}")
            if any(not one["was_cancelled"] for one in now["annotations"]):
                return  # the next pass puts the answer
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
        """Leases questions and makes tasks of them, until `ahead` tasks wait."""
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
                break  # the limit of held questions is reached
            else:
                self._skip(question["ticket"], question["lease"])  # asked for a second answer: left to other annotators
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
        task: Json = {"data": self.form.data(question), "meta": {META: about}}
        found = of_question(self.server, question["ticket"], self.form) if self._predictions else None
        if found is not None:
            task["predictions"] = [found]
        return task

    def _say_idle(self) -> None:
        if not self._idle:
            self._idle = True
            self.log("idle", "nothing is asked now; waiting")
