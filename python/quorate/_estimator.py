"""The estimator classes: scikit-learn's methods, and methods for one example at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length

from quorate import _checks, _core, _inputs, _labels
from quorate._asking import Asker

if TYPE_CHECKING:
    from typing_extensions import Self


class Reason(NamedTuple):
    """The contribution of a feature to the margin of an example. Contributions add up to the margin, up to rounding."""

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


class Estimator(ClassifierMixin, Asker):
    """Base of all learners. Use a learner's own class, as `quorate.Cohort`.

    Threads: methods that read (predict, decision_function, info_, save, snapshot) run at the same time; methods that learn
    wait for them and exclude each other. Long calls release the interpreter and end on Ctrl-C. After a MemoryError by
    `memory` the model is as it was before the example that did not fit: it predicts, can be saved, and learns examples that
    fit. (If the machine itself ran out of memory while learning, every later call raises MemoryError.) A child process that was
    forked while another thread learned gets RuntimeError."""

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
            (X, y), (X, y, task), (X, y, task, time) or (X, y, task, time, sample_weight), each a part of the stream, and then
            y is None; or an object with the Arrow C stream interface (a reader of record batches, a DuckDB relation), read
            batch by batch; or an iterator of frames or record batches (`pandas.read_csv(.., chunksize=..)`,
            `ParquetFile.iter_batches()`), and then y is a column's name
        y : n labels of two or more classes; None or NaN for an unknown label; of frames or an Arrow stream also the name of
            the column that holds them
        sample_weight : n importance weights of labels, 0 to 1000: a label of weight 2 teaches as much as two labels, 0 is no
            label. Labels are counted, and accuracy is measured, without weights
        task : n names or whole numbers, or one for all; default: all examples are of one task. With more than two classes
            these are users: each has its own weights for every class, and shares each class with all users (`Cohort`,
            `Perceptron`, `Shampo`, `ShampoSecondOrder`)
        time : n dates, or seconds since 1970; needed for limits as labels="20/day"
        classes : all classes, if y may lack some
        """
        self._forget()
        X, y = self._with_labels(X, y)
        passes = _checks.whole("passes", self.passes, 1)
        if _is_stream(X, y) and passes != 1:
            raise ValueError(f"passes={passes}: an iterator can be read only once; expected passes=1")
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
        """Margins: of two classes (n,), above 0 for the second; of more (n, C), the largest being predicted. For tasks
        never seen, the weights that all tasks share are used. O(non-zeros), the interpreter free for other threads."""
        return self._decide_all(X, task, probabilities=False)

    def predict(self, X: Any, *, task: Any = None, threshold: float | None = None) -> npt.NDArray[Any]:
        """The class of each example, shape (n,). threshold: of two classes, the probability from which the second is predicted, 0 to 1
        (default: `threshold_`, as the learner's `cost` says). Cost and errors as `decision_function`; ValueError: a threshold without
        probabilities, or of more than two classes."""
        if threshold is not None:
            if not hasattr(self, "predict_proba") or self._reduction() or not 0 <= threshold <= 1:
                raise ValueError(f"threshold={threshold}: expected 0 to 1, of a learner of two classes with probabilities, as Cohort")
            return self.classes_[(self.predict_proba(X, task=task)[:, 1] >= threshold).astype(int)]
        margin = self.decision_function(X, task=task)
        return self.classes_[(margin > 0).astype(int) if margin.ndim == 1 else margin.argmax(axis=1)]

    def explain(self, X: Any, *, task: Any = None, top: int = 5) -> list[list[Reason]]:
        """Explains each prediction: the `top` features with the largest contributions to the margin, by name, the largest
        first. A question's label would teach most about features of large `uncertainty` (the probability of asking is
        `probability` of `decide`). With more than two classes the margin is that of the predicted class. O(non-zeros).
        Raises ValueError for learners whose margins are not sums over features (kernels, committees)."""
        if not isinstance(top, (int, np.integer)) or isinstance(top, bool) or top < 1:
            raise ValueError(f"top={top!r}: expected a whole number from 1")
        batch, tasks = self._to_predict(X, task)
        return [[Reason(*reason) for reason in row] for row in self._fitted().explain(batch, tasks, int(top))]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, task: Any = None) -> float:
        """Accuracy from 0 to 1 on labelled examples. y: as of `fit`."""
        if isinstance(y, str) and _inputs.is_frame(X):
            X, y = _inputs.without(X, y)
        return float(accuracy_score(y, self.predict(X, task=task), sample_weight=sample_weight))

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
        if task is not None or self.task_column is not None:
            self._expect_users()
        if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float))):
            time = float(np.asarray(_inputs.times([time], 1))[0])
        name = self._task_in(x, task) if self.task_column is not None else _inputs.task_of(task)
        x = self._one(x, learns=True)
        if isinstance(x, _core.Batch):
            times = None if time is None else np.array([time], dtype=np.float64)
            self._model.run(x, _inputs.codes([name]), np.array([label], dtype=np.int16), times, _inputs.weights(w, 1), "", False)
        elif self.task_column is not None:
            self._model.learn_one(x, label, name, time, w, self.task_column)
        else:
            self._model.learn_one(x, label, name, time, w)

    def score_one(self, x: Any, task: Any = None) -> float:
        """The margin of one example of a binary problem."""
        if self._reduction():
            raise ValueError("score_one: of several classes there is no one margin; expected two classes")
        name = self._task_in(x, task) if self.task_column is not None else _inputs.task_of(task)
        x = self._one(x, learns=False)
        if isinstance(x, _core.Batch):
            return float(self._fitted().decision(x, _inputs.codes([name]), False)[0])
        if self.task_column is not None:
            return self._fitted().score_one(x, name, self.task_column)
        return self._fitted().score_one(x, name)

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

    # Inside ----------------------------------------------------------------------------------------------------------

    def _decide_all(self, X: Any, task: Any, probabilities: bool) -> npt.NDArray[np.float64]:
        """Margins or, with several classes, probabilities of all examples, which may come in parts."""
        X = _inputs.arrow_parts(X) or X
        if not isinstance(X, Iterator):
            batch, tasks = self._to_predict(X, task)
            return self._fitted().decision(batch, tasks, probabilities)
        if task is not None:
            raise ValueError("task: beside an iterator; expected task_column to name it in each part")
        parts = []
        for x in X:
            if isinstance(x, tuple):
                raise ValueError("an iterator: expected parts of X alone (tasks by task_column), not tuples")
            parts.append(self._decide_all(_inputs.batch_as_table(x), None, probabilities))
        if not parts:
            raise ValueError("an iterator without any examples")
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = self._joint
        return tags

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
                of_task, of_time, of_weight = (*part[2:], None, None, None)[:3]
                self._learn(part[0], part[1], classes if anew else None, of_task, of_time, of_weight, anew)
                anew = False
            if anew:
                raise ValueError("an iterator without any examples")
            return
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        batch, tasks, times = self._read(X, task, time, anew or not hasattr(self, "_form"))
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
        else:
            self._check_classes(classes)
            self._set_limits()
            if tasks is not None:
                self._expect_users()
        self._name_features()
        codes = _labels.codes(self.classes_, labels)
        found = self._model.run(batch, tasks, codes, times, weights, self.rounds or "", bool(self.trace))
        if self.trace:
            group = found.pop("group")
            if self._reduction() and not self._alone:  # indices of the user in tasks_, and of the question
                untracked = found["task"] == 0xFFFFFFFE
                found["task"] = np.where(untracked, found["task"], found["task"] // self._model.info()["questions"]).astype(np.uint32)
                found["question"] = group
            self.trace_ = np.rec.fromarrays(list(found.values()), dtype=[(name, values.dtype) for name, values in found.items()])


class Calibrated(Estimator):
    """A learner whose margins become probabilities, learned from the labels that were bought."""

    def predict_proba(self, X: Any, *, task: Any = None) -> npt.NDArray[np.float64]:
        """(n, C): the chance of each class; rows sum to 1. Of more than two classes proportional to the odds of each against
        the rest or, with reduction="one-vs-one", to 1 / (1 + the sum of the odds of the others against it); the predicted
        class has the largest."""
        if self._reduction():
            return self._decide_all(X, task, probabilities=True)
        margin = self.decision_function(X, task=task)
        odds = self._fitted().log_odds(np.ascontiguousarray(margin).ravel())
        odds = np.column_stack([np.zeros(len(odds)), odds])
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    @property
    def threshold_(self) -> float | None:
        """The probability from which the second of two classes is predicted; None with more."""
        if self._reduction():
            return None
        return float(1 / (1 + np.exp(-self._fitted().log_odds(np.zeros(1))[0])))

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


def _is_stream(X: Any, y: Any) -> bool:
    return y is None and isinstance(X, Iterator)
