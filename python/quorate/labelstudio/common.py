"""Definitions that all parts of the bridge share."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, TextIO

META = "quorate"  # key of the ticket in a task's meta; also the model version of predictions

Json = dict[str, Any]


class SetupError(Exception):
    """An error in the setup, which the user has to correct."""


class Log:
    """Lines for people, or JSON for machines. No member can contain a token."""

    def __init__(self, as_json: bool, out: TextIO) -> None:
        self._as_json = as_json
        self._out = out
        self._lock = threading.Lock()

    def __call__(self, event: str, text: str, **values: Any) -> None:
        line = json.dumps({"at": round(time.time(), 3), "event": event} | values) if self._as_json else text
        with self._lock:
            print(line, file=self._out, flush=True)
