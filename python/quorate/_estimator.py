"""The classes that hold a model: scikit-learn's verbs, the verbs of active learning, and one example at a time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, assert_all_finite, check_consistent_length, validate_data

from quorate import _core, _inputs

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Decisions(NamedTuple):
    """What a learner said of examples before their labels were known. Arrays of shape (n,); of several classes (n, T), a
    column for each question (`tasks_`)."""

    margin: npt.NDArray[np.float64]
    """Signed confidence in the second class (binary), or in yes."""
    ask: npt.NDArray[np.bool_]
    """Whether the label is wanted, and the limits have one left."""
    probability: npt.NDArray[np.float64]
    """With which it was asked for."""
    ids: npt.NDArray[np.int64]
    """To give to `learn` with the label; -1 where nothing was asked."""


class Questions(NamedTuple):
    """Which examples of a pool to label. Arrays of the same length, usually 1."""

    index: npt.NDArray[np.int64]
    """Their rows in the pool."""
    task: list[str]
    """Of each the task or, of several classes, the question, as in 'is it a 3?'."""
    ids: npt.NDArray[np.int64]
    """To give to `learn` with the label."""


class Estimator(ClassifierMixin, BaseEstimator):
    """What all learners share. Use a learner's own class, as `quorate.Cohort`."""

    _learner: str  # the name in the registry
    _own: tuple[str, ...]  # its own parameters
    _joint: bool  # its tasks decide together, so classes against the rest, which exclude each other, are beyond it

    # scikit-learn's verbs --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, task: Any = None, time: Any = None, classes: Any = None) -> Any:
        """Starts anew and learns from examples in the order given, `passes` times.

        Labels are hidden from the learner until it asks for one within the limits: `n_labels_` tells how many it saw.

        Parameters
        ----------
        X : array of shape (n, d), SciPy matrix, frame (pandas, polars, Arrow), list of dicts, list of texts; or an iterator of
            (X, y), (X, y, task) or (X, y, task, time), each a part of the stream, and then y is None
        y : n labels of two or more classes; None or NaN where the label is not known to anybody
        task : n names or whole numbers, or one for all; default: all examples are of one task
        time : n dates, or seconds since 1970; needed for limits as labels="20/day"
        classes : all classes, if y may lack some
        """
        self._forget()
        passes = _whole("passes", self.passes, 1)
        if _is_stream(X, y) and passes != 1:
            raise ValueError(f"passes={passes}: an iterator can be gone through once; expected passes=1")
        for number in range(passes):
            self._learn(X, y, classes if number == 0 else None, task, time, anew=number == 0, all_examples=not _is_stream(X, y))
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, *, task: Any = None, time: Any = None) -> Any:
        """Goes on learning, as `fit` without starting anew. The first call should name all classes, unless y has them all."""
        self._learn(X, y, classes, task, time, anew=not hasattr(self, "_model"))
        return self

    def decision_function(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """Margins: of two classes (n,), above 0 for the second; of more (n, C), the largest being predicted. Tasks never seen
        are answered with what all tasks share. O(non-zeros), the interpreter free for other threads."""
        if isinstance(X, Iterator):
            if task is not None:
                raise ValueError("task: beside an iterator; expected task_column to name it in each part")
            parts = [self.decision_function(*_part(x)) for x in X]
            if not parts:
                raise ValueError("an iterator without any examples")
            return np.concatenate(parts)
        batch, tasks, _ = self._read(X, task, None, anew=False)
        return self._fitted().decision(batch, None if self._reduction() else tasks)

    def predict(self, X: Any, *, task: Any = None) -> npt.NDArray[Any]:
        """The class of each example."""
        margin = self.decision_function(X, task=task)
        return self.classes_[(margin > 0).astype(int) if margin.ndim == 1 else margin.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, task: Any = None) -> float:
        """Accuracy."""
        return float(accuracy_score(y, self.predict(X, task=task), sample_weight=sample_weight))

    # Active learning -------------------------------------------------------------------------------------------------

    def decide(self, X: Any, *, task: Any = None, time: Any = None, classes: Any = None) -> Decisions:
        """Predicts examples without labels, and says of which it wants one. Give the labels to `learn`, whenever they come and
        in any order, or say `withdraw`: until then they count as bought. The first call of a new model names all classes."""
        batch, tasks, times = self._to_ask(X, task, time, classes)
        found = self._model.run(batch, tasks, None, times, self.rounds or "", False)
        shape = (len(batch), -1) if self._reduction() and len(batch) else (len(batch),)
        return Decisions(*(found[name].reshape(shape) for name in ("margin", "asked", "probability", "ticket")))

    def ask_next(self, pool: Any, *, task: Any = None, classes: Any = None) -> Questions:
        """The examples of a pool whose labels are worth most to all tasks together: `labels_per_round` of them, fewer if the
        limits do not allow more. For learners that select, as Shampo, or those with query="shared". The pool is one round."""
        batch, tasks, _ = self._to_ask(pool, task, None, classes)
        found = self._model.round(batch, tasks)
        asked = np.flatnonzero(found["asked"])
        per_example = len(found["asked"]) // max(1, len(batch))
        questions = [self._model.question(int(t)) for t in found["task"][asked]]
        return Questions(asked // max(1, per_example), questions, found["ticket"][asked])

    def learn(self, ids: Any, y: Any = None, *, feedback: Any = None) -> npt.NDArray[np.bool_]:
        """Learns from labels that were asked for: `y`, the class of each, or `feedback`, the answer to each question: 1 for yes
        (or the second class), -1 for no, 0 for neither. A label that comes a second time, or after it was withdrawn, changes
        nothing. Returns which changed the model. Raises ValueError for ids never asked about; then nothing was learned."""
        if (y is None) == (feedback is None):
            raise ValueError("expected either y or feedback")
        tickets = _ids(ids)
        if feedback is not None:
            answers = np.atleast_1d(np.asarray(feedback)).ravel()
            good = np.isin(answers, (-1, 0, 1)) if answers.dtype.kind in "iuf" else np.zeros(len(answers), dtype=bool)
            if not good.all():
                raise ValueError(f"feedback: {answers[~good].tolist()[0]!r}; expected 1, -1 or 0")
            return self._fitted().answer(tickets, np.ascontiguousarray(answers, dtype=np.int16), False)
        self._fitted()
        labels = self._labels(np.atleast_1d(np.asarray(_column(y))).ravel())
        if (labels == 0).any():
            raise ValueError("y: a label is missing; expected one for each id (see withdraw)")
        many = bool(self._reduction())
        return self._fitted().answer(tickets, labels - 1 if many else labels, many)

    def withdraw(self, ids: Any) -> npt.NDArray[np.bool_]:
        """Nobody will label these: they no longer count as bought (a rate keeps them). Returns which were still awaited."""
        return self._fitted().withdraw(_ids(ids))

    # One example at a time -------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, task: Any = None, time: Any = None) -> None:
        """As `partial_fit` with one example, a dict or a vector, at a few microseconds less. The classes must be known: call
        `start` first."""
        try:
            label = self._place[y]
        except KeyError:
            if not _inputs.is_missing(y):
                raise ValueError(f"y: {y!r}; expected one of {', '.join(map(repr, self.classes_.tolist()))}") from None
            label = 0
        except AttributeError:
            raise self._not_fitted() from None
        self._check_width(x)
        if time is not None and not isinstance(time, (int, float)):
            time = float(_inputs.times([time], 1)[0])
        if self.task_column is not None:
            self._model.learn_one(x, label, self._task_in(x, task), time, self.task_column)
        else:
            self._model.learn_one(x, label, _ONLY if task is None else _inputs.word_of(task) or _ONLY, time)

    def score_one(self, x: Any, task: Any = None) -> float:
        """The margin of one example of a binary problem."""
        if self._reduction():
            raise ValueError("score_one: of several classes there is no one margin; expected two classes")
        self._check_width(x)
        if self.task_column is not None:
            return self._fitted().score_one(x, self._task_in(x, task), self.task_column)
        return self._fitted().score_one(x, _ONLY if task is None else _inputs.word_of(task) or _ONLY)

    def predict_one(self, x: Any, task: Any = None) -> Any:
        """The class of one example."""
        if self._reduction():
            return self.predict([x] if isinstance(x, Mapping) else np.asarray(x)[None, :]).tolist()[0]
        above = self.score_one(x, task) > 0
        return self._words[above]

    def start(self, classes: Sequence[Any]) -> Any:
        """A new model that has seen nothing, of these classes."""
        self._forget()
        self._new(_distinct(classes), None)
        return self

    # What a model holds ----------------------------------------------------------------------------------------------

    @property
    def info_(self) -> dict[str, Any]:
        """Counts, bytes, limits and settings."""
        return dict(self._fitted().info())

    @property
    def n_labels_(self) -> int:
        """Labels bought and answered."""
        return int(self._fitted().info()["labels"])

    @property
    def tasks_(self) -> list[str]:
        """Names of the tasks, in the order in which they came; of several classes one for each class or pair."""
        return self._fitted().tasks()

    @property
    def counts_(self) -> dict[str, npt.NDArray[np.uint64]]:
        """Examples, labels, updates, and mistakes on labels bought, of each task."""
        return dict(self._fitted().counts())

    def influence(self) -> npt.NDArray[np.float64]:
        """(K, K): how much of a mistake of the column's task reaches the row's weights, now."""
        return self._fitted().influence()

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """The model's arrays by name, a copy: what its file holds."""
        return _tensors(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes of the model's file, which the program `quorate` and the package safetensors read."""
        return self._fitted().to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's file, whole or not at all. `quorate.load` reads it."""
        self._fitted().save(os.fspath(path))

    def snapshot(self) -> Any:
        """A copy as the model is now, for many readers while this one goes on learning. O(model)."""
        model = self._fitted().snapshot()
        out = type(self).__new__(type(self))
        vars(out).update(vars(self))
        out._model = model
        return out

    # Inside ----------------------------------------------------------------------------------------------------------

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        try:
            return _core.canonical(self._spec())
        except ValueError:
            return self._spec()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._model = _core.Model.from_bytes(state["_model"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = self._joint
        return tags

    def _forget(self) -> None:
        """All that was learned."""
        for name in ("_model", "n_features_in_", "feature_names_in_", "classes_", "trace_", "_kinds"):
            vars(self).pop(name, None)

    def _spec(self) -> str:
        return f"{self._learner}({', '.join(f'{name}={_text(getattr(self, name))}' for name in self._own)})"

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"this {type(self).__name__} has no model yet; call fit, partial_fit, decide or start first")

    def _fitted(self) -> Any:
        try:
            return self._model
        except AttributeError:
            raise self._not_fitted() from None

    def _check_width(self, x: Any) -> None:
        width = self.__dict__.get("n_features_in_")
        if width is not None and isinstance(x, np.ndarray) and x.shape != (width,):
            raise ValueError(f"x: shape {x.shape}; expected ({width},), as in the data learned from")

    def _reduction(self) -> str:
        return self.reduction if hasattr(self, "classes_") and len(self.classes_) > 2 else ""

    def _new(self, classes: npt.NDArray[Any], examples: int | None) -> None:
        if len(classes) < 2:
            what = f"only one class: {classes.tolist()[0]!r}" if len(classes) else "no class at all"
            raise ValueError(f"y has {what}; expected two classes or more (see `classes`)")
        words = [_inputs.word_of(c) for c in classes.tolist()]
        self._model = _core.Model(
            spec=self._spec(),
            classes=words,
            reduction=self.reduction if len(classes) > 2 else "",
            **self._settings(examples),
        )
        self._set_classes(classes)

    def _settings(self, examples: int | None) -> dict[str, Any]:
        """What all learners share, checked, as the engine takes it."""
        labels = self.labels
        if labels is None or isinstance(labels, (int, float, str, np.number)):
            labels = [] if labels is None else [labels]
        if not isinstance(labels, (list, tuple)) or not all(isinstance(limit, (int, str, np.integer)) for limit in labels):
            raise ValueError(f"labels={self.labels!r}: expected a whole number, a rate as '50/1000' or '20/day', or a list of both")
        pace = self.pace
        if pace == "even":
            if examples is None:
                raise ValueError("pace='even': the number of examples is not known; expected it, as pace=10000")
            pace = examples * self.passes
        elif isinstance(pace, str):
            raise ValueError(f"pace={pace!r}: expected 'even' or the number of examples")
        tasks = [] if self.tasks is None else self.tasks
        if isinstance(tasks, (str, bytes)) or not hasattr(tasks, "__iter__"):
            raise ValueError(f"tasks={tasks!r}: expected a list of names")
        if isinstance(self.audit, bool) or not isinstance(self.audit, (int, float, np.integer, np.floating)):
            raise ValueError(f"audit={self.audit!r}: expected a share of the labels from 0 to below 1")
        for name, choices in (("reduction", ("one-vs-rest", "one-vs-one")), ("rounds", (None, "each", "per-task", "all-tasks"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(map(repr, choices))}")
        return {
            "tasks": [_inputs.word_of(t) for t in tasks],
            "labels": [str(limit) for limit in labels],
            "labels_per_task": None if self.labels_per_task is None else _whole("labels_per_task", self.labels_per_task),
            "spread_over": 0 if pace is None else _whole("pace", pace, 1),
            "memory": _bytes(self.memory),
            "audit": float(self.audit),
            "seed": _whole("seed", self.seed),
            "labels_per_round": _whole("labels_per_round", self.labels_per_round, 1),
            "max_pending": _whole("max_pending", self.max_pending, 1),
            "bits": _whole("bits", self.bits, 0, 31),
            **{name: _flag(name, getattr(self, name)) for name in ("bias", "normalize", "bigrams", "binary")},
        }

    def _name_columns(self) -> None:
        """Tells a new model the names of a frame's columns, for its file."""
        if hasattr(self, "feature_names_in_"):
            self._model.set_columns([n for n in self.feature_names_in_ if self._kinds.get(n) == "number"])

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        self.classes_ = classes
        self._words = classes.tolist()
        places = (-1, 1) if len(classes) == 2 else range(1, len(classes) + 1)
        self._place = dict(zip(self._words, places, strict=True))

    def _to_ask(self, X: Any, task: Any, time: Any, classes: Any) -> tuple[Any, Any, Any]:
        """Examples whose labels nobody knows, as `_read` has them, for the model, which is made if there is none."""
        if self.audit:
            raise ValueError(f"audit={self.audit}: an audit does not wait for answers; expected fit, partial_fit or learn_one")
        if hasattr(self, "_model"):
            self._check_classes(classes)
            return self._read(X, task, time, anew=False)
        if classes is None:
            raise ValueError("classes: not known yet; expected them in the first call")
        self._new(_distinct(classes), None)
        read = self._read(X, task, time, anew=True)
        self._name_columns()
        return read

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(_distinct(classes), np.sort(self.classes_)):
            raise ValueError(f"classes {classes!r}: not those of the first call, {self.classes_.tolist()}")

    def _learn(self, X: Any, y: Any, classes: Any, task: Any, time: Any, anew: bool, all_examples: bool = False) -> None:
        if _is_stream(X, y):
            for part in X:
                if not isinstance(part, tuple) or not 2 <= len(part) <= 4:
                    raise ValueError("an iterator: expected tuples (X, y), (X, y, task) or (X, y, task, time)")
                self._learn(part[0], part[1], classes if anew else None, *(*part[2:], None, None)[:2], anew=anew)
                anew = False
            if anew:
                raise ValueError("an iterator without any examples")
            return
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        batch, tasks, times = self._read(X, task, time, anew)
        labels = column_or_1d(_column(y), warn=True)
        check_consistent_length(X if not hasattr(X, "num_rows") else labels, labels)
        known = _known(labels)
        if labels[known].dtype.kind == "f":
            assert_all_finite(labels[known], input_name="y")
        check_classification_targets(labels[known].tolist() if labels.dtype == object else labels[known])
        if anew or not hasattr(self, "_model"):
            self._new(_distinct(_plain(labels[known]) if classes is None else classes), len(labels) if all_examples else None)
            self._name_columns()
        else:
            self._check_classes(classes)
        tasks = None if self._reduction() else tasks
        found = self._model.run(batch, tasks, self._labels(labels), times, self.rounds or "", bool(self.trace))
        if self.trace:
            self.trace_ = np.rec.fromarrays([found[name] for name in found], names=list(found))

    def _labels(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
        """As the engine has them: 1 and -1, or 1 + the class's place; 0 for an unknown one."""
        known = _known(y)
        out = np.zeros(len(y), dtype=np.int16)
        values = _plain(y[known])
        if len(values) == 0:
            return out
        order = np.argsort(self.classes_)  # a file's classes may lie in another one
        place = order[np.minimum(np.searchsorted(self.classes_, values, sorter=order), len(order) - 1)]
        wrong = self.classes_[place] != values
        if np.any(wrong):
            raise ValueError(f"y: {values[wrong].tolist()[0]!r}; expected one of {', '.join(map(repr, self._words))} (see `classes`)")
        out[known] = 2 * place - 1 if len(self.classes_) == 2 else 1 + place
        return out

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
            batch = _inputs.records(X)
        else:
            X = validate_data(
                self, X, reset=anew, accept_sparse="csr", accept_large_sparse=True, dtype=np.float64, order="C", ensure_all_finite=False
            )
            batch = _inputs.matrix(X)
        return batch, _inputs.task_codes(task, len(batch)), _inputs.times(time, len(batch))

    def _split_task(self, X: Any, task: Any) -> tuple[Any, Any]:
        if self.task_column is None:
            return X, task
        if task is not None:
            raise ValueError(f"task: given twice, as an argument and by task_column={self.task_column!r}")
        if _inputs.is_frame(X):
            return _inputs.without(X, self.task_column)
        if _inputs.is_records(X) and isinstance(X[0], Mapping):
            missing = [n for n, x in enumerate(X) if self.task_column not in x]
            if missing:
                raise ValueError(f"row {missing[0]}: no {self.task_column!r}, which task_column names")
            rest = [{name: value for name, value in x.items() if name != self.task_column} for x in X]
            return rest, np.array([_inputs.word_of(x[self.task_column]) for x in X], dtype=object)
        raise ValueError(f"task_column={self.task_column!r}: expected a frame or dicts, not {type(X).__name__}")

    def _task_in(self, x: Any, task: Any) -> str:
        """The task that a dict names."""
        if task is not None:
            raise ValueError(f"task: given twice, as an argument and by task_column={self.task_column!r}")
        try:
            return _inputs.word_of(x[self.task_column]) or _ONLY
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"x: no {self.task_column!r}, which task_column names") from None

    def _read_frame(self, X: Any, anew: bool) -> Any:
        names = _inputs.columns_of(X) or []
        if anew:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._kinds = _inputs.kinds(X, self.text_column, self.categorical_columns)
        elif not hasattr(self, "_kinds"):
            found = _inputs.kinds(X, self.text_column, self.categorical_columns)
            if self._model.info()["columns"] or set(found.values()) != {"number"}:
                return _inputs.table(X, found)  # a file that was learned from a table, or from names
            # Learned from a matrix: columns by their places.
            return _inputs.matrix(validate_data(self, _inputs.numbers(X), reset=False, ensure_all_finite=False))
        else:
            if hasattr(X, "iloc"):
                _check_feature_names(self, X, reset=False)
            if len(names) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(names)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
                )
        if all(kind == "number" for kind in self._kinds.values()):
            if len(names) == 0 or (anew and len(X) == 0):
                validate_data(self, _inputs.numbers(X), reset=False)  # says what is wrong
            return _inputs.named_matrix(_inputs.select(X, self._kinds))
        return _inputs.table(X, self._kinds)


class Calibrated(Estimator):
    """A learner whose margins become probabilities, learned from the labels that were bought."""

    @available_if(lambda self: self._reduction() != "one-vs-one")
    def predict_proba(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """(n, C): the chance of each class. Of more than two classes proportional to the odds of each against the rest. Not
        with reduction="one-vs-one"."""
        margin = self.decision_function(X, task=task)
        odds = self._fitted().log_odds(np.ascontiguousarray(margin).ravel()).reshape(margin.shape)
        if margin.ndim == 1:
            odds = np.column_stack([np.zeros(len(odds)), odds])
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    @available_if(lambda self: self._reduction() != "one-vs-one")
    def predict_log_proba(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """The logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, task=task))

    @available_if(lambda self: not self._reduction())
    def predict_proba_one(self, x: Any, task: Any = None) -> dict[Any, float]:
        """The chance of each of two classes for one example."""
        margin = self.score_one(x, task)
        odds = float(self._model.log_odds(np.array([margin]))[0])
        second = 1 / (1 + np.exp(-odds)) if odds > -700 else 0.0
        return dict(zip(self._words, (float(1 - second), float(second)), strict=True))


_ONLY: str = _core.ONLY_TASK


def _text(value: Any) -> str:
    """A parameter's value in a spec."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def _whole(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within a range."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        range_ = f"of at least {least}" if most == 2**64 - 1 else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r}: expected a whole number {range_}")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: expected True or False")
    return bool(value)


def _bytes(memory: Any) -> int | None:
    if memory is None:
        return None
    if not isinstance(memory, str):
        return _whole("memory", memory, 1, 10**18)
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*", memory, re.ASCII)
    if found and found[2].upper() in _UNITS:
        value = int(float(found[1]) * _UNITS[found[2].upper()])
        if 1 <= value < 10**18:
            return value
    raise ValueError(f"memory={memory!r}: expected bytes, or a number with KB, MB, GB, KiB, MiB or GiB")


def _ids(ids: Any) -> npt.NDArray[np.uint64]:
    values = np.atleast_1d(np.asarray(ids)).ravel()
    if values.size == 0:
        return np.empty(0, dtype=np.uint64)
    if values.dtype.kind not in "iu":
        raise ValueError(f"ids: {values.tolist()[0]!r}; expected whole numbers, as `decide` returned them")
    if (values < 0).any():
        raise ValueError("ids: -1 means that nothing was asked; expected ids where `ask` is true")
    return np.ascontiguousarray(values, dtype=np.uint64)


def _is_stream(X: Any, y: Any) -> bool:
    return y is None and isinstance(X, Iterator)


def _part(x: Any) -> tuple[Any, ...]:
    if isinstance(x, tuple):
        raise ValueError("an iterator: expected parts of X alone (tasks by task_column), not tuples")
    return (x,)


def _column(y: Any) -> Any:
    """Labels; of a list with words and gaps one of objects, for NumPy makes the word 'nan' of NaN."""
    if isinstance(y, (list, tuple)) and any(isinstance(v, str) for v in y) and not all(isinstance(v, str) for v in y):
        out = np.empty(len(y), dtype=object)
        out[:] = y
        return out
    return y if hasattr(y, "__array__") or hasattr(y, "__len__") else np.asarray(y)


def _known(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which labels are neither None nor NaN."""
    if y.dtype == object:
        return np.array([not _inputs.is_missing(v) for v in y.tolist()], dtype=bool)
    return ~np.isnan(y) if y.dtype.kind == "f" else np.ones(len(y), dtype=bool)


def _distinct(classes: Any) -> npt.NDArray[Any]:
    """Classes in order, each once."""
    values = np.asarray(_column(classes if hasattr(classes, "__array__") or isinstance(classes, str) else list(classes)))
    if not _known(values.ravel()).all():
        raise ValueError(f"classes {classes!r}: expected no missing ones")
    return np.unique(_plain(values.ravel()))


def _plain(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels as an array of their own type, so that they can be put in order."""
    if y.dtype == object and len({isinstance(v, str) for v in y.tolist()}) == 2:
        word = next(v for v in y.tolist() if isinstance(v, str))
        number = next(v for v in y.tolist() if not isinstance(v, str))
        raise ValueError(f"y: {word!r} and {number!r}; expected words or numbers, not both")
    return np.asarray(y.tolist()) if y.dtype == object and not all(isinstance(v, str) for v in y.tolist()) else y


def _tensors(data: bytes) -> dict[str, npt.NDArray[Any]]:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    types = {"F32": "<f4", "F64": "<f8", "U64": "<u8", "U32": "<u4", "I8": "i1", "U8": "u1"}
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            part = data[8 + size + begin : 8 + size + end]
            out[name] = np.frombuffer(part, dtype=types[entry["dtype"]]).reshape(entry["shape"]).copy()
    return out
