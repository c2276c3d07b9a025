"""Learners for River: `wrap(learner)` is a classifier, alone or at the end of a pipeline; `active(classifier)` is one
of River's active learners. Needs the package river.

    from river import compose, evaluate, metrics, preprocessing
    import quorate, quorate.river

    model = compose.Pipeline(preprocessing.StandardScaler(), quorate.river.wrap(quorate.Cohort(labels=100)))
    evaluate.progressive_val_score(dataset, model, metrics.Accuracy())
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from river import base, compose
from river.active.base import ActiveLearningClassifier
from sklearn.base import clone

from quorate import _inputs
from quorate._estimator import Estimator
from quorate.learners import LEARNERS

__all__ = ["ActiveClassifier", "Classifier", "active", "wrap"]


class Classifier(base.MiniBatchClassifier):
    """A learner as River's classifier; `wrap` makes it.

    `learn_one(x, y)` offers the learner a label as a stream does: it learns from the label only if it asks for it within
    its limits, so that `labels=100` holds in River's loops, too. A y of None is an unknown label.

    Parameters
    ----------
    learner : a learner of Quorate. It is copied with its model, if it has one; `clone` starts from there again
    classes : all classes, as the engine numbers them before the first example; default: False and True, as with
        River's own binary classifiers
    task_column : the key of x that names the task, a string; it is no feature. Default: that of the learner

    Attributes
    ----------
    learner_ : the learner that learns: its `n_labels_`, `info_`, `save` and the rest
    """

    def __init__(self, learner: Estimator, classes: Sequence[Any] | None = None, task_column: str | None = None):
        if not isinstance(learner, Estimator):
            raise TypeError(f"learner: expected a learner of Quorate, not {type(learner).__name__}")
        if task_column is not None and not isinstance(task_column, str):
            raise TypeError(f"task_column={task_column!r}: expected a string")
        self.learner = learner
        self.classes = classes
        self.task_column = task_column
        fitted = hasattr(learner, "_model")
        self.learner_ = copy.deepcopy(learner) if fitted else clone(learner)
        if task_column is not None:
            self.learner_.task_column = task_column
        if fitted:
            self.learner_._check_classes(classes)
        else:
            self.learner_.start([False, True] if classes is None else classes)

    @property
    def _multiclass(self) -> bool:
        return len(self.learner_.classes_) > 2

    def learn_one(self, x: Mapping[Any, Any], y: Any, *, task: Any = None, time: float | None = None, w: float = 1.0) -> None:
        """Advances by one example, of importance weight `w`, 0 to 1000. `task`: its name, if no key of x has it; `time`: seconds since 1970, for limits by
        time. A few microseconds for 100 features. Raises ValueError for a y that is no class, or an x that is no
        example."""
        try:
            self.learner_.learn_one(x, y, task, time, w)
        except ValueError:
            if self.classes is None and y is not None and y not in self.learner_._place:
                what = f"y: {y!r}; expected True or False, or all classes named, as wrap(learner, classes=[...])"
                raise ValueError(what) from None
            raise

    def predict_one(self, x: Mapping[Any, Any], *, task: Any = None) -> Any:  # type: ignore[override]
        """The class of x; for a task never seen, by the weights that all tasks share. A few microseconds for 100
        features and two classes."""
        return self.learner_.predict_one(x, task)

    def predict_proba_one(  # type: ignore[override]
        self, x: Mapping[Any, Any], *, task: Any = None
    ) -> dict[Any, float]:
        """The chance of each class. Raises NotImplementedError for learners that do not calibrate."""
        learner: Any = self.learner_
        if not hasattr(learner, "predict_proba"):
            raise NotImplementedError(f"{learner!r} has no probabilities")
        if not self._multiclass:
            return dict(learner.predict_proba_one(x, task))
        return dict(zip(learner.classes_.tolist(), learner.predict_proba([x], task=task)[0].tolist(), strict=True))

    def learn_many(self, X: Any, y: Any, *, task: Any = None, time: Any = None, w: Any = 1.0) -> None:
        """`learn_one` of each row of a frame in turn, to the bit. y: their classes, a series or list; `task`, `time` and `w`: one for
        all, or one each. Rows before one that is refused are learned."""
        rows = _inputs.rows_of(X)
        each = {name: value if np.ndim(value) else [value] * len(rows) for name, value in (("task", task), ("time", time), ("w", w))}
        for name, values in {"y": y, **each}.items():
            if len(values) != len(rows):
                raise ValueError(f"{name}: {len(values)} values; expected one for each of the {len(rows)} rows")
        for x, label, its_task, its_time, weight in zip(rows, _inputs.values_of(y), each["task"], each["time"], each["w"]):
            self.learn_one(x, None if _inputs.is_missing(label) else label, task=its_task, time=its_time, w=weight)

    def predict_many(self, X: Any, *, task: Any = None) -> Any:
        """`predict_one` of each row of a frame, as a pandas series with its index."""
        pd = importlib.import_module("pandas")
        rows = _inputs.rows_of(X)
        return pd.Series([self.predict_one(x, task=task) for x in rows], index=getattr(X, "index", None))

    def predict_proba_many(self, X: Any, *, task: Any = None) -> Any:
        """`predict_proba_one` of each row of a frame, as a pandas frame with a column for each class."""
        pd = importlib.import_module("pandas")
        chances = [self.predict_proba_one(x, task=task) for x in _inputs.rows_of(X)]
        return pd.DataFrame(chances, index=getattr(X, "index", None), columns=self.learner_.classes_.tolist())

    def decide_one(self, x: Mapping[Any, Any], *, task: Any = None, time: float | None = None) -> list[int]:
        """Advances by one example without its label. Returns the ids of the learner's questions, one for each uncertain
        class if there are more than two; empty if it asks none. Give them to `learner_.learn` with the label, or to
        `learner_.withdraw`."""
        decided = self.learner_.decide([x], task=task, time=None if time is None else [time])
        return [int(n) for n in decided.ids[decided.ask]]

    @property
    def _raw_memory_usage(self) -> int:
        return int(super()._raw_memory_usage + self.learner_.info_["model_bytes"])

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": LEARNERS["cohort"]()}


class ActiveClassifier(ActiveLearningClassifier):
    """One of River's active learners that asks as its learner decides; `active` makes it.

    `predict_one` and `predict_proba_one` return the classifier's result and whether the label is asked for, and count x
    as an example of the stream. `learn_one` answers: at once, late, in any order, or never; a question is found again
    by the value of x. An x that was not asked about is learned as by `Classifier.learn_one`.

    Parameters
    ----------
    classifier : from `wrap`, or a pipeline that ends with one
    """

    def __init__(self, classifier: base.Classifier):
        super().__init__(classifier)
        steps = list(classifier.steps.values()) if isinstance(classifier, compose.Pipeline) else [classifier]
        if not isinstance(steps[-1], Classifier):
            raise TypeError(f"classifier: expected wrap(...), or a pipeline that ends with it, not {classifier}")
        self._last: Classifier = steps[-1]
        self._head = compose.Pipeline(*steps[:-1]) if len(steps) > 1 else None  # the same transformers
        self._awaited: dict[Any, list[list[int]]] = {}  # by the value of x: the ids of each of its questions, oldest first

    def predict_one(self, x: Any, **kwargs: Any) -> tuple[Any, bool]:  # type: ignore[override]
        """The class of x, and whether its label is asked for. `task` and `time` as in `Classifier.learn_one`."""
        seen = self._seen(x)
        asked = self._ask(x, seen, kwargs)  # first: it counts x, and the prediction is the one of that decision
        return self._last.predict_one(seen, task=kwargs.get("task")), asked

    def predict_proba_one(  # type: ignore[override]
        self, x: Any, **kwargs: Any
    ) -> tuple[dict[Any, float], bool]:
        """The chance of each class, and whether the label of x is asked for."""
        seen = self._seen(x)
        asked = self._ask(x, seen, kwargs)
        return self._last.predict_proba_one(seen, task=kwargs.get("task")), asked

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """The label of x. The transformers before the learner learn from x, too."""
        questions = self._awaited.get(_value(x))
        if questions is None:
            self.classifier.learn_one(x, y, **kwargs)
            return
        self._last.learner_.learn(questions[0], [y] * len(questions[0]))
        questions.pop(0)
        if not questions:
            del self._awaited[_value(x)]
        if self._head is not None:
            self._head.learn_one(x, y)

    def _seen(self, x: Any) -> Any:
        return x if self._head is None else self._head.transform_one(x)

    def _ask(self, x: Any, seen: Any, kwargs: dict[str, Any]) -> bool:
        ids = self._last.decide_one(seen, **kwargs)
        if ids:
            self._awaited.setdefault(_value(x), []).append(ids)
            while len(self._awaited) > self._last.learner_.max_pending:  # the learner withdraws its oldest questions, too
                del self._awaited[next(iter(self._awaited))]
        return bool(ids)

    def _ask_for_label(self, x: Any, y_pred: Any) -> bool:
        return self._ask(x, self._seen(x), {})

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": wrap(LEARNERS["cohort"]())}

    def _unit_test_skips(self) -> set[str]:
        return {"check_predict_proba_one_binary"}  # it does not accept a pair of probabilities and question


def wrap(learner: Estimator, *, classes: Sequence[Any] | None = None, task_column: str | None = None) -> Classifier:
    """A learner as River's classifier, as `wrap(quorate.Cohort(labels=500))`; of other classes than False and True
    `wrap(quorate.Cohort(), classes=["ham", "spam"])`. See `Classifier`."""
    return Classifier(learner, classes, task_column)


def active(classifier: base.Classifier) -> ActiveClassifier:
    """A classifier from `wrap`, or a pipeline that ends with one, as one of River's active learners: `predict_one(x)`
    returns the class and whether the label is asked for. See `ActiveClassifier`."""
    return ActiveClassifier(classifier)


def _value(x: Any) -> Any:
    return frozenset(x.items()) if isinstance(x, Mapping) else x
