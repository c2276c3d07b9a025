"""The classes that hold a model: scikit-learn's verbs, the verbs of active learning, and one example at a time."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, assert_all_finite, check_consistent_length, validate_data

from quorate import _checks, _core, _inputs, _labels

if TYPE_CHECKING:
    from typing_extensions import Self

DECLARED = [option for of in ("learning", "features") for option in _core.options()[of]
            if option["name"] not in ("pace", "length")]
OPTIONS = tuple(option["name"] for option in DECLARED)
"""Names of the engine's options that every estimator has as parameters."""


_FEATURES = {"number": "number", "count": "number", "flag": "number", "category": "category", "text": "text"}
"""Kinds of a schema that are features, as those of a frame."""
_TIMES = {"date": "date", "time": "date"}
"""Kinds that are features with `time_parts`."""


class Decisions(NamedTuple):
    """Decisions of a learner on n examples, made before their labels are known. Arrays of shape (n,); with several classes
    (n, T), one column per question: each class, or each pair."""

    margin: npt.NDArray[np.float64]
    """Signed confidence in the second class (binary), or in yes."""
    ask: npt.NDArray[np.bool_]
    """Whether the learner asks for the label; False once the label budget is spent."""
    probability: npt.NDArray[np.float64]
    """The probability of asking, from 0 to 1."""
    ids: npt.NDArray[np.int64]
    """Ids to pass to `learn` with the labels; -1 where `ask` is False."""


class Reason(NamedTuple):
    """What a feature brought to the margin of an example, up to rounding a sum over its features."""

    feature: str
    """Its name: a column, column=word, column^word of a text, an index."""
    value: float
    """In the data."""
    contribution: float
    """To the margin: shared + own."""
    shared: float
    """By weights that all tasks share."""
    own: float
    """By the task's own weights."""
    uncertainty: float
    """Its part of the margin's variance; 0 for learners that keep none."""


class Questions(NamedTuple):
    """Examples of a pool to label. All fields have the same length, usually 1."""

    index: npt.NDArray[np.int64]
    """Their rows in the pool."""
    task: list[str]
    """The task of each or, with several classes, the question, as 'class = 3?', with users 'ann: class = 3?'."""
    ids: npt.NDArray[np.int64]
    """Ids to pass to `learn` with the labels."""


class KeptLabels(NamedTuple):
    """Labels that a model bought and keeps with their examples, in the order in which they were bought. All fields have the
    same length."""

    id: npt.NDArray[np.uint64]
    """Ids to pass to `undo` and `correct`; 0, 1, 2, ... of all labels that were bought, kept or not."""
    task: list[str]
    """The task of each or, with several classes, the question, as 'class = 3?', with users 'ann: class = 3?'."""
    label: list[Any]
    """The class of each, None for neither; with several classes the answer to the question: 1 for yes, -1 for no."""
    audit: npt.NDArray[np.bool_]
    """Whether it was bought to audit the predictions; such labels are not learned from."""
    margin: npt.NDArray[np.float64]
    """The margin when the learner asked."""
    probability: npt.NDArray[np.float64]
    """The probability of asking, from 0 to 1."""
    time: npt.NDArray[np.float64]
    """Of the stream, in seconds since 1970; NaN without one."""
    annotator: list[str | None]
    """Of each, as given to `learn` or by `quorate serve`; None: not known."""


class Estimator(ClassifierMixin, BaseEstimator):
    """Base of all learners. Use a learner's own class, as `quorate.Cohort`.

    Threads: methods that read (predict, decision_function, info_, save, snapshot) run at the same time; methods that learn
    wait for them and exclude each other. Long calls release the interpreter and end on Ctrl-C. After a MemoryError by
    `memory` the model is what it was before the example that did not fit: it predicts, is saved, and learns what fits. (If
    the machine itself ran out of memory while learning, every later call raises MemoryError.) A child process that was
    forked while another thread learned gets RuntimeError."""

    _learner: str  # the name in the registry
    _own: tuple[str, ...]  # its own parameters
    _joint: bool  # its tasks decide together, so classes against the rest, which exclude each other, are beyond it

    # scikit-learn's verbs --------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, task: Any = None, time: Any = None, classes: Any = None
    ) -> Self:
        """Starts anew and learns from examples in the order given, `passes` times.

        A label is hidden from the learner until it asks for it within its label budget; `n_labels_` counts the bought ones.
        Returns the learner. O(passes x non-zeros) for most learners. Raises ValueError for invalid data (nothing is learned
        then), MemoryError.

        Parameters
        ----------
        X : array of shape (n, d), SciPy matrix, frame (pandas, polars, Arrow), list of dicts, list of texts; or an iterator of
            (X, y), (X, y, task), (X, y, task, time) or (X, y, task, time, sample_weight), each a part of the stream, and then y is None; or what has the Arrow C
            stream interface (a reader of record batches, a DuckDB relation), read batch by batch; or an iterator of frames or
            record batches (`pandas.read_csv(.., chunksize=..)`, `ParquetFile.iter_batches()`), and then y is a column's name
        y : n labels of two or more classes; None or NaN for an unknown label; of frames or an Arrow stream also the name of
            the column that holds them
        sample_weight : n importance weights of labels, 0 to 1000: a label of weight 2 teaches as much as two labels, 0 is no
            label. Labels are counted, and accuracy is measured, without weights
        task : n names or whole numbers, or one for all; default: all examples are of one task. With more than two classes
            these are users: each has own weights for every class, and shares each class with all users (`Cohort`,
            `Perceptron`, `Shampo`, `ShampoSecondOrder`)
        time : n dates, or seconds since 1970; needed for limits as labels="20/day"
        classes : all classes, if y may lack some
        """
        self._forget()
        X, y = self._with_labels(X, y)
        passes = _checks.whole("passes", self.passes, 1)
        if _is_stream(X, y) and passes != 1:
            raise ValueError(f"passes={passes}: an iterator can be gone through once; expected passes=1")
        for number in range(passes):
            self._learn(X, y, classes if number == 0 else None, task, time, sample_weight, number == 0, not _is_stream(X, y))
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, task: Any = None, time: Any = None
    ) -> Self:
        """Learns further, as `fit` but without starting anew. The first call must name all classes unless y contains them all."""
        X, y = self._with_labels(X, y)
        self._learn(X, y, classes, task, time, sample_weight, not hasattr(self, "_model"))
        return self

    def decision_function(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """Margins: of two classes (n,), above 0 for the second; of more (n, C), the largest being predicted. Tasks never seen
        are answered with what all tasks share. O(non-zeros), the interpreter free for other threads."""
        X = _inputs.arrow_parts(X) or X
        if isinstance(X, Iterator):
            return self._parts(self.decision_function, X, task)
        batch, tasks = self._to_predict(X, task)
        return self._fitted().decision(batch, tasks)

    def _parts(self, of: Callable[[Any], npt.NDArray[np.float64]], X: Any, task: Any) -> npt.NDArray[np.float64]:
        """What `of` says of all parts of an iterator."""
        if task is not None:
            raise ValueError("task: beside an iterator; expected task_column to name it in each part")
        parts = [of(*_part(x)) for x in X]
        if not parts:
            raise ValueError("an iterator without any examples")
        return np.concatenate(parts)

    def predict(self, X: Any, *, task: Any = None) -> npt.NDArray[Any]:
        """The class of each example, shape (n,). Cost and errors as `decision_function`."""
        margin = self.decision_function(X, task=task)
        return self.classes_[(margin > 0).astype(int) if margin.ndim == 1 else margin.argmax(axis=1)]

    def explain(self, X: Any, *, task: Any = None, top: int = 5) -> list[list[Reason]]:
        """The `top` features that brought most to the margin of each example, by name, the largest first: why it is predicted
        so. Of a question they also say what its label would teach: most about features of large `uncertainty` (how likely
        it was to be asked is `probability` of `decide`). With more than two classes it is the margin of the predicted one.
        O(non-zeros). Raises ValueError for learners whose margins are no sums over features (kernels, committees)."""
        if not isinstance(top, (int, np.integer)) or isinstance(top, bool) or top < 1:
            raise ValueError(f"top={top!r}: expected a whole number from 1")
        batch, tasks = self._to_predict(X, task)
        return [[Reason(*reason) for reason in row] for row in self._fitted().explain(batch, tasks, int(top))]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, task: Any = None) -> float:
        """Accuracy from 0 to 1 on labelled examples. y: as of `fit`."""
        if isinstance(y, str) and _inputs.is_frame(X):
            X, y = _inputs.without(X, y)
        return float(accuracy_score(y, self.predict(X, task=task), sample_weight=sample_weight))

    # Active learning -------------------------------------------------------------------------------------------------

    def decide(self, X: Any, *, task: Any = None, time: Any = None, classes: Any = None) -> Decisions:
        """Predicts examples and asks for labels. Pass the answers to `learn` later, in any order, or `withdraw` the question;
        pending questions count as bought. The first call of a new model names all classes."""
        batch, tasks, times = self._to_ask(X, task, time, classes)
        found = self._model.run(batch, tasks, None, times, None, self.rounds or "", False)
        shape = (len(batch), -1) if self._reduction() and len(batch) else (len(batch),)
        return Decisions(*(found[name].reshape(shape) for name in ("margin", "asked", "probability", "ticket")))

    def ask_next(self, pool: Any, *, task: Any = None, classes: Any = None) -> Questions:
        """The examples of a pool whose labels are worth most to all tasks together: `labels_per_round` of them, fewer if the
        limits do not allow more. For learners that select, as Shampo, or those with query="shared". The pool is one round."""
        batch, tasks, _ = self._to_ask(pool, task, None, classes)
        found = self._model.round(batch, tasks)
        asked = np.flatnonzero(found["asked"])
        per_example = len(found["asked"]) // max(1, len(batch))
        questions = [self._model.question(int(t), int(g)) for t, g in zip(found["task"][asked], found["group"][asked], strict=True)]
        return Questions(asked // max(1, per_example), questions, found["ticket"][asked])

    def learn(
        self, ids: Any, y: Any = None, *, feedback: Any = None, annotator: str | None = None
    ) -> npt.NDArray[np.bool_]:
        """Learns from labels that were asked for: `y`, the class of each, or `feedback`, the answer to each question: 1 for yes
        (or the second class), -1 for no, 0 for neither. A label that comes a second time, or after it was withdrawn, changes
        nothing. `annotator` gave them, as `kept_labels` then says. Returns which changed the model. Raises ValueError for ids
        never asked about; then nothing was learned."""
        if annotator is not None and not (isinstance(annotator, str) and annotator):
            raise ValueError(f"annotator={annotator!r}: expected a name")
        if (y is None) == (feedback is None):
            raise ValueError("expected either y or feedback")
        tickets = _ids(ids)
        if feedback is not None:
            answers = np.atleast_1d(np.asarray(feedback)).ravel()
            good = np.isin(answers, (-1, 0, 1)) if answers.dtype.kind in "iuf" else np.zeros(len(answers), dtype=bool)
            if not good.all():
                raise ValueError(f"feedback: {answers[~good].tolist()[0]!r}; expected 1, -1 or 0")
            return self._fitted().answer(tickets, np.ascontiguousarray(answers, dtype=np.int16), False, annotator or "")
        self._fitted()
        labels = _labels.codes(self.classes_, np.atleast_1d(np.asarray(_labels.column(y))).ravel())
        if (labels == 0).any():
            raise ValueError("y: a label is missing; expected one for each id (see withdraw)")
        many = bool(self._reduction())
        return self._fitted().answer(tickets, labels - 1 if many else labels, many, annotator or "")

    def withdraw(self, ids: Any) -> npt.NDArray[np.bool_]:
        """Withdraws questions: their labels return to the label budget, but not to a rate. Returns which were pending, shape (n,)."""
        return self._fitted().withdraw(_ids(ids))

    # Kept labels -----------------------------------------------------------------------------------------------------

    def kept_labels(self) -> KeptLabels:
        """The labels that the model bought and keeps (`keep_labels`): all of them while there is room, then a sample in which
        each label has the same chance. Raises ValueError if the model keeps none. O(labels)."""
        found = self._fitted().kept_labels()
        if self._reduction():
            label = found["label"].tolist()
        else:
            label = [None if y == 0 else self._words[int(y > 0)] for y in found["label"].tolist()]
        return KeptLabels(**(found | {"label": label}))

    def rebuild(self, *, strict: bool = False) -> Self:
        """Learns again: a new learner is given the kept labels, in their order, and the latest examples without a label.
        The result is repeatable to the bit. Returns the learner.

        While all examples are kept features are scaled by those alone. Once there are too many for `keep_labels`: by the counts
        of all examples so far; `strict`: by those of the kept examples. Label budget, counts and audits stay. O(kept examples),
        the interpreter free for other threads. Raises ValueError, and changes nothing, if the learner cannot be rebuilt or the
        model keeps no labels."""
        self._fitted().rebuild(bool(strict))
        return self

    def undo(self, ids: Any, *, strict: bool = False) -> Self:
        """Takes labels back, by their `id` in `kept_labels`, and rebuilds: the model is then, to the bit, the one rebuilt
        without them. They stay bought. Returns the learner. Raises ValueError for an id that is not kept, and as `rebuild`."""
        self._fitted().undo(_ids(ids, "as `kept_labels` lists them"), bool(strict))
        return self

    def correct(self, id: Any, label: Any) -> Self:
        """Changes a kept label to the class `label`, and rebuilds. With several classes it is the class of the example; what
        changes is the answer to the question with this id, not those to other questions about the example. Returns the
        learner. Raises ValueError as `undo`."""
        number = _ids(id, "as `kept_labels` lists them")
        if number.size != 1:
            raise ValueError(f"id: {number.size} ids; expected one")
        self._fitted()
        code = int(_labels.codes(self.classes_, np.atleast_1d(np.asarray(label)).ravel())[0])
        if code == 0:
            raise ValueError("label: missing; expected a class (see undo)")
        many = bool(self._reduction())
        self._model.correct(int(number[0]), code - 1 if many else code, many)
        return self

    def forget(self, task: Any, *, strict: bool = False) -> Self:
        """Forgets a task: its labels, its examples, its pending questions and its name; and rebuilds. Counts of the task stay,
        without its name, as do audits, the names of features if `bits` is 0 and, once not all examples are kept, the part of
        its examples in the scales of features, unless `strict`. Returns the learner. Raises ValueError, and changes nothing,
        for an unknown task, for a model whose tasks are its classes, and as `rebuild`."""
        self._fitted()
        if self._alone:
            raise ValueError("task: the tasks of this model are its classes; expected a model with tasks or users")
        self._model.forget(_inputs.task_of(task), bool(strict))
        return self

    # One example at a time -------------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, task: Any = None, time: Any = None, w: float = 1.0) -> None:
        """As `partial_fit` with one example, a dict or a vector, of weight `w`, at a few microseconds less. The classes must be known: call
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
        if task is not None or self.task_column is not None:
            self._expect_users()
        if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float))):
            time = float(_inputs.times([time], 1)[0])
        if self.task_column is not None:
            self._model.learn_one(x, label, self._task_in(x, task), time, w, self.task_column)
        else:
            self._model.learn_one(x, label, _inputs.task_of(task), time, w)

    def score_one(self, x: Any, task: Any = None) -> float:
        """The margin of one example of a binary problem."""
        if self._reduction():
            raise ValueError("score_one: of several classes there is no one margin; expected two classes")
        self._check_width(x)
        if self.task_column is not None:
            return self._fitted().score_one(x, self._task_in(x, task), self.task_column)
        return self._fitted().score_one(x, _inputs.task_of(task))

    def predict_one(self, x: Any, task: Any = None) -> Any:
        """The class of one example."""
        if self._reduction():
            return self.predict([x] if isinstance(x, Mapping) else np.asarray(x)[None, :], task=task).tolist()[0]
        above = self.score_one(x, task) > 0
        return self._words[above]

    def start(self, classes: Sequence[Any]) -> Self:
        """Starts a new model of these classes that has seen no example. Returns the learner."""
        self._forget()
        self._new(_labels.distinct(classes), None, self.task_column is not None or self.tasks is not None)
        return self

    # What a model holds ----------------------------------------------------------------------------------------------

    @property
    def info_(self) -> dict[str, Any]:
        """Counters, bytes, limits and settings, by name."""
        return dict(self._fitted().info())

    @property
    def n_labels_(self) -> int:
        """Labels bought and answered."""
        return int(self._fitted().info()["labels"])

    @property
    def tasks_(self) -> list[str]:
        """Names of the tasks, in the order in which they came; of several classes one for each class or pair or, if there are
        users, the users."""
        return self._fitted().tasks()

    @property
    def counts_(self) -> dict[str, npt.NDArray[np.uint64]]:
        """Examples, labels, updates, and mistakes on labels bought, of each of `tasks_`."""
        return dict(self._fitted().counts())

    def influence(self) -> npt.NDArray[np.float64]:
        """(K, K): fraction of an update for the column's task that is applied to the row's task. Of users and several classes:
        between their tasks of the same class."""
        return self._fitted().influence()

    @property
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """A copy of the arrays of the model's file, by name."""
        return _tensors(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model's file as bytes. The program `quorate` and the package safetensors read it."""
        return self._fitted().to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's file atomically; `quorate.load` reads it. Raises OSError."""
        self._fitted().save(os.fsencode(path))

    def snapshot(self) -> Self:
        """A copy of the model as it is now, for readers while learning goes on. O(model) in time and memory."""
        model = self._fitted().snapshot()
        out = type(self).__new__(type(self))
        vars(out).update(vars(self))
        out._model = model
        return out

    # Inside ----------------------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Any:
        """Sets parameters, also those inside of one, as query__b=0.1 for the b of the query rule. Returns the learner."""
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
        for name in ("_model", "n_features_in_", "feature_names_in_", "classes_", "trace_", "_kinds", "_of_model", "_label"):
            vars(self).pop(name, None)

    def _spec(self) -> str:
        return f"{self._learner}({', '.join(f'{name}={_checks.text(getattr(self, name))}' for name in self._own)})"

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

    def _new(self, classes: npt.NDArray[Any], examples: int | None, users: bool) -> None:
        """`users`: tasks are given; of several classes, then, each has own tasks for all of them."""
        if len(classes) < 2:
            what = f"only one class: {classes.tolist()[0]!r}" if len(classes) else "no class at all"
            raise ValueError(f"y has {what}; expected two classes or more (see `classes`)")
        words = [_inputs.word_of(c) for c in classes.tolist()]
        if len(words) == 2 and "" in words:
            raise ValueError("class ''; expected a name, for model files of two classes cannot hold it")
        self._model = _core.Model(
            spec=self._spec(),
            classes=words,
            reduction=self.reduction if len(classes) > 2 else "",
            tasks=self._task_names(),
            users=users and len(classes) > 2,
            options=self._options(examples),
        )
        self._set_classes(classes)

    def _task_names(self) -> list[str]:
        tasks = [] if self.tasks is None else self.tasks
        if isinstance(tasks, (str, bytes)) or not hasattr(tasks, "__iter__"):
            raise ValueError(f"tasks={tasks!r}: expected a list of names")
        return [_inputs.task_of(t) for t in tasks]

    def _options(self, examples: int | None) -> dict[str, Any]:
        """What all learners share; the engine checks it."""
        pace = self.pace
        if pace == "even":
            if examples is None:
                raise ValueError("pace='even': the number of examples is not known; expected it, as pace=10000")
            pace = examples * self.passes
        elif isinstance(pace, str):
            raise ValueError(f"pace={pace!r}: expected 'even' or the number of examples")
        _checks.choice("reduction", self.reduction, ("one-vs-rest", "one-vs-one"))
        given = {name: getattr(self, name) for name in OPTIONS}
        return given if pace is None else given | {"pace": "even", "length": _checks.whole("pace", pace, 1)}

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

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        self.classes_ = classes
        self._words = classes.tolist()
        self._alone = len(classes) > 2 and not self._model.info()["users"]  # tasks would mean nothing to it
        places = (-1, 1) if len(classes) == 2 else range(1, len(classes) + 1)
        self._place = dict(zip(self._words, places, strict=True))

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

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(_labels.distinct(classes), np.sort(self.classes_)):
            raise ValueError(f"classes {classes!r}: not those of the first call, {self.classes_.tolist()}")

    def _learn(
        self, X: Any, y: Any, classes: Any, task: Any, time: Any, weight: Any, anew: bool, all_examples: bool = False
    ) -> None:
        if _is_stream(X, y):
            if task is not None or time is not None or weight is not None:
                raise ValueError(
                    "task, time or sample_weight beside an iterator: expected (X, y, task, time, sample_weight) in its parts"
                )
            for part in X:
                if not isinstance(part, tuple) or not 2 <= len(part) <= 5:
                    raise ValueError("an iterator: expected tuples (X, y), or with task, time and sample_weight, too")
                self._learn(part[0], part[1], classes if anew else None, *(*part[2:], None, None, None)[:3], anew=anew)
                anew = False
            if anew:
                raise ValueError("an iterator without any examples")
            return
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        batch, tasks, times = self._read(X, task, time, anew)
        weights = _inputs.weights(weight, len(batch))
        if all_examples and weights is not None and not weights.any():
            raise ValueError("sample_weight: all zero, so there is no label to learn from; expected one above 0")
        labels = column_or_1d(_labels.column(y), warn=True)
        check_consistent_length(X if not hasattr(X, "num_rows") else labels, labels)
        known = _labels.known(labels)
        if labels[known].dtype.kind == "f":
            assert_all_finite(labels[known], input_name="y")
        check_classification_targets(labels[known].tolist() if labels.dtype == object else labels[known])
        if anew or not hasattr(self, "_model"):
            named = _labels.distinct(_labels.plain(labels[known]) if classes is None else classes)
            self._new(named, len(labels) if all_examples else None, tasks is not None or self.tasks is not None)
            self._name_columns()
        else:
            self._check_classes(classes)
            if tasks is not None:
                self._expect_users()
        codes = _labels.codes(self.classes_, labels)
        found = self._model.run(batch, tasks, codes, times, weights, self.rounds or "", bool(self.trace))
        if self.trace:
            group = found.pop("group")
            if self._reduction() and not self._alone:  # the user's place in tasks_, and the question's
                untracked = found["task"] == 0xFFFFFFFE
                found["task"] = np.where(untracked, found["task"], found["task"] // self._model.info()["questions"]).astype(np.uint32)
                found["question"] = group
            self.trace_ = np.rec.fromarrays([found[name] for name in found], names=list(found))

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
                self, _inputs.checked_sparse(X), reset=anew, accept_sparse="csr", accept_large_sparse=True, dtype=np.float64, order="C", ensure_all_finite=False
            )
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


class Calibrated(Estimator):
    """A learner whose margins become probabilities, learned from the labels that were bought."""

    def predict_proba(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """(n, C): the chance of each class; rows sum to 1. Of more than two classes proportional to the odds of each against
        the rest or, with reduction="one-vs-one", to 1 / (1 + the sum of the odds of the others against it); the predicted
        class has the largest."""
        if self._reduction():
            X = _inputs.arrow_parts(X) or X
            if isinstance(X, Iterator):
                return self._parts(self.predict_proba, X, task)
            batch, tasks = self._to_predict(X, task)
            return self._fitted().decision(batch, tasks, probabilities=True)
        margin = self.decision_function(X, task=task)
        odds = self._fitted().log_odds(np.ascontiguousarray(margin).ravel())
        odds = np.column_stack([np.zeros(len(odds)), odds])
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

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


def _with_inside(spec: str, path: list[str], value: str) -> str:
    """The same text with another value of a parameter inside: margin(b=1), [b], 2 becomes margin(b=2)."""
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


def _has_column(X: Any, name: str) -> bool:
    if _inputs.is_frame(X):
        return name in (_inputs.columns_of(X) or [])
    return bool(_inputs.is_records(X) and isinstance(X[0], Mapping) and name in X[0])


def _ids(ids: Any, where: str = "as `decide` returned them") -> npt.NDArray[np.uint64]:
    values = np.atleast_1d(np.asarray(ids)).ravel()
    if values.size == 0:
        return np.empty(0, dtype=np.uint64)
    if values.dtype.kind not in "iu":
        raise ValueError(f"ids: {values.tolist()[0]!r}; expected whole numbers, {where}")
    if (values < 0).any():
        raise ValueError(f"ids: {values[values < 0].tolist()[0]}, as where nothing was asked; expected ids from 0, {where}")
    return np.ascontiguousarray(values, dtype=np.uint64)


def _is_stream(X: Any, y: Any) -> bool:
    return y is None and isinstance(X, Iterator)


def _part(x: Any) -> tuple[Any, ...]:
    if isinstance(x, tuple):
        raise ValueError("an iterator: expected parts of X alone (tasks by task_column), not tuples")
    return (_inputs.batch_as_table(x),)


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
