"""A client of `quorate serve`: post examples, get predictions, ask and answer, from a program."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["AsyncClient", "Client", "ServerError"]


class ServerError(RuntimeError):
    """The server refused a request: ``status`` is HTTP's, the text is the reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Client:
    """Speaks to the server at `url`, as "http://127.0.0.1:8717".

    Every request can be sent again without harm: an example is known by its id, and a lease takes one answer. So a request
    that failed on the way, or that the server cannot take now (503), is sent again after 0.1, 0.2, 0.4, ... seconds, until
    `patience` seconds have passed. Then it raises ConnectionError, or ServerError with status 503. `id_column`: the key of
    the id, as the server's --id-column. Not for use by several threads at once; make one for each.
    """

    def __init__(
        self, url: str, token: str | None = None, *, patience: float = 30.0, timeout: float = 60.0, id_column: str = "id"
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url {url!r}: expected one that begins with http:// or https://")
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience = patience
        self._timeout = timeout
        self._id = id_column

    def post(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Posts examples, dicts with an id, maybe a ``task``, and whatever describes them; with a ``label`` they are
        learned from. Returns for each its prediction, and whether it is asked about. Without an id an example that is sent
        again counts twice, so ValueError is raised."""
        rows = list(examples)
        for row in rows:
            if not isinstance(row, Mapping):
                raise ValueError(f"example {row!r}: expected a dict; of a frame, frame.to_dict('records')")
            if self._id not in row:
                raise ValueError(f"example {row!r}: expected an id in {self._id!r} (id_column=), so that an example sent again is recognized")
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        return self._call("POST", "/v1/examples", lines, "application/x-ndjson")["examples"] if rows else []

    def predict(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predictions for examples, which are neither learned from nor asked about."""
        lines = "".join(json.dumps(row) + "\n" for row in examples).encode()
        return self._call("POST", "/v1/predict", lines, "application/x-ndjson")["predictions"] if lines else []

    def next(self, annotator: str, hold: int | None = None) -> dict[str, Any] | None:
        """The question worth most now, leased to the annotator; None if there is none. An annotator holds up to `hold`
        questions (2), then the one held longest comes back."""
        body: dict[str, Any] = {"annotator": annotator}
        if hold is not None:
            body["hold"] = hold
        question: dict[str, Any] | None = self._json("POST", "/v1/next", body)["question"]
        return question

    def answer(self, question: Mapping[str, Any], label: str, seconds: float | None = None) -> dict[str, Any]:
        """Answers a question. When it returns, the answer is on the server's disk."""
        body: dict[str, Any] = {"lease": question["lease"], "label": label}
        if seconds is not None:
            body["seconds"] = seconds
        return self._json("POST", "/v1/answer", body)

    def skip(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Leaves a question to another annotator."""
        return self._json("POST", "/v1/skip", {"lease": question["lease"]})

    def undo(self, annotator: str) -> dict[str, Any]:
        """Takes the annotator's last answer back; its question comes back, under the key ``question``. Never sent again,
        as a second undo takes back the answer before."""
        return self._json("POST", "/v1/undo", {"annotator": annotator}, again=False)

    def renew(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Extends the lease of a question: ``until`` is its new end."""
        return self._json("POST", "/v1/renew", {"lease": question["lease"]})

    def explain(self, ticket: int) -> dict[str, Any]:
        """Why an open question is asked: ``probability`` of the label ``towards``. ServerError 403 for an audit."""
        return self._call("GET", f"/v1/explain/{ticket}")

    def answers(self, ticket: int, example: str | None = None) -> dict[str, Any]:
        """The answers of a question, whether it is ``open``, and its holder."""
        query = "?" + urllib.parse.urlencode({"example": example}) if example else ""
        return self._call("GET", f"/v1/answers/{ticket}{query}")

    def put_answer(
        self,
        ticket: int,
        annotator: str,
        label: str | None,
        source: str,
        *,
        example: str | None = None,
        holder: str | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Sets the annotator's answer to `label`, whatever the answer and the holder were before; None takes the answer
        back, and leases the question to `holder`. `source` names the origin of the answer. `example` finds a question that
        was withdrawn meanwhile."""
        body: dict[str, Any] = {"annotator": annotator, "label": label, "source": source}
        more = {"example": example, "holder": holder, "seconds": seconds}
        return self._json("PUT", f"/v1/answers/{ticket}", body | {k: v for k, v in more.items() if v is not None})

    def status(self) -> dict[str, Any]:
        """Counts, label budget, accuracy, tasks, annotators, open questions, disagreements."""
        return self._call("GET", "/v1/status")

    def forget_task(self, task: str) -> dict[str, Any]:
        """Forgets a task: its labels, its questions, its name."""
        return self._call("DELETE", "/v1/tasks/" + urllib.parse.quote(task, safe=""))

    def forget_example(self, example: str) -> dict[str, Any]:
        """Forgets an example, and its label if it has one."""
        return self._call("DELETE", "/v1/examples/" + urllib.parse.quote(example, safe=""))

    def set_limit(self, labels: int | None) -> dict[str, Any]:
        """Replaces the label budget; None: no limit."""
        return self._json("PUT", "/v1/limits", {"labels": labels})

    def _json(self, method: str, path: str, body: Mapping[str, Any], *, again: bool = True) -> dict[str, Any]:
        return self._call(method, path, json.dumps(body).encode(), "application/json", again=again)

    def _call(
        self, method: str, path: str, body: bytes | None = None, kind: str | None = None, *, again: bool = True
    ) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._bytes(method, path, body, kind, again=again))
        return answer

    def _bytes(self, method: str, path: str, body: bytes | None = None, kind: str | None = None, *, again: bool = True) -> bytes:
        headers = self._headers | ({"Content-Type": kind} if kind else {})
        end, wait = time.monotonic() + self._patience, 0.1
        while True:
            try:
                request = urllib.request.Request(self.url + path, body, headers, method=method)
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    found: bytes = reply.read()
                    return found
            except urllib.error.HTTPError as error:
                refused = ServerError(error.code, _detail(error))
                if error.code != 503 or not again or time.monotonic() + wait > end:
                    raise refused from None
            except (OSError, http.client.HTTPException) as error:
                if not again or time.monotonic() + wait > end:
                    raise ConnectionError(f"{self.url}: {getattr(error, 'reason', error)}") from error
            time.sleep(wait)
            wait = min(2 * wait, 5.0)


def _detail(error: urllib.error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        detail: str = json.loads(text)["detail"]
        return detail
    except (ValueError, KeyError, TypeError):
        return text or str(error)


class AsyncClient:
    """Client for asyncio: the same methods, to be awaited. Requests run in threads, each with its own connection."""

    def __init__(self, url: str, token: str | None = None, *, patience: float = 30.0, timeout: float = 60.0) -> None:
        self._client = Client(url, token, patience=patience, timeout=timeout)

    async def post(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._client.post, list(examples))

    async def predict(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._client.predict, list(examples))

    async def next(self, annotator: str, hold: int | None = None) -> dict[str, Any] | None:
        return await asyncio.to_thread(self._client.next, annotator, hold)

    async def answer(self, question: Mapping[str, Any], label: str, seconds: float | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.answer, question, label, seconds)

    async def skip(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.skip, question)

    async def undo(self, annotator: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.undo, annotator)

    async def renew(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.renew, question)

    async def explain(self, ticket: int) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.explain, ticket)

    async def answers(self, ticket: int, example: str | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.answers, ticket, example)

    async def put_answer(
        self, ticket: int, annotator: str, label: str | None, source: str, **more: Any
    ) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.put_answer, ticket, annotator, label, source, **more)

    async def status(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.status)

    async def forget_task(self, task: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.forget_task, task)

    async def forget_example(self, example: str) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.forget_example, example)

    async def set_limit(self, labels: int | None) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.set_limit, labels)
