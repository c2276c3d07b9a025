"""Data in memory as a file that the program reads: SVMlight for matrices, CSV for frames, JSON lines for dicts and
texts. Every number is written so that it is read again to the bit."""
from __future__ import annotations

import csv
import datetime
import json
import math
import numbers
import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from quorate._inputs import is_missing, word_of

_MOST = 1e18  # what the program takes for a number
_FINITE = "expected a finite number from -1e18 to 1e18"


@dataclass
class Columns:
    """Names of the columns that are no features; None for the usual name (of time: for none)."""

    label: str | None = None
    task: str | None = None
    id: str | None = None
    text: str | None = None
    time: str | None = None
    categorical: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def roles(self, present: Container[str]) -> dict[str, str]:
        """What those of the columns `present` mean that are no numbers: name -> "label", "task", "id", "text", "time",
        "categorical" or "ignore"."""
        out = dict.fromkeys(self.categorical, "categorical") | dict.fromkeys(self.ignore, "ignore")
        for role in ("label", "task", "id", "text", "time"):
            name: str | None = getattr(self, role) or (role if role != "time" else None)
            if name is not None and name not in out:
                out[name] = role
        return {name: role for name, role in out.items() if name in present}


@dataclass
class File:
    """A file to be read by the program."""

    path: str
    name: str = ""  # of the argument it was made from; empty if the caller gave the file
    first_row: int | None = 1  # the line of row 0; None where rows are not lines
    words: list[str] = field(default_factory=list)  # columns of a frame that hold words

    def explain(self, message: str) -> str:
        """The message with rows of the argument for lines of the file."""
        if not self.name:
            return message

        def place(found: re.Match[str]) -> str:
            line = found["line"]
            if line is None:
                return self.name
            if self.first_row is None or int(line) < self.first_row:
                return f"{self.name}, line {line} as CSV"
            return f"{self.name}, row {int(line) - self.first_row}"

        return re.sub(re.escape(self.path) + r"(?::(?P<line>\d+))?(?::\d+)?", place, message)


def file_of(data: Any, name: str, folder: Path, columns: Columns) -> File:
    """The file for the argument `name`: the one named, or `data` written into `folder`. ValueError for what cannot be
    used, with row and column; TypeError for what is no data."""
    if isinstance(data, (str, os.PathLike)):
        return File(os.fsdecode(data))
    path = folder / name
    if isinstance(data, tuple):
        if len(data) not in (2, 3):
            raise ValueError(f"{name}: {len(data)} parts; expected (X, y) or (X, y, task)")
        task = _labels(data[2], f"{name}, task") if len(data) == 3 else None
        return _pair(data[0], _labels(data[1], f"{name}, y"), task, name, path, columns)
    frame = _frame(data)
    if frame is not None:
        return _csv(frame, name, path, columns)
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _records(data, name, path, columns)
    raise TypeError(f"{name}: {_kind(data)}; expected a path, (X, y), (X, y, task), a frame, or a list of dicts")


def _pair(X: Any, y: list[str], task: list[str] | None, name: str, path: Path, columns: Columns) -> File:
    frame = None if hasattr(X, "tocsr") else _frame(X)
    if frame is not None:
        more = {columns.label or "label": y} | ({columns.task or "task": task} if task else {})
        return _csv(frame, name, path, columns, more)
    if hasattr(X, "tocsr"):
        rows = X.shape[0]
    else:
        if isinstance(X, (str, bytes, Mapping, set)) or not hasattr(X, "__len__"):
            raise TypeError(f"{name}: X is {_kind(X)}; expected numbers in rows and columns, a frame, dicts or texts")
        if not isinstance(X, np.ndarray):
            X = X if isinstance(X, (list, tuple)) else _values(X)
        rows = len(X)
    for part, values in (("y", y), ("task", task)):
        if values is not None and len(values) != rows:
            raise ValueError(f"{name}: {rows} rows of X and {len(values)} of {part}; expected as many")
    known = [{"label": label} | ({"task": t} if t else {}) for label, t in zip(y, task or repeat(""))]
    if hasattr(X, "tocsr"):
        return _matrix(*_sparse(X, name), known, name, path)
    first = X[0] if rows else None
    if isinstance(first, Mapping):
        lines = [one | {"x": _features(x, f"{name}, row {n}")} for n, (one, x) in enumerate(zip(known, X))]
    elif isinstance(first, str):
        if not all(isinstance(text, str) for text in X):
            raise ValueError(f"{name}: some rows are texts, others are not; expected texts")
        lines = [one | {"text": str(text)} for one, text in zip(known, X)]
    else:
        return _matrix(*_dense(X, name), known, name, path)
    keys = {"label": columns.label, "task": columns.task, "text": columns.text}
    return _jsonl([{keys.get(key) or key: value for key, value in line.items()} for line in lines], name, path)


# ---- matrices

def _dense(X: Any, name: str) -> tuple[Any, Any, Any]:
    try:
        values = np.asarray(X)
        if values.dtype.kind == "O":
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        values = np.empty(0, dtype="U")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X is {_kind(X)}; expected numbers in rows and columns, a frame, dicts or texts")
    if values.ndim != 2:
        raise ValueError(f"{name}: X has {values.ndim} dimensions; expected rows and columns")
    values = values.astype(np.float64)
    bad = np.argwhere(~(np.abs(values) <= _MOST))
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"{name}, row {row}, column {column}: {_shown(values[row, column])}; {_FINITE}")
    row, column = np.nonzero(values)
    return np.searchsorted(row, np.arange(len(values) + 1)), column, values[row, column]


def _sparse(X: Any, name: str) -> tuple[Any, Any, Any]:
    csr = X.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    values = csr.data.astype(np.float64)
    bad = np.flatnonzero(~(np.abs(values) <= _MOST))
    if len(bad):
        row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        raise ValueError(f"{name}, row {row}, column {csr.indices[bad[0]]}: {_shown(values[bad[0]])}; {_FINITE}")
    return csr.indptr, csr.indices, values


def _matrix(indptr: Any, indices: Any, values: Any, known: list[dict[str, str]], name: str, path: Path) -> File:
    """Column j is the feature with index j. SVMlight, or JSON lines if it cannot hold a label or a task."""
    ends, columns, numbers_ = indptr.tolist(), indices.tolist(), values.tolist()
    rows = ((one, columns[begin:end], numbers_[begin:end]) for one, begin, end in zip(known, ends, ends[1:]))
    if any(re.search(r"[\s#:]", one["label"]) or re.search(r"[\s#]", one.get("task", "")) for one in known):
        return _jsonl([one | {"x": dict(zip(map(str, js), vs))} for one, js, vs in rows], name, path)
    path = path.with_suffix(".svm")
    with open(path, "w", encoding="utf-8", newline="") as out:
        for one, js, vs in rows:
            task = f" task:{one['task']}" if "task" in one else ""
            out.write((one["label"] or "?") + task + "".join(f" {j}:{v!r}" for j, v in zip(js, vs)) + "\n")
    return File(str(path), name)


# ---- dicts and texts

def _jsonl(lines: Iterable[Mapping[str, Any]], name: str, path: Path) -> File:
    path = path.with_suffix(".jsonl")
    with open(path, "w", encoding="ascii", newline="") as out:
        for line in lines:
            out.write(json.dumps(line, allow_nan=False) + "\n")
    return File(str(path), name)


def _records(rows: Sequence[Mapping[str, Any]], name: str, path: Path, columns: Columns) -> File:
    """Dicts as the lines of a JSON file: id, task, label, text, and x with the features. Other keys are passed over."""
    lines = []
    for n, row in enumerate(rows):
        line: dict[str, Any] = {}
        for key, role in columns.roles(row).items():
            if role in ("label", "task", "id"):
                line[key] = _word(row[key], f"{name}, row {n}, key {key!r}")
            elif role == "time":
                line[key] = _time(row[key])
            elif role == "text" and not is_missing(row[key]):
                line[key] = row[key]
        if "x" in row:
            line["x"] = _features(row["x"], f"{name}, row {n}")
        lines.append(line)
    return _jsonl(lines, name, path)


def _features(x: Any, place: str) -> Any:
    if isinstance(x, Mapping):
        for key in x:
            if isinstance(key, bool) or not isinstance(key, (str, numbers.Integral)):
                raise ValueError(f"{place}: feature {key!r}; expected a name or a whole number")
        return {str(key): _value(value, f"{place}, feature {key!r}") for key, value in x.items()}
    if isinstance(x, str) or not hasattr(x, "__iter__"):
        raise ValueError(f"{place}: features {x!r}; expected a dict or numbers")
    return [_value(value, f"{place}, feature {j}") for j, value in enumerate(_values(x))]


def _value(value: Any, place: str) -> Any:
    """A feature's value as JSON has it: a number, a bool, a word, or None for nothing."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Real):
        if not abs(float(value)) <= _MOST:
            raise ValueError(f"{place}: {_shown(float(value))}; {_FINITE}")
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    if is_missing(value):
        return None
    raise ValueError(f"{place}: {_kind(value)}; expected a number, a word, True, False or None")


# ---- frames

def _frame(data: Any) -> nw.DataFrame[Any] | None:
    """data by narwhals if it is a frame of pandas, polars, Arrow or their like."""
    if isinstance(data, np.ndarray) or not hasattr(type(data), "columns"):
        return None
    # Frames of pandas and Arrow may have a column twice.
    columns = data.columns if type(data).__module__.startswith("pandas") else getattr(data, "column_names", ())
    for column, count in Counter(map(str, columns)).items():
        if count > 1:
            raise ValueError(f"column {column!r} comes more than once; expected each once")
    found = nw.from_native(data, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        raise TypeError(f"a lazy frame ({_kind(data)}); expected one with its rows: .collect()")
    return found if isinstance(found, nw.DataFrame) else None


def _csv(frame: nw.DataFrame[Any], name: str, path: Path, columns: Columns,
         more: Mapping[str, list[str]] = {}) -> File:
    """The frame and the columns `more`. Text or categories that mean nothing else are features, words."""
    names = [str(column) for column in frame.columns]
    for extra, given in more.items():
        if extra in names:
            raise ValueError(f"{name}: X has a column {extra!r} and its values are given, too; expected one of them")
        if len(given) != len(frame):
            raise ValueError(f"{name}: {len(frame)} rows of X and {len(given)} of {extra}; expected as many")
    roles = columns.roles([*names, *more])
    words: list[str] = []
    written: list[list[str]] = []
    lines = False  # whether a cell has some
    for column, series in zip(names, frame.iter_columns()):
        role = roles.get(column) or _kind_of_column(series, f"{name}, column {column!r}")
        if role == "ignore":
            written.append([""] * len(frame))
        elif role == "number":
            written.append(_number_column(series, f"{name}, ", column))
        elif role == "time":
            written.append([_time(value) for value in series.to_list()])
        else:
            values = enumerate(series.to_list())
            written.append([_word(value, f"{name}, row {n}, column {column!r}") for n, value in values])
            if role == "categorical":
                words.append(column)
            lines = lines or any("\n" in word or "\r" in word for word in written[-1])
    path = path.with_suffix(".csv")
    written += more.values()
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*names, *more])
        writer.writerows(zip(*written))
    lines = lines or any("\n" in word or "\r" in word for values in more.values() for word in values)
    return File(str(path), name, None if lines else 2, words)


def _kind_of_column(series: Any, place: str) -> str:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "categorical"
    values = [value for value in series.to_list() if not is_missing(value)]
    if all(isinstance(value, str) for value in values):
        return "categorical"
    if all(isinstance(value, (numbers.Real, np.bool_)) for value in values):
        return "number"
    raise ValueError(f"{place}: {dtype}; expected numbers, words, or its name as time_column or ignore_column")


def _number_column(series: Any, place: str, column: str) -> list[str]:
    array = series.to_numpy()
    if array.dtype.kind == "f" and bool((np.abs(array) <= _MOST).all()):
        return [*map(repr, array.astype(np.float64).tolist())]
    if array.dtype.kind == "i" and bool((np.abs(array.astype(np.float64)) <= _MOST).all()):
        return [*map(str, array.tolist())]
    out = []  # one by one: there is something to find, or a type of its own
    for row, value in enumerate(series.to_list()):
        if not is_missing(value) and abs(value) <= _MOST:
            out.append(repr(float(value)) if not isinstance(value, int) else str(int(value)))
        else:
            shown = "no value" if value is None else _shown(value)
            raise ValueError(f"{place}row {row}, column {column!r}: {shown}; {_FINITE}")
    return out


# ---- values

def _values(column: Any) -> list[Any]:
    """Python values of a list, an array, a series, an Arrow column."""
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(column, method):
            values = getattr(column, method)()
            break
    else:
        values = list(column)
    if not isinstance(values, list):
        raise ValueError(f"{values!r}; expected a list, an array or a column")
    return values


def _labels(column: Any, place: str) -> list[str]:
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise ValueError(f"{place}: {column!r}; expected a list, an array or a column")
    out = []
    for row, value in enumerate(_values(column)):
        if isinstance(value, (list, tuple)):
            raise ValueError(f"{place}: {value!r} in row {row}; expected one value a row")
        out.append(_word(value, f"{place}, row {row}"))
    return out


def _word(value: Any, place: str) -> str:
    """A label, a task or a category as the files have it, "" for nothing."""
    if is_missing(value):
        return ""
    if isinstance(value, numbers.Real) and math.isinf(value):
        raise ValueError(f"{place}: infinity; expected a word or a finite number")
    if isinstance(value, (bytes, list, tuple, dict, set, np.ndarray)):
        raise ValueError(f"{place}: {_kind(value)}; expected a word or a number")
    return word_of(value)


def _time(value: Any) -> str:
    """Seconds since 1970 of a datetime (without a zone: in UTC); anything else as it is."""
    if isinstance(value, datetime.datetime) and not is_missing(value):
        since = (value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)) - _EPOCH
        return repr(since.total_seconds())
    return _word(value, "time")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _shown(value: Any) -> str:
    if is_missing(value):
        return "NaN"
    return "infinity" if math.isinf(value) else repr(float(value))


def _kind(value: Any) -> str:
    kind = type(value)
    shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{shown} of {value.dtype}" if isinstance(value, np.ndarray) else shown
