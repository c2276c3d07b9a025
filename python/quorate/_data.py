"""The data of an experiment, in files or in memory, as the engine takes them."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from quorate import _core, _inputs

_ROLES = ("label", "task", "id", "text", "time", "weight")
_ONLY_IF_NAMED = ("time", "weight")
_IN_MEMORY = (*(f"{role}_column" for role in _ROLES), "categorical_column", "ignore_column", "time_parts", "cache")
_OF_TEXT = {option["name"] for option in _core.options()["files"]}.difference(_IN_MEMORY)

Part = tuple[_core.Batch, "list[str]", "_core.Tasks | None", "npt.NDArray[np.float64] | None", "npt.NDArray[np.float64] | None"]


def in_memory(data: Any, name: str, options: Mapping[str, Any], columns: Columns) -> Part | None:
    """The argument `name` of an experiment as the engine takes it; None for a path. columns: those of all its data. Raises
    ValueError with row and column, TypeError for unsupported types."""
    if isinstance(data, (str, os.PathLike)):
        return None
    try:
        for option, value in options.items():
            if option in _OF_TEXT:
                raise ValueError(f"{option} {value!r}: expected with files only, not with data in memory")
        return _part(data, columns)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


def add(into: _core.ExperimentData, data: Any, part: Part | None, name: str, test: bool, options: Mapping[str, Any]) -> str:
    """Adds data to an experiment: a `part` or, of None, the file `data`. options: of reading, as `_core.ExperimentData.read`
    takes them. Returns a warning or "". Raises as `in_memory`, and OSError."""
    if part is None:
        return str(into.read(os.fsencode(data), test, dict(options)))
    batch, labels, tasks, times, weights = part
    try:
        into.add(batch, test, labels, tasks, times, weights)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    return ""


_PLAIN = {"1", "+1", "-1", "0", "yes", "no", "true", "false", "y", "n", "t", "f"}


def positive_of(parts: Iterable[Part | None]) -> str:
    """The word that means +1 if the labels in memory are two words other than those of _PLAIN: the second in order, as in an
    estimator's classes. "" otherwise."""
    words = {word for part in parts if part is not None for word in part[1] if not _core.is_missing(word)}
    if len(words) != 2 or all(word.lower() in _PLAIN for word in words):
        return ""
    try:
        return max(words, key=float)
    except ValueError:
        return max(words)


class Columns:
    """The columns of a frame, or keys of a dict, that are not features."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        given = {role: options[f"{role}_column"] for role in _ROLES if f"{role}_column" in options}
        self.kinds: dict[str, str] = {}  # of the columns of the first frame
        self.time_parts = bool(options.get("time_parts"))
        self.named = [*given.values(), *options.get("categorical_column", ()), *options.get("ignore_column", ())]
        self.name = {role: role for role in _ROLES if role not in _ONLY_IF_NAMED} | given
        self.role = {name: role for role, name in self.name.items()}
        self.role |= dict.fromkeys(options.get("categorical_column", ()), "category") | dict.fromkeys(options.get("ignore_column", ()), "ignore")


def _part(data: Any, columns: Columns) -> Part:
    if isinstance(data, tuple):
        if len(data) not in (2, 3):
            raise ValueError(f"{len(data)} parts; expected (X, y) or (X, y, task)")
        y, task = _column(data[1], "y"), _column(data[2], "task") if len(data) == 3 else None
        return _pair(data[0], y, task, columns)
    if _is_frame(data):
        return _frame(data, columns)
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _records(data, columns)
    raise TypeError(f"{_kind(data)}; expected a path, (X, y), (X, y, task), a frame, or a list of dicts")


def _pair(X: Any, y: list[Any], task: list[Any] | None, columns: Columns) -> Part:
    X = _inputs.listed(X)
    expected = "numbers in rows and columns, a frame, dicts or texts"
    if not hasattr(X, "shape") and (isinstance(X, (str, bytes, Mapping, set)) or not hasattr(X, "__len__")):
        raise TypeError(f"X is {_kind(X)}; expected {expected}")
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    for part, values in (("y", y), ("task", task)):
        if values is not None and len(values) != rows:
            raise ValueError(f"{rows} rows of X and {len(values)} of {part}; expected as many")
    if _is_frame(X):
        return _frame(X, columns, y, task)
    if _inputs.is_records(X):
        batch = _inputs.records(X)
    elif hasattr(X, "tocsr"):
        batch = _inputs.matrix(X)
    else:
        try:
            numbers: Any = np.asarray(X)
            numbers = numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers
        except (TypeError, ValueError):
            numbers = np.empty(0, dtype="U")
        if numbers.dtype.kind not in "biuf":
            raise ValueError(f"X is {_kind(X)}; expected {expected}")
        if numbers.ndim != 2:
            raise ValueError(f"X has {numbers.ndim} dimensions; expected rows and columns")
        batch = _inputs.matrix(numbers)
    return batch, _inputs.names(y, "y"), _tasks(task), None, None


def _records(rows: Sequence[Mapping[str, Any]], columns: Columns) -> Part:
    """Dicts as the lines of a JSON file: id, task, label, text, and x with the features. Other keys are ignored."""
    def values(role: str) -> list[Any] | None:
        key = columns.name.get(role)
        return [row.get(key) for row in rows] if key is not None and any(key in row for row in rows) else None

    features = [_features(row.get("x", {}), n) for n, row in enumerate(rows)]
    texts = values("text")
    texts = texts and [None if _inputs.is_missing(text) else text for text in texts]
    labels = _inputs.names(values("label") or [None] * len(rows), "label")
    return _core.dicts(features, texts), labels, _tasks(values("task")), _times(values("time")), _weights(values("weight"))


def _features(x: Any, row: int) -> dict[Any, Any]:
    if isinstance(x, Mapping):
        return x if type(x) is dict else dict(x)
    if isinstance(x, str) or not hasattr(x, "__iter__"):
        raise ValueError(f"row {row}: features {x!r}; expected a dict or numbers")
    return dict(enumerate(_column(x, "x")))


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray) or not hasattr(type(X), "columns"):
        return False
    # Frames of pandas and Arrow may have a column twice.
    names = X.columns if type(X).__module__.startswith("pandas") else getattr(X, "column_names", ())
    for name, count in Counter(map(str, names)).items():
        if count > 1:
            raise ValueError(f"column {name!r} comes more than once; expected each once")
    found = nw.from_native(X, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        raise TypeError(f"a lazy frame ({_kind(X)}); expected one with its rows: .collect()")
    return isinstance(found, nw.DataFrame)


def _frame(X: Any, columns: Columns, y: list[Any] | None = None, task: list[Any] | None = None) -> Part:
    """A frame, with its labels and tasks if they are given. Words and categories with no other role are features."""
    frame = nw.from_native(X, eager_only=True)
    series = {str(name): column for name, column in zip(frame.columns, frame.iter_columns(), strict=True)}
    roles: dict[str, list[Any]] = {}
    for role, values in (("label", y), ("task", task)):
        if values is not None:
            if columns.name[role] in series:
                raise ValueError(f"X has a column {columns.name[role]!r} and its values are given, too; expected one of them")
            roles[role] = values
    for name in columns.named:
        if name not in series and columns.role[name] not in roles:
            raise ValueError(f"no column {name!r}; the columns are {', '.join(series)}")
    features = []
    for name, column in series.items():
        kind = columns.role.get(name) or columns.kinds.get(name) or _inputs.kind_of(column, name, columns.time_parts)
        columns.kinds[name] = kind
        if kind in _ROLES and kind != "text":
            roles[kind] = column.to_list()
        if kind in ("number", "category", "text", "date") or (kind == "time" and columns.time_parts):
            features.append(_inputs.column(column, name, "date" if kind == "time" else kind))
    labels = _inputs.names(roles.get("label", [None] * len(frame)), "label")
    return _core.table(features, len(frame)), labels, _tasks(roles.get("task")), _times(roles.get("time")), _weights(roles.get("weight"))


def _column(column: Any, what: str) -> list[Any]:
    """Python values of a list, an array, a series, an Arrow column."""
    values = None if isinstance(column, (str, bytes, Mapping)) else _inputs.values_of(column)
    if not isinstance(values, list):
        raise ValueError(f"{what}: {column!r}; expected a list, an array or a column")
    return values


def _tasks(values: list[Any] | None) -> _core.Tasks | None:
    return None if values is None else _inputs.codes(_inputs.names(values, "task"))


def _times(values: list[Any] | None) -> npt.NDArray[np.float64] | None:
    """Seconds since 1970; NaN where there is no time."""
    return None if values is None else np.array([_seconds(value, row) for row, value in enumerate(values)])


def _weights(values: list[Any] | None) -> npt.NDArray[np.float64] | None:
    """Importance weights; 1 where there is none."""
    if values is None:
        return None
    return _inputs.weights([1 if _inputs.is_missing(value) else value for value in values], len(values))


def _seconds(value: Any, row: int) -> float:
    if _inputs.is_missing(value) or value == "":
        return float("nan")
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)).timestamp()
    found: float | None = _core.seconds(str(value))
    if found is None:
        raise ValueError(f"row {row}: time {value!r}; expected seconds since 1970, or a date as 2026-11-21 or 2026-11-21T13:15:00Z")
    return found


def _kind(value: Any) -> str:
    kind = type(value)
    shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{shown} of {value.dtype}" if isinstance(value, np.ndarray) else shown
