"""Reads the examples given to a learner's methods, in any form, as batches of the engine with tasks and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_feature_names, validate_data

from quorate import _inputs, _labels
from quorate._model import ModelHolder

_FEATURES = {"number": "number", "count": "number", "flag": "number", "undecided": "number", "category": "category", "text": "text"}
"""Kinds of a schema that are features, as those of a frame."""
_TIMES = {"date": "date", "time": "date"}
"""Kinds that are features with `time_parts`."""


class Reader(ModelHolder):
    """A learner that reads examples.

    `_form` is the form of the data learned from, once known: "columns" of a frame or file, an "array" or matrix, "indices" (of
    SVMlight, or keys of dicts), "names" of dicts, or "unknown", for a model file without it. Columns are read from frames and
    dicts; indices from arrays, and by position from frames; names from dicts and frames. Anything else is refused. The kinds of
    the columns are in `_kinds`, those of a loaded model in `_of_model`."""

    _kinds: dict[str, str]
    _of_model: dict[str, str]
    _form: str
    _range: tuple[int, int]  # of indices, first and last; first > last: not known
    _label: str
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    task_column: str | None
    text_column: str | list[str] | None
    categorical_columns: list[str] | None
    interactions: str | list[str] | None
    tasks: list[Any] | None
    time_parts: bool
    audit: float

    def _to_predict(self, X: Any, task: Any) -> tuple[Any, Any]:
        """A batch and the tasks of its examples. Warns if the model has tasks and the examples name none."""
        batch, tasks, _ = self._read(X, task, None, anew=False)
        if tasks is None and len(batch) and self._model.has_named_tasks():
            _inputs.warn("no task, so all examples are predicted with the weights that all tasks share; expected task=, or task_column")
        return batch, tasks

    def _to_ask(self, X: Any, task: Any, time: Any, classes: Any) -> tuple[Any, Any, Any]:
        """Reads examples without labels, as `_read` does, and makes the model if there is none."""
        if self.audit:
            raise ValueError(f"audit={self.audit}: an audit does not wait for answers; expected fit, partial_fit or learn_one")
        if hasattr(self, "_model"):
            self._check_classes(classes)
            self._set_limits()
            read = self._read(X, task, time, anew=not hasattr(self, "_form"))
            if read[1] is not None:
                self._expect_users()
            self._name_features()
            return read
        if classes is None:
            raise ValueError("classes: not known yet; expected them in the first call")
        self._new(_labels.distinct(classes), None, task is not None or self.task_column is not None or self.tasks is not None)
        read = self._read(X, task, time, anew=True)
        self._name_features()
        return read

    def _expect_users(self) -> None:
        """Call if tasks are given: a model of several classes must then have users."""
        if not self._alone:
            return
        info = self._model.info()
        if info["examples"] > 0:
            raise ValueError("task: this model of several classes began without; expected no task, or a new model")
        self._new(self.classes_, None, True)
        self._name_features()

    def _with_labels(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y, where y may be the name of a frame's column. An Arrow stream or an iterator of frames becomes an iterator of
        (X, y)."""
        parts = _inputs.arrow_parts(X)
        if parts is None and isinstance(y, str) and isinstance(X, Iterator):
            parts = _inputs.frames(X)
        if parts is not None and not isinstance(y, str):
            raise ValueError(f"y: {type(y).__name__} beside an Arrow stream; expected the name of the column of labels")
        if parts is None and not (isinstance(y, str) and _inputs.is_frame(X)):
            return X, y
        self._label = y
        return ((_inputs.without(part, y) for part in parts), None) if parts is not None else _inputs.without(X, y)

    def _name_features(self) -> None:
        """Stores the kinds of the columns, or else the kind of the features, in a new model, for its file."""
        if self._is_named or not hasattr(self, "_form"):
            return
        self._is_named = True
        if self._form == "columns":
            task = [] if self.task_column is None else [(self.task_column, "task")]
            self._model.set_schema(task + list(self._kinds.items()), bool(self.time_parts))
        else:
            self._model.set_features(self._form, *self._range)

    def _features_of_model(self, info: dict[str, Any]) -> None:
        """Restores the features of a loaded model: those stored by `_name_features`, or those of the file learned from."""
        schema: list[tuple[str, str]] = info["schema"]
        if any(kind == "features" for _, kind in schema):
            schema = []  # of a file without columns
        task = [name for name, kind in schema if kind == "task"]
        kinds = _FEATURES | _TIMES if self.time_parts else _FEATURES
        features = {name: kinds[kind] for name, kind in schema if kind in kinds}
        if task:
            self.task_column = task[0]
        texts = [name for name, kind in features.items() if kind == "text"]
        if texts:
            self.text_column = texts[0] if len(texts) == 1 else texts
        words = [name for name, kind in features.items() if kind == "category"]
        if words:
            self.categorical_columns = words
        self._of_model = features or dict.fromkeys(info["columns"], "number")
        self._missing = _inputs.Missing(info["missing"])
        self._is_named = True
        self._form, *range_ = ("columns", 1, 0) if self._of_model else info["features"]
        self._range = (range_[0], range_[1])
        if self._form == "columns":
            self.n_features_in_, self.feature_names_in_ = len(self._of_model), np.array(list(self._of_model), dtype=object)
        elif self._form == "array":
            self.n_features_in_ = self._range[1] + 1

    def _read(self, X: Any, task: Any, time: Any, anew: bool) -> tuple[Any, Any, Any]:
        """A batch, the tasks of its examples and their times."""
        if not anew:
            self._fitted()
        X, task = self._split_task(_inputs.with_vectors(_inputs.listed(X)), task)
        form = None if anew else self.__dict__.get("_form")
        if _inputs.is_frame(X) and (_inputs.columns_of(X) is None or form in ("array", "indices")):
            batch = self._read_matrix(_inputs.numbers(X), anew, form)
            if _inputs.columns_of(X) is not None:
                _inputs.warn(f"X has feature names, but {type(self).__name__} was fitted without feature names: columns are taken by their places")
        elif _inputs.is_frame(X):
            if form == "unknown":
                self._refuse("a frame", "an array, if it learned from places, or dicts, if from names")
            batch = _inputs.records(_inputs.rows_of(X)) if form == "names" else self._read_frame(X, anew)
        elif _inputs.is_records(X):
            batch = self._read_texts(X, anew, form) if isinstance(X[0], str) else self._read_dicts(X, anew, form)
        else:
            batch = self._read_matrix(X, anew, form)
        return batch, _inputs.task_codes(task, len(batch)), _inputs.times(time, len(batch))

    def _refuse(self, given: str, expected: str) -> NoReturn:
        of = {"columns": "columns", "array": "an array, whose column j is the index j", "names": "names (dicts, x of JSON lines, VW text)"}
        learned = of.get(self._form, "features without columns")
        if self._form == "indices":
            learned = f"the indices {self._range[0]} to {self._range[1]}" if self._range[0] <= self._range[1] else "indices"
        raise ValueError(f"X is {given}, but this {type(self).__name__} learned from {learned}; expected {expected}")

    def _columns(self) -> dict[str, str]:
        """The kinds of the columns learned from."""
        return self._kinds if hasattr(self, "_kinds") else self._of_model

    def _are_numbers(self) -> bool:
        return all(kind == "number" for kind in self._columns().values())

    def _read_texts(self, X: Any, anew: bool, form: str | None) -> Any:
        batch = _inputs.records(X)
        if anew:
            self._form, self._kinds = "columns", {"text": "text"}
        elif form in ("array", "indices", "names") or (form == "columns" and list(self._columns()) != ["text"]):
            self._refuse("a list of texts", f"a frame or dicts with {self._expected()}" if form == "columns" else "those")
        return batch

    def _expected(self) -> str:
        return ", ".join(map(repr, list(self._columns())[:10]))

    def _read_dicts(self, X: Any, anew: bool, form: str | None) -> Any:
        if form == "columns":
            missing = getattr(self, "_missing", _inputs.Missing())
            return _inputs.table_of_rows(X, self._columns(), [self.task_column, self.__dict__.get("_label")], missing)
        if self.text_column or self.categorical_columns:
            name, value = ("text_column", self.text_column) if self.text_column else ("categorical_columns", self.categorical_columns)
            raise ValueError(f"{name}={value!r}: expected a frame; in dicts a string is one word, and a list of strings words each")
        batch = _inputs.records(X)
        if anew:
            indices = all(_inputs.is_index(key) for x in X for key in x)
            self._form, self._range = "indices" if indices else "names", (1, 0)
        for x in X if form in ("array", "indices") else ():
            self._check_keys(x)
        return batch

    def _check_keys(self, x: Mapping[Any, Any]) -> None:
        last = self._range[1] if self._form == "array" else None
        for key in x:
            if not _inputs.is_index(key) or (last is not None and int(key) > last):
                self._refuse(f"a dict with the key {key!r}", "an array, or dicts of indices" + (f" from 0 to {last}" if last is not None else ""))

    def _read_matrix(self, X: Any, anew: bool, form: str | None) -> Any:
        if self.interactions:
            raise ValueError(f"interactions={self.interactions!r}: expected a frame or dicts, whose features have names")
        if form == "columns" and not self._are_numbers():
            self._refuse("an array", f"a frame or dicts with {self._expected()}, which are not all numbers")
        if form == "names":
            self._refuse("an array", "dicts, or a frame with these names")
        X = validate_data(
            self, _inputs.checked_sparse(X), reset=anew, accept_sparse="csr", accept_large_sparse=True, dtype=np.float64, order="C",
            ensure_all_finite=False,
        )  # fmt: skip
        if anew:
            self._form, self._range = "array", (0, X.shape[1] - 1)
        elif form == "indices" and self._range == (1, X.shape[1]):  # as files that count from 1: the program's rule, too
            self._refuse(f"an array of {X.shape[1]} columns", "a column before them, as column j is the index j")
        return _inputs.matrix(X)

    def _split_task(self, X: Any, task: Any) -> tuple[Any, Any]:
        if self.task_column is None:
            return X, task
        if hasattr(self, "_of_model") and not _has_column(X, self.task_column):
            return X, task  # it learned from a file with a task column
        if task is not None:
            raise ValueError(f"task: given twice, as an argument and by task_column={self.task_column!r}")
        if _inputs.is_frame(X):
            return _inputs.without(X, self.task_column)
        if _inputs.is_records(X) and isinstance(X[0], Mapping):
            missing = [n for n, x in enumerate(X) if self.task_column not in x]
            if missing:
                raise ValueError(f"row {missing[0]}: no {self.task_column!r}, which task_column names")
            rest = [{name: value for name, value in x.items() if name != self.task_column} for x in X]
            return rest, [x[self.task_column] for x in X]
        raise ValueError(f"task_column={self.task_column!r}: expected a frame or dicts, not {type(X).__name__}")

    def _task_in(self, x: Any, task: Any) -> str:
        """The task that a dict names."""
        if task is not None:
            raise ValueError(f"task: given twice, as an argument and by task_column={self.task_column!r}")
        try:
            name = x[self.task_column]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"x: no {self.task_column!r}, which task_column names") from None
        return _inputs.task_of(name)

    def _read_frame(self, X: Any, anew: bool) -> Any:
        names = _inputs.columns_of(X) or []
        if anew:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._form = "columns"
            self._kinds = _inputs.kinds(X, self.text_column, self.categorical_columns, bool(self.time_parts))
        elif not hasattr(self, "_form"):  # nothing learned yet
            return _inputs.records(_inputs.rows_of(X))
        elif not hasattr(self, "_kinds"):
            missing = [name for name, kind in self._of_model.items() if name not in names and kind != "date"]
            if missing:
                raise ValueError(f"no column {missing[0]!r}; expected it, as in the data learned from")
            return _inputs.table(X, {name: kind for name, kind in self._of_model.items() if name in names}, self._missing)
        elif hasattr(self, "n_features_in_"):  # not of texts
            label = getattr(self, "_label", None)
            if label in names and label not in self._kinds:
                X, names = _inputs.without(X, label)[0], [name for name in names if name != label]
            if not self._has_features(names):
                if hasattr(X, "iloc"):
                    _check_feature_names(self, X, reset=False)
                if len(names) != self.n_features_in_:
                    raise ValueError(
                        f"X has {len(names)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
                    )
        if self._are_numbers() and not self.interactions:  # a matrix has no names to multiply by
            if len(names) == 0 or (anew and len(X) == 0):
                validate_data(self, _inputs.numbers(X), reset=False)  # raises the error
            values = _inputs.numbers(_inputs.select(X, self._kinds))
            if not np.isnan(values).any():
                return _inputs.named_matrix(values, list(self._kinds))
        return _inputs.table(X, self._kinds)

    def _has_features(self, names: list[str]) -> bool:
        """Whether a frame's columns are those learned from, in their order. Columns that were left out may be absent."""
        left_out = {name for name, kind in self._kinds.items() if kind == "ignored"}
        return [n for n in names if n not in left_out] == [n for n in self.feature_names_in_ if n not in left_out]

    def _one(self, x: Any, learns: bool) -> Any:
        """One example in the engine's form: a dict or a vector, or else a batch."""
        form = self.__dict__.get("_form")
        if form is None:
            if learns and isinstance(x, Mapping):
                self._read_dicts([self._features(x)], True, None)
            elif learns and isinstance(x, np.ndarray) and x.ndim == 1:
                self._read_matrix(x[None, :], True, None)
            if learns:
                self._name_features()
            return x
        if isinstance(x, Mapping):
            if form == "columns":
                return self._one_of_columns(x)
            if form in ("array", "indices"):
                self._check_keys(self._features(x))
        elif isinstance(x, np.ndarray):
            if self.interactions or form == "names" or (form == "columns" and not self._are_numbers()):
                self._read_matrix(x, False, form)  # raises the error
            width = self.__dict__.get("n_features_in_")
            if width is not None and x.shape != (width,):
                raise ValueError(f"x: shape {x.shape}; expected ({width},), as in the data learned from")
        return x

    def _features(self, x: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """A dict without its task."""
        return x if self.task_column is None else {name: value for name, value in x.items() if name != self.task_column}

    def _one_of_columns(self, x: Mapping[Any, Any]) -> Any:
        columns = self._columns()
        if x.keys() == columns.keys() and self._are_numbers() and not self.interactions:  # a shortcut
            values = [x[name] for name in columns]
            if all(isinstance(value, (int, float)) and value == value for value in values):
                return np.array(values, dtype=np.float64)
        return self._read_dicts([x], False, "columns")


def _has_column(X: Any, name: str) -> bool:
    if _inputs.is_frame(X):
        return name in (_inputs.columns_of(X) or [])
    return bool(_inputs.is_records(X) and isinstance(X[0], Mapping) and name in X[0])
