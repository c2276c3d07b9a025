"""Judging where the examples are, by the model of `quorate serve`: what `quorate work` does, from a program."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from quorate import _core
from quorate.client import Client, ServerError

_TURN = 0.05  # seconds between two looks at the log
_CLOCK = 1.0  # seconds between two messages without lines


class Follower:
    """The model of a server, on this machine. `follow` makes it.

    A thread applies the server's log, so the model learns from every label that anybody gives, and sends the questions.
    While the server is away, predictions go on and questions wait. All followers and `quorate work` share one label budget,
    which the server keeps. Methods may be called by several threads. A follower belongs to its process: make it where it is
    used (in a Ray actor's ``__init__``, in ``open`` of a Flink function), not before a fork.
    """

    def __init__(self, client: Client, source: str, *, seed: int, share_examples: int, queue: int, patience: float) -> None:
        self._client = client
        self._patience = patience
        self.source = source
        self._core = _core.Follower(self._get("/v1/model"), source, seed, share_examples, queue)
        self._failed: Exception | None = None
        self._bad = -1
        self._told = 0.0
        self._changed = threading.Condition()
        self._closing = False
        while self._follow() or self._send(quiet=False):  # until the server knows the source
            pass
        self._thread = threading.Thread(target=self._run, name="quorate.follow", daemon=True)
        self._thread.start()

    def decide(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Judges examples, dicts as `Client.post` takes them: for each its prediction and whether it is ``asked`` about, or
        ``error``. Questions are sent; an example with a label is learned from. Waits only while more labelled examples than
        the queue holds wait for the server. Raises what ended the follower, as ServerError for a token that was revoked."""
        lines = _lines(examples)
        if not lines:
            return []
        while True:
            if self._failed is not None:
                raise self._failed
            if said := self._core.judge(lines):
                return [json.loads(line) for line in said.splitlines()]
            time.sleep(2 * _TURN)

    def predict(self, examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predictions for examples, which are neither asked about nor counted."""
        found: list[dict[str, Any]] = json.loads(self._core.predict(lines))["predictions"] if (lines := _lines(examples)) else []
        return found

    @property
    def position(self) -> int:
        """Number of examples of the source that are judged: a reading that begins again passes over them."""
        return self._core.position

    @property
    def labels(self) -> int:
        """Labels bought by all, as far as the log is known here."""
        return self._core.labels

    @property
    def waiting(self) -> int:
        """Examples that wait for the server."""
        return self._core.waiting

    def close(self) -> None:
        """Waits, for at most `patience` seconds, until the server has what was asked, and ends the thread. Raises
        ConnectionError if it has not."""
        end = time.monotonic() + self._patience
        while self._failed is None and not self._core.done and time.monotonic() < end:
            self._told = 0.0
            time.sleep(_TURN)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        if not self._core.done:
            raise ConnectionError(f"{self._client.url}: {self.waiting} examples of {self.source} did not reach it")

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def _get(self, path: str) -> bytes:
        return self._client._bytes("GET", path)

    def _follow(self) -> bool:
        """Applies what is new. Whether there was anything."""
        try:
            log = self._get(f"/v1/log?from={self._core.record}&log={self._core.log}")
        except ServerError as error:
            if error.status not in (409, 410):
                raise
            self._core.start(self._get("/v1/model"))  # the log is another one, or begins later
            return True
        try:
            self._core.apply(log)
        except ValueError:
            if self._bad == self._core.record:
                raise
            self._bad = self._core.record
            self._core.start(self._get("/v1/model"))
            return True
        return bool(log)

    def _send(self, *, quiet: bool) -> bool:
        """Posts what the server lacks. Whether there was anything. With `quiet`, a message without lines is not worth it."""
        event = self._core.to_send(quiet)
        if event:
            self._client._bytes("POST", "/v1/log", event, "application/x-ndjson")
            self._told = time.monotonic()
        return bool(event)

    def _run(self) -> None:
        wait = _TURN
        while True:
            more = False
            try:
                sent = self._send(quiet=time.monotonic() - self._told < _CLOCK)
                more = self._follow() or sent
                wait = _TURN
            except ConnectionError:
                wait = min(2 * wait, 5.0)
            except ServerError as error:
                if error.status not in (502, 503, 504):
                    self._failed = error
                    return
                wait = min(2 * wait, 5.0)
            except Exception as error:  # of the log: the caller raises it
                self._failed = error
                return
            with self._changed:
                if self._closing or (not more and self._changed.wait_for(lambda: self._closing, wait)):
                    return


def _lines(examples: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in examples).encode()


def follow(
    url: str,
    *,
    source: str | None = None,
    token: str | None = None,
    seed: int = 1,
    share_examples: int = 64,
    queue: int = 10_000,
    patience: float = 60.0,
) -> Follower:
    """Follows the log of a `quorate serve` and returns the follower, when its model is that of the server.

    source : name of the stream that is judged, as a partition of a queue; one follower at a time has it, and the server
        knows how many of its examples are judged. Default: a new one, of this process.
    token : of the role worker. Default: ``QUORATE_TOKEN``.
    seed : of the questions, with the source.
    share_examples : examples sent for each label without a question.
    queue : examples that wait for a server that is away; then nothing more is asked.
    patience : seconds to wait for the server, here and in `Follower.close`.

    ServerError if the server refuses; ConnectionError if it is away.
    """
    client = Client(url, token or os.environ.get("QUORATE_TOKEN"), patience=patience)
    name = source or f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:16]}"
    if not 1 <= len(name.encode()) <= 100:
        raise ValueError(f"source {name!r}: expected a name of 1 to 100 bytes")
    out = Follower(client, name, seed=seed, share_examples=share_examples, queue=queue, patience=patience)
    client._patience = 0.0  # from now on a server that is away is asked again later, not at once
    return out
