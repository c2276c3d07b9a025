"""The parameters of a learner's constructor: its own, the engine's options, and their form as text."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from quorate import _checks, _core, _inputs

DECLARED = [option for of in ("learning", "features") for option in _core.options()[of]
            if option["name"] not in ("pace", "length")]
OPTIONS = tuple(option["name"] for option in DECLARED)
"""Names of the engine's options that every estimator has as parameters."""


class Parameters(BaseEstimator):
    """A learner's parameters."""

    _learner: str  # the name in the registry
    _own: tuple[str, ...]  # its own parameters
    _joint: bool  # its tasks decide together, so it does not suit one-vs-rest classes, which exclude each other

    def set_params(self, **params: Any) -> Any:
        """Sets parameters, also nested ones, as query__b=0.1 for the b of the query rule. Returns the learner."""
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        for name, value in params.items():
            own, *path = name.split("__")
            if not path:
                continue
            before = getattr(self, own, None)
            if own not in self._own or not isinstance(before, str):
                raise ValueError(f"{name}: {own!r} is no parameter of {type(self).__name__} with parameters inside")
            setattr(self, own, _with_inside(before, path, _checks.text(value)))
            try:
                _core.canonical(self._spec())
            except ValueError:
                setattr(self, own, before)
                raise
        return self

    def __str__(self) -> str:
        """The learner's spec, as the program and model files have it."""
        try:
            return _core.canonical(self._spec())
        except ValueError:
            return self._spec()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if name not in self._own and not _is_default(getattr(self, name, None), parameter.default)
        ]
        return str(self) + (f" with {', '.join(given)}" if given else "")

    # Inside ----------------------------------------------------------------------------------------------------------

    def _spec(self) -> str:
        return f"{self._learner}({', '.join(f'{name}={_checks.text(getattr(self, name))}' for name in self._own)})"

    def _task_names(self) -> list[str]:
        tasks = [] if self.tasks is None else self.tasks
        if isinstance(tasks, (str, bytes)) or not hasattr(tasks, "__iter__"):
            raise ValueError(f"tasks={tasks!r}: expected a list of names")
        return [_inputs.task_of(t) for t in tasks]

    def _options(self, examples: int | None) -> dict[str, Any]:
        """The options that all learners share; the engine checks them."""
        pace = self.pace
        if pace == "even":
            if examples is None:
                raise ValueError("pace='even': the number of examples is not known; expected it, as pace=10000")
            pace = examples * self.passes
        elif isinstance(pace, str):
            raise ValueError(f"pace={pace!r}: expected 'even' or the number of examples")
        _checks.choice("reduction", self.reduction, ("one-vs-rest", "one-vs-one"))
        given = {name: getattr(self, name) for name in OPTIONS}
        share = given["labels"]
        if isinstance(share, str) and share.endswith("%") and examples is not None:
            given["labels"] = round(_checks.share("labels", _percent(share)) * examples)
        return given if pace is None else given | {"pace": "even", "length": _checks.whole("pace", pace, 1)}


def _percent(text: str) -> float:
    try:
        return float(text[:-1]) / 100
    except ValueError:
        raise ValueError(f"labels={text!r}: expected a number of labels, a rate as '50/1000', or a share as '10%'") from None


def _with_inside(spec: str, path: list[str], value: str) -> str:
    """The spec with another value of a nested parameter: margin(b=1), [b], 2 becomes margin(b=2)."""
    if not path:
        return value
    name, _, rest = spec.partition("(")
    inside: dict[str, str] = {}
    depth, quoted, begin = 0, False, 0
    for at, c in enumerate(rest):
        quoted ^= c == '"'
        depth += 0 if quoted else (c == "(") - (c == ")")
        if depth < 0 or (depth == 0 and c == "," and not quoted):
            key, _, text = rest[begin:at].partition("=")
            if key.strip():
                inside[key.strip()] = text.strip()
            begin = at + 1
    inside[path[0]] = _with_inside(inside.get(path[0], path[0]), path[1:], value)
    return f"{name.strip()}({', '.join(f'{key}={text}' for key, text in inside.items())})"


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))
