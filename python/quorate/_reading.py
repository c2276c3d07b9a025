"""The examples of a learner's methods, in whatever form they come, as batches of the engine with tasks and times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, validate_data

from quorate import _inputs, _labels
from quorate._model import ModelHolder

_FEATURES = {"number": "number", "count": "number", "flag": "number", "category": "category", "text": "text"}
"""Kinds of a schema that are features, as those of a frame."""
_TIMES = {"date": "date", "time": "date"}
"""Kinds that are features with `time_parts`."""


class Reader(ModelHolder):
    """A learner that reads examples. Of a frame it keeps `_kinds`, the kinds of the columns learned from; of a file that is
    loaded `_of_model`, the kinds of its columns."""

    def _to_predict(self, X: Any, task: Any) -> tuple[Any, Any]:
        """A batch and the tasks of its examples. Warns if the model is of tasks and there are none."""
        batch, tasks, _ = self._read(X, task, None, anew=False)
        if tasks is None and len(batch) and self._model.has_named_tasks():
            _inputs.warn("no task, so all examples are predicted with the weights that all tasks share; expected task=, or task_column")
        return batch, tasks

    def _to_ask(self, X: Any, task: Any, time: Any, classes: Any) -> tuple[Any, Any, Any]:
        """Examples whose labels nobody knows, as `_read` has them, for the model, which is made if there is none."""
        if self.audit:
            raise ValueError(f"audit={self.audit}: an audit does not wait for answers; expected fit, partial_fit or learn_one")
        if hasattr(self, "_model"):
            self._check_classes(classes)
            read = self._read(X, task, time, anew=False)
            if read[1] is not None:
                self._expect_users()
            return read
        if classes is None:
            raise ValueError("classes: not known yet; expected them in the first call")
        self._new(_labels.distinct(classes), None, task is not None or self.task_column is not None or self.tasks is not None)
        read = self._read(X, task, time, anew=True)
        self._name_columns()
        return read

    def _expect_users(self) -> None:
        """Tasks are given: a model of several classes, then, has to have users."""
        if not self._alone:
            return
        info = self._model.info()
        if info["examples"] > 0:
            raise ValueError("task: this model of several classes began without; expected no task, or a new model")
        self._new(self.classes_, None, True)
        self._name_columns()

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

    def _name_columns(self) -> None:
        """Tells a new model what a frame's columns are, for its file."""
        if hasattr(self, "_kinds"):
            task = [] if self.task_column is None else [(self.task_column, "task")]
            self._model.set_schema(task + [(name, self._kinds[name]) for name in self.feature_names_in_], bool(self.time_parts))

    def _columns_of_model(self, schema: list[tuple[str, str]]) -> None:
        """What `_name_columns` told a model that was loaded, or the columns of a file that it learned from."""
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
        self._of_model = features

    def _read(self, X: Any, task: Any, time: Any, anew: bool) -> tuple[Any, Any, Any]:
        """A batch, the tasks of its examples and their times."""
        if not anew:
            self._fitted()
        X, task = self._split_task(_inputs.listed(X), task)
        if _inputs.is_frame(X) and _inputs.columns_of(X) is None:
            X = _inputs.numbers(X)
        if _inputs.is_frame(X):
            batch = self._read_frame(X, anew)
        elif _inputs.is_records(X):
            if isinstance(X[0], Mapping) and (self.text_column or self.categorical_columns):
                name, value = ("text_column", self.text_column) if self.text_column else ("categorical_columns", self.categorical_columns)
                raise ValueError(f"{name}={value!r}: expected a frame; in dicts a string is one word, and a list of strings words each")
            batch = _inputs.records(X)
        else:
            X = validate_data(
                self, _inputs.checked_sparse(X), reset=anew, accept_sparse="csr", accept_large_sparse=True, dtype=np.float64, order="C",
                ensure_all_finite=False,
            )  # fmt: skip
            batch = _inputs.matrix(X)
        return batch, _inputs.task_codes(task, len(batch)), _inputs.times(time, len(batch))

    def _split_task(self, X: Any, task: Any) -> tuple[Any, Any]:
        if self.task_column is None:
            return X, task
        if hasattr(self, "_of_model") and not _has_column(X, self.task_column):
            return X, task  # of a file whose examples had it
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
            self._kinds = _inputs.kinds(X, self.text_column, self.categorical_columns, bool(self.time_parts))
        elif not hasattr(self, "_kinds") and getattr(self, "_of_model", None):
            missing = [name for name, kind in self._of_model.items() if name not in names and kind != "date"]
            if missing:
                raise ValueError(f"no column {missing[0]!r}; expected it, as in the data learned from")
            return _inputs.table(X, {name: kind for name, kind in self._of_model.items() if name in names})
        elif not hasattr(self, "_kinds"):
            found = _inputs.kinds(X, self.text_column, self.categorical_columns)
            if self._model.info()["columns"] or set(found.values()) != {"number"}:
                return _inputs.table(X, found)  # a file that was learned from a table, or from names
            # Learned from a matrix: columns by their places.
            return _inputs.matrix(validate_data(self, _inputs.numbers(X), reset=False, ensure_all_finite=False))
        else:
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
        if all(kind == "number" for kind in self._kinds.values()):
            if len(names) == 0 or (anew and len(X) == 0):
                validate_data(self, _inputs.numbers(X), reset=False)  # says what is wrong
            values = _inputs.numbers(_inputs.select(X, self._kinds))
            if not np.isnan(values).any():
                return _inputs.named_matrix(values, list(self._kinds))
        return _inputs.table(X, self._kinds)

    def _has_features(self, names: list[str]) -> bool:
        """Whether a frame's columns are those learned from, in their order. What was left out need not be there."""
        left_out = {name for name, kind in self._kinds.items() if kind == "ignored"}
        return [n for n in names if n not in left_out] == [n for n in self.feature_names_in_ if n not in left_out]

    def _check_width(self, x: Any) -> None:
        width = self.__dict__.get("n_features_in_")
        if width is not None and isinstance(x, np.ndarray) and x.shape != (width,):
            raise ValueError(f"x: shape {x.shape}; expected ({width},), as in the data learned from")


def _has_column(X: Any, name: str) -> bool:
    if _inputs.is_frame(X):
        return name in (_inputs.columns_of(X) or [])
    return bool(_inputs.is_records(X) and isinstance(X[0], Mapping) and name in X[0])
