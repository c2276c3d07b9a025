"""What users hand in, as the engine takes it: arrays, sparse matrices, frames, dicts, texts; tasks; times."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from quorate import _core


def is_frame(X: Any) -> bool:
    """Whether X is a pandas, polars or Arrow table (or any other that narwhals knows)."""
    if isinstance(X, (np.ndarray, list, tuple)) or sparse.issparse(X):  # at once: what narwhals looks at takes its time
        return False
    return bool(nw.dependencies.is_into_dataframe(X))


def is_records(X: Any) -> bool:
    """Whether X is a list of dicts or of texts."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], (Mapping, str))


def listed(X: Any) -> Any:
    """A list of dicts or texts of what holds them in one dimension: an array or a frame's column."""
    if isinstance(X, np.ndarray):
        is_column = X.ndim == 1 and X.dtype.kind in "OUT"
    else:
        is_column = not isinstance(X, (list, tuple)) and not sparse.issparse(X) and nw.dependencies.is_into_series(X)
    if not is_column:
        return X
    values = X.tolist() if isinstance(X, np.ndarray) else nw.from_native(X, series_only=True).to_list()
    return values if is_records(values) else X


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, np.datetime64)) and bool(value != value)


def matrix(X: Any) -> _core.Batch:
    """A checked numeric matrix: NumPy, dense, or SciPy, sparse. CSR of doubles and C-ordered doubles are not copied."""
    if sparse.issparse(X):
        X = X.tocsr()
        data = np.ascontiguousarray(X.data, dtype=np.float64)
        index = np.int32 if X.indptr.dtype == np.int32 and X.indices.dtype == np.int32 else np.int64
        return _core.csr(np.ascontiguousarray(X.indptr, index), np.ascontiguousarray(X.indices, index), data)
    return _core.dense(np.ascontiguousarray(X, dtype=np.float64))


def named_matrix(X: Any) -> _core.Batch:
    """A frame of numbers as a matrix; what is wrong is told with the column's name."""
    try:
        return matrix(numbers(X))
    except ValueError as error:
        names = columns_of(X) or []
        told = re.sub(r"column (\d+):", lambda place: f"column {names[int(place[1])]!r}:", str(error))
        raise ValueError(told) from None


def records(X: Sequence[Any]) -> _core.Batch:
    """A list of dicts or of texts."""
    if isinstance(X[0], str):
        return _core.texts(X)
    return _core.dicts([dict(x) if isinstance(x, Mapping) and type(x) is not dict else x for x in X])


def columns_of(X: Any) -> list[str] | None:
    """The names of a frame's columns; None if they are numbers, so that only their places count. Raises TypeError for a mix."""
    names = list(nw.from_native(X, eager_only=True).columns)
    strings = [isinstance(name, str) for name in names]
    if not any(strings):
        return None
    if not all(strings):
        raise TypeError(f"column names {names[strings.index(False)]!r} and {names[strings.index(True)]!r}: expected strings only")
    return names


def without(X: Any, column: str) -> tuple[Any, Any]:
    """A frame without one of its columns, and that column as an array."""
    frame = nw.from_native(X, eager_only=True)
    if column not in frame.columns:
        raise ValueError(f"no column {column!r}; there are {', '.join(map(repr, frame.columns))}")
    return frame.drop(column).to_native(), frame[column].to_numpy()


def select(X: Any, columns: Iterable[str]) -> Any:
    """These columns of a frame, in this order."""
    return nw.from_native(X, eager_only=True).select(*columns).to_native()


def kinds(X: Any, text: str | None, words: Iterable[str] | None) -> dict[str, str]:
    """Of each column of a frame whether it holds a "number", a "word" or the "text". Columns of strings and categories hold
    words, unless one is named `text`; so do those named in `words`."""
    frame = nw.from_native(X, eager_only=True)
    out = {}
    named = set(words or ())
    for name in [*named, *([text] if text else [])]:
        if name not in frame.columns:
            raise ValueError(f"no column {name!r}; there are {', '.join(map(repr, frame.columns))}")
    for name, dtype in frame.schema.items():
        if name == text:
            out[name] = "text"
        elif name in named:
            out[name] = "word"
        elif dtype.is_numeric() or dtype == nw.Boolean:
            out[name] = "number"
        elif dtype in (nw.String, nw.Categorical, nw.Enum) or _holds_words(frame[name]):
            out[name] = "word"
        elif dtype == nw.Object:
            out[name] = "number"  # if it is one: the conversion says what is wrong otherwise
        else:
            raise ValueError(f"column {name!r}: {dtype}; expected numbers or strings")
    return out


def _holds_words(column: Any) -> bool:
    if column.dtype != nw.Object:
        return False
    return all(v is None or isinstance(v, str) for v in column.to_list())


def numbers(X: Any) -> npt.NDArray[np.float64]:
    """A frame of numbers as a matrix. A missing value is NaN."""
    frame = nw.from_native(X, eager_only=True)
    if len(frame.columns) == 0:
        return np.empty((len(frame), 0))
    return np.column_stack([_floats(column, column.name) for column in frame.iter_columns()])


def _floats(column: Any, name: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {error}; expected numbers") from None


def table(X: Any, of_kind: Mapping[str, str]) -> _core.Batch:
    """A frame with columns of these kinds."""
    frame = nw.from_native(X, eager_only=True)
    columns: list[tuple[str, str, Any]] = []
    for name, kind in of_kind.items():
        if name not in frame.columns:
            raise ValueError(f"no column {name!r}; expected it, as in the data learned from")
        if kind == "number":
            columns.append((name, kind, np.ascontiguousarray(_floats(frame[name], name))))
        else:
            columns.append((name, kind, [_word(v) for v in frame[name].to_list()]))
    return _core.table(columns)


def _word(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and np.isnan(value):  # how pandas writes a missing one
        return None
    return word_of(value)


def word_of(value: Any) -> str:
    """A task's or class's name as files have it: 3 for 3 and for 3.0, a string as it is."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        if float(value).is_integer():
            return str(int(value))
        if np.isnan(value):
            raise ValueError("NaN where a name is expected")
    return str(value)


def task_codes(task: Any, rows: int) -> _core.Tasks | None:
    """The task of each row: one value for all, or an array of names or numbers; "" is no name, as in files. None: data of one
    task."""
    if task is None:
        return None
    if isinstance(task, (str, int, float, np.number)) and not is_missing(task):
        return _core.Tasks(np.zeros(rows, dtype=np.uint32), [word_of(task) or _core.ONLY_TASK])
    values = np.asarray(task)
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(f"task: shape {values.shape}; expected one task for each of the {rows} examples")
    if values.dtype == object or values.dtype.kind in "US":
        missing = [n for n, t in enumerate(values.tolist()) if is_missing(t)]
        if missing:
            raise ValueError(f"task: row {missing[0]} has none; expected a name or whole number")
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(word_of(t) or _core.ONLY_TASK, len(places)) for t in values.tolist()), np.uint32, rows)
        return _core.Tasks(codes, list(places))
    if values.dtype.kind not in "iufb":
        raise ValueError(f"task: {values.dtype}; expected names or whole numbers")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(f"task: row {np.isnan(values).argmax()} has none; expected a name or whole number")
    distinct, inverse = np.unique(values, return_inverse=True)
    return _core.Tasks(inverse.astype(np.uint32), [word_of(t) for t in distinct])


def times(time: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Seconds since 1970: numbers, or dates, of UTC unless they say of where."""
    if time is None:
        return None
    values = np.asarray(time)
    try:
        if values.dtype == object:
            values = np.array([_in_utc(date) for date in values.tolist()], dtype="datetime64[us]")
        elif values.dtype.kind in "UT":
            values = np.array([date.removesuffix("Z") for date in values.tolist()], dtype="datetime64[us]")
    except ValueError as error:
        raise ValueError(f"time: {error}; expected dates as 2026-11-21 or 2026-11-21T13:15:00Z") from None
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise ValueError("time: NaT; expected a date for each example")
        values = values.astype("datetime64[us]").astype(np.int64) / 1e6
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.shape != (rows,) or not np.isfinite(values).all():
        raise ValueError(f"time: expected one finite number of seconds, or a date, for each of the {rows} examples")
    return values


def _in_utc(date: Any) -> Any:
    """A date without its time zone, which NumPy does not know."""
    if getattr(date, "tzinfo", None) is None:
        return date
    return date.astimezone(datetime.timezone.utc).replace(tzinfo=None)
