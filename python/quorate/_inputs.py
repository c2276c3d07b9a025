"""Converts users' data to the engine's form: arrays, sparse matrices, frames, dicts, texts; tasks; times."""

from __future__ import annotations

import datetime
import importlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from quorate import _core

_SAMPLE = 10_000
"""Number of first rows by which the kind of a column of strings is judged, as in files."""


def is_frame(X: Any) -> bool:
    """Whether X is a pandas, polars or Arrow table (or any other that narwhals supports)."""
    if isinstance(X, (np.ndarray, list, tuple)) or sparse.issparse(X):  # a shortcut: the check of narwhals is slow
        return False
    return bool(nw.dependencies.is_into_dataframe(X))


def arrow_parts(X: Any) -> Iterator[Any] | None:
    """The batches, as tables, of an object with the Arrow C stream interface that is no frame: a reader, a record batch, a
    DuckDB relation. None for anything else."""
    if not _is_arrow_stream(X):
        return None
    reader = _arrow().RecordBatchReader.from_stream(X)
    return (_arrow().Table.from_batches([batch]) for batch in reader if batch.num_rows > 0)


def _is_arrow_stream(X: Any) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "__arrow_c_stream__"):
        return False
    return not is_frame(X) and not nw.dependencies.is_into_series(X)


def _arrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError("an Arrow stream: expected pyarrow to read it (pip install pyarrow)") from None


def batch_as_table(X: Any) -> Any:
    """A record batch as a table, and anything else as it is."""
    return _arrow().RecordBatchReader.from_stream(X).read_all() if _is_arrow_stream(X) else X


def frames(parts: Iterator[Any]) -> Iterator[Any]:
    """The frames and record batches of an iterator, those of record batches as tables. ValueError for anything else."""
    for part in parts:
        frame = batch_as_table(part)
        if not is_frame(frame):
            raise ValueError(f"an iterator of {type(part).__name__} beside a column of labels; expected frames or record batches")
        if len(frame) > 0:
            yield frame


def is_records(X: Any) -> bool:
    """Whether X is a list of dicts or of texts."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], (Mapping, str))


def listed(X: Any) -> Any:
    """The dicts or texts of a one-dimensional array or a frame's column, as a list; anything else as it is."""
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


def checked_sparse(X: Any) -> Any:
    """X as it is. ValueError for a sparse matrix with an index beyond its shape, which SciPy's conversions do not survive."""
    if sparse.issparse(X) and X.format in ("csc", "bsr"):
        X.check_format(full_check=True)
    elif sparse.issparse(X) and X.format == "coo":
        for name, index, size in zip(("row", "column"), (X.row, X.col), X.shape):
            if len(index) and not 0 <= index.min() <= index.max() < size:
                raise ValueError(f"a sparse matrix of {size} {name}s has the {name} {index.max() if index.min() >= 0 else index.min()}")
    return X


def matrix(X: Any) -> _core.Batch:
    """A checked numeric matrix: NumPy, dense, or SciPy, sparse. CSR of doubles and C-ordered doubles are not copied."""
    if sparse.issparse(X):
        X = checked_sparse(X).tocsr()
        data = np.ascontiguousarray(X.data, dtype=np.float64)
        index = np.int32 if X.indptr.dtype == np.int32 and X.indices.dtype == np.int32 else np.int64
        return _core.csr(np.ascontiguousarray(X.indptr, index), np.ascontiguousarray(X.indices, index), data, X.shape[1])
    return _core.dense(np.ascontiguousarray(X, dtype=np.float64))


def named_matrix(values: npt.NDArray[np.float64], names: Sequence[str]) -> _core.Batch:
    """A matrix with names of its columns; errors quote the column's name."""
    try:
        return matrix(values)
    except ValueError as error:
        message = re.sub(r"column (\d+):", lambda place: f"column {names[int(place[1])]!r}:", str(error))
        raise ValueError(message) from None


def records(X: Sequence[Any]) -> _core.Batch:
    """A list of dicts or of texts."""
    if isinstance(X[0], str):
        return _core.texts(X)
    _warn_of_texts(X)
    return _core.dicts([dict(x) if isinstance(x, Mapping) and type(x) is not dict else x for x in X])


def _warn_of_texts(rows: Sequence[Any]) -> None:
    """Dicts have features and no kinds of columns: a string is one word, however long it is."""
    few, several = 20, 3  # rows; spaces of a text
    long = Counter(
        key for row in rows[:100] if isinstance(row, Mapping) for key, value in row.items() if isinstance(value, str) and value.count(" ") >= several
    )
    for key, count in long.items():
        if len(rows) >= few and 2 * count > min(len(rows), 100):
            warn(f"the key {key!r} holds texts, and of dicts each whole text is one word; expected a frame (pandas.DataFrame(rows)), "
                 "whose texts are split into words, or dicts of words")  # fmt: skip


def flat(row: Mapping[Any, Any], space: str = "") -> dict[Any, Any]:
    """A dict whose dicts inside are features called key.inner, as in files."""
    if not space and not any(isinstance(value, Mapping) for value in row.values()):
        return dict(row)
    out: dict[Any, Any] = {}
    for key, value in row.items():
        name = f"{space}{key}"
        out |= flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return out


def is_index(key: Any) -> bool:
    """Whether a dict's key is the index of a feature and not its name."""
    return isinstance(key, (int, np.integer)) or (isinstance(key, str) and re.fullmatch("0|[1-9][0-9]*", key) is not None)


def rows_of(X: Any) -> list[dict[str, Any]]:
    """A frame as dicts."""
    rows = nw.from_native(X, eager_only=True).iter_rows(named=True)
    return [{name: None if is_missing(value) else value for name, value in row.items()} for row in rows]


def with_vectors(X: Any) -> Any:
    """A frame in which columns of vectors (lists or arrays of numbers, as embeddings) become key.0, key.1, ..; anything else
    as it is. ValueError for lists of anything else, and for lengths that differ."""
    if not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    columns = list(frame.iter_columns())
    if not any(_has_vectors(column) for column in columns):
        return X
    out: dict[str, Any] = {}
    for column in columns:
        if _has_vectors(column):
            out |= {f"{column.name}.{i}": values for i, values in enumerate(_vectors(column).T)}
        else:
            out[column.name] = column
    return nw.from_dict(out, backend=frame.implementation).to_native()


def _is_vector(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _has_vectors(column: Any) -> bool:
    if column.dtype in (nw.List, nw.Array):
        return True
    return column.dtype == nw.Object and _is_vector(next((value for value in column.to_list() if not is_missing(value)), None))


def _vectors(column: Any) -> npt.NDArray[np.float64]:
    rows: list[Any] = column.to_list()
    size = next((len(value) for value in rows if _is_vector(value)), 0)
    out = np.full((len(rows), size), np.nan)
    for row, value in enumerate(rows):
        if not _is_vector(value) and is_missing(value):
            continue
        if not _is_vector(value) or len(value) != size:
            found = f"{len(value)} values" if _is_vector(value) else repr(value)
            raise ValueError(f"column {column.name!r}, row {row}: {found}; expected a vector of {size} numbers, as before")
        try:
            out[row] = [np.nan if is_missing(number) else number for number in value]
        except (TypeError, ValueError):
            raise ValueError(f"column {column.name!r}, row {row}: {value!r}; expected numbers") from None
    return out


def columns_of(X: Any) -> list[str] | None:
    """The names of a frame's columns; None if they are numbers, so that only their order counts. Raises TypeError for a mix."""
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
    return frame.drop(column).to_native(), frame[column].to_list()


def select(X: Any, columns: Iterable[str]) -> Any:
    """These columns of a frame, in this order."""
    return nw.from_native(X, eager_only=True).select(*columns).to_native()


def kinds(X: Any, text: str | Iterable[str] | None, words: Iterable[str] | None, time_parts: bool) -> dict[str, str]:
    """The kind of each column of a frame: "number", "category", "text", with `time_parts` "date", or "ignored". Columns of
    strings are judged by their first values, as in files, unless they are named in `text` or `words`. Warns of ignored
    ones."""
    frame = nw.from_native(X, eager_only=True)
    out = {}
    texts = {text} if isinstance(text, str) else set(text or ())
    named = set(words or ())
    for name in [*named, *texts]:
        if name not in frame.columns:
            raise ValueError(f"no column {name!r}; there are {', '.join(map(repr, frame.columns))}")
    for name in frame.columns:
        out[name] = "text" if name in texts else "category" if name in named else kind_of(frame[name], name, time_parts)
    return out


def kind_of(column: Any, name: str, time_parts: bool = False) -> str:
    """The kind of a frame's column, as in `kinds`."""
    dtype = column.dtype
    names = dtype.is_integer() and _exceeds_doubles(column)
    if (dtype.is_numeric() and not names) or dtype == nw.Boolean:
        return "number"
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    if names or dtype == nw.String or _holds_words(column):
        kind, why = _core.column_kind(name, [_word(v) for v in column.head(_SAMPLE).to_list()])
        if kind in ("number", "count", "flag", "undecided"):
            return "number"
        is_feature = kind in ("category", "text") or (kind == "date" and time_parts)
        return kind if is_feature else _ignored(name, why, "set time_parts=True, " if kind == "date" else "")
    if dtype in (nw.Date, nw.Datetime):
        return "date" if time_parts else _ignored(name, "dates or times", "set time_parts=True, ")
    if dtype == nw.Object:
        return "number"  # or else the conversion raises the error
    native = getattr(column.to_native(), "dtype", dtype)
    if "Sparse" in str(native):
        raise ValueError(f"column {name!r}: {native}; expected dense columns (X.sparse.to_dense()) or a SciPy matrix (X.sparse.to_coo())")
    raise ValueError(f"column {name!r}: {dtype}; expected numbers or strings")


def _exceeds_doubles(column: Any) -> bool:
    """Whether a column of integers has some that a double may round, so that they are names rather than numbers."""
    least, most = column.min(), column.max()
    return least is not None and (least < -(2**53) or most > 2**53)


def _ignored(name: str, why: str, instead: str = "") -> str:
    warn(f"column {name!r} ({why}) is left out; {instead}name it in categorical_columns or text_column, or drop it")
    return "ignored"


def warn(message: str) -> None:
    """A UserWarning at the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "quorate":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def _holds_words(column: Any) -> bool:
    if column.dtype != nw.Object:
        return False
    return all(isinstance(v, str) or is_missing(v) for v in column.to_list())


def numbers(X: Any) -> npt.NDArray[np.float64]:
    """A frame of numbers as a matrix. A missing value is NaN."""
    frame = nw.from_native(X, eager_only=True)
    if len(frame.columns) == 0:
        return np.empty((len(frame), 0))
    return np.column_stack([_floats(column, column.name) for column in frame.iter_columns()])


def _floats(column: Any, name: str) -> npt.NDArray[np.float64]:
    if column.dtype == nw.String or _holds_words(column):
        return np.array([_number(_word(value), name, row) for row, value in enumerate(column.to_list())], dtype=np.float64)
    try:
        if column.dtype in (nw.Boolean, nw.Object) and column.null_count() > 0:  # NumPy has no missing values of these types
            return np.array([np.nan if is_missing(value) else value for value in column.to_list()], dtype=np.float64)
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {error}; expected numbers") from None


def _number(text: str | None, name: str, row: int) -> float:
    """The number that a text means in a file's column of numbers; NaN if missing."""
    if text is None or _core.is_missing(text):
        return float("nan")
    value = _core.number(text)
    if value is None:
        raise ValueError(f"column {name!r}, row {row}: {text!r}; expected a number")
    return value


class Missing:
    """Values that are missing besides those that always are, as --missing named them for the files that a model learned from."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._words = frozenset(tokens)
        values = (_core.number(word) for word in self._words if not (word.isdigit() and word[0] == "0" and len(word) > 1))
        self._numbers = [value for value in values if value is not None]

    def __call__(self, column: tuple[str, str, Any]) -> tuple[str, str, Any]:
        """A column for `_core.table`; numbers by value, so that -999.0 is -999."""
        name, kind, values = column
        if not self._words:
            return column
        if kind == "number":
            return name, kind, np.where(np.isin(values, self._numbers), np.nan, values)
        return name, kind, values if kind == "date" else [None if value in self._words else value for value in values]


def table(X: Any, of_kind: Mapping[str, str], missing: Missing = Missing()) -> _core.Batch:
    """A frame with columns of these kinds."""
    frame = nw.from_native(X, eager_only=True)
    features = {name: kind for name, kind in of_kind.items() if kind != "ignored"}
    for name in features:
        if name not in frame.columns:
            raise ValueError(f"no column {name!r}; expected it, as in the data learned from")
    return _core.table([missing(column(frame[name], name, kind)) for name, kind in features.items()], len(frame))


def table_of_rows(
    rows: Sequence[Mapping[Any, Any]], of_kind: Mapping[str, str], aside: Iterable[Any], missing: Missing = Missing()
) -> _core.Batch:
    """Dicts whose keys are columns of these kinds; an absent key is a missing value. Warns of other keys, except those in
    `aside`. Raises ValueError if there are only other keys."""
    rows = [flat(row) for row in rows]
    features = {name: kind for name, kind in of_kind.items() if kind != "ignored"}
    found = set().union(*rows)
    strange = found - of_kind.keys() - set(aside)
    expected = ", ".join(map(repr, list(features)[:10]))
    if strange and not found & features.keys():
        raise ValueError(f"no key that the model knows, as {min(map(str, strange))!r}; expected {expected}, as in the data learned from")
    if strange:
        warn(f"the key {min(map(str, strange))!r} is left out: the model learned from {expected}")
    return _core.table([missing(_of_rows(rows, name, kind)) for name, kind in features.items()], len(rows))


def _of_rows(rows: Sequence[Mapping[Any, Any]], name: str, kind: str) -> tuple[str, str, Any]:
    values = [row.get(name) for row in rows]
    if kind == "date":
        return name, kind, _seconds(values, name)
    if kind != "number":
        return name, kind, [_word(value) for value in values]
    out = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if is_missing(value) or (isinstance(value, str) and _core.is_missing(value)):
            continue
        if isinstance(value, str):
            value = _number(value, name, row)
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise ValueError(f"column {name!r}, row {row}: {value!r}; expected a number, as in the data learned from")
        out[row] = value
    return name, kind, out


def column(series: Any, name: str, kind: str) -> tuple[str, str, Any]:
    """A frame's column for `_core.table`."""
    if kind == "number":
        return name, kind, np.ascontiguousarray(_floats(series, name))
    if kind == "date":
        return name, kind, _seconds(series.to_list(), name)
    return name, kind, [_word(v) for v in series.to_list()]


def _seconds(values: Sequence[Any], name: str) -> npt.NDArray[np.float64]:
    """Seconds since 1970 of a column of dates, strings or numbers; NaN for a missing one."""
    out = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if is_missing(value) or (isinstance(value, str) and _core.is_missing(value)):
            continue
        found = _core.seconds(str(value))
        if found is None:
            raise ValueError(f"column {name!r}, row {row}: {value!r}; expected a time: seconds since 1970, or a date as 2026-11-21 or 2026-11-21T13:15:00Z")
        out[row] = found
    return out


def _word(value: Any) -> str | None:
    """Of a category: as files write it, so that True is the word of JSON's true."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return None if is_missing(value) else word_of(value)


def word_of(value: Any) -> str:
    """A task's or class's name as files write it: 3 for 3 and for 3.0, a string as it is. ValueError for any other value."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError(f"{value!r}; expected a name in UTF-8, without lone surrogates") from None
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return str(int(value)) if float(value).is_integer() else str(value)
    if isinstance(value, bytes):
        return value.decode()
    raise ValueError(f"{value!r}; expected a name or a whole number")


def names(values: Iterable[Any], what: str) -> list[str]:
    """Labels or tasks as files write them, "" for a missing one. ValueError with the row."""
    out = []
    for row, value in enumerate(values):
        try:
            out.append("" if is_missing(value) else word_of(value))
        except ValueError as error:
            raise ValueError(f"{what}: {error} in row {row}") from None
    return out


def task_of(task: Any) -> str:
    """The name of a task; for None and "", the name used for data of one task."""
    if task is None:
        return _core.ONLY_TASK
    try:
        return word_of(task) or str(_core.ONLY_TASK)
    except ValueError as error:
        raise ValueError(f"task: {error}") from None


def values_of(column: Any) -> Any:
    """Python values of a list, an array, a series, an Arrow column, none of them converted."""
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column) if hasattr(column, "__iter__") else column


def codes(names: Sequence[str]) -> _core.Tasks:
    """Tasks from the names of each example's task."""
    places: dict[str, int] = {}
    numbers = np.fromiter((places.setdefault(name or _core.ONLY_TASK, len(places)) for name in names), np.uint32, len(names))
    return _core.Tasks(numbers, list(places))


def task_codes(task: Any, rows: int) -> _core.Tasks | None:
    """The task of each row: one value for all, or a list, array or column of names or numbers; "" is no name, as in files.
    None: data of one task."""
    if task is None:
        return None
    if np.ndim(task) == 0 and not hasattr(task, "__len__") or isinstance(task, (str, bytes)):
        return _core.Tasks(np.zeros(rows, dtype=np.uint32), [task_of(task)])
    if isinstance(task, np.ndarray) and task.ndim != 1:
        raise ValueError(f"task: shape {task.shape}; expected one task for each of the {rows} examples")
    if isinstance(task, np.ndarray) and task.dtype.kind in "iu" and len(task) == rows:  # a shortcut
        distinct, inverse = np.unique(task, return_inverse=True)
        return _core.Tasks(inverse.astype(np.uint32), [word_of(t) for t in distinct])
    values = values_of(task)
    if len(values) != rows:
        raise ValueError(f"task: shape ({len(values)},); expected one task for each of the {rows} examples")
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise ValueError(f"task: row {missing[0]} has none; expected a name or whole number")
    return codes(names(values, "task"))


def times(time: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Seconds since 1970, from numbers or dates; dates without a time zone are in UTC."""
    if time is None:
        return None
    values = np.asarray(time)
    if values.dtype.kind not in "iufOUTM":
        raise ValueError(f"time: {values.dtype}; expected seconds since 1970, or dates")
    try:
        if values.dtype == object:
            values = np.array([_in_utc(date) for date in values.tolist()], dtype="datetime64[us]")
        elif values.dtype.kind in "UT":
            values = np.array([date.removesuffix("Z") for date in values.tolist()], dtype="datetime64[us]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"time: {error}; expected dates as 2026-11-21 or 2026-11-21T13:15:00Z") from None
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise ValueError("time: NaT; expected a date for each example")
        values = values.astype("datetime64[us]").astype(np.int64) / 1e6
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.shape != (rows,) or not np.isfinite(values).all():
        raise ValueError(f"time: expected one finite number of seconds, or a date, for each of the {rows} examples")
    return values


def weights(weight: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Importance weights; a single one applies to all examples."""
    if weight is None:
        return None
    try:
        values = np.ascontiguousarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight: {error}; expected numbers") from None
    if values.ndim == 0:
        values = np.full(rows, values)
    if values.shape != (rows,):
        raise ValueError(f"sample_weight: shape {values.shape}; expected one weight for each of the {rows} examples")
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1000)))
    if wrong.size:
        raise ValueError(f"sample_weight: row {wrong[0]} has {values[wrong[0]]}; expected 0 to 1000")
    return values


def _in_utc(date: Any) -> Any:
    """A date in UTC without its time zone, which NumPy does not support."""
    if isinstance(date, str):
        return date.removesuffix("Z")
    if getattr(date, "tzinfo", None) is None:
        return date
    return date.astimezone(datetime.timezone.utc).replace(tzinfo=None)
