"""Questions whose answers come later, for libraries that identify an example by its value only."""

from __future__ import annotations

from typing import Any


class Awaited:
    """Ids of questions by the value of their example. One value may be asked about several times; the first question is
    answered first. len(): the number of values."""

    def __init__(self) -> None:
        self._ids: dict[Any, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, value: Any, ids: Any) -> None:
        self._ids.setdefault(value, []).append(ids)

    def first(self, value: Any) -> Any:
        """The ids to answer; None if nothing was asked."""
        questions = self._ids.get(value)
        return None if questions is None else questions[0]

    def answered(self, value: Any) -> None:
        """Removes the first question of a value, which must have one."""
        questions = self._ids[value]
        questions.pop(0)
        if not questions:
            del self._ids[value]

    def give_up(self, most: int) -> None:
        """Drops the oldest values until at most `most` are left, as a learner does (`max_pending`)."""
        while len(self._ids) > most:
            del self._ids[next(iter(self._ids))]
