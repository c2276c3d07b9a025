"""Learners as scikit-activeml's query strategies: `StreamQuery(learner)` for streams, `PoolQuery(learner)` for pools.
Needs the package scikit-activeml. A learner is a classifier there as it is:
`SklearnClassifier(quorate.Cohort(query="always"), classes=[0, 1])`.

    strategy = quorate.skactiveml.StreamQuery(quorate.Cohort(), classes=[0, 1], budget=0.1)
    for x, label in stream:
        asked = strategy.query([x], X=X_train, y=y_train)
        strategy.update([x], asked)
        if len(asked):
            X_train.append(x)
            y_train.append(label)
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SingleAnnotatorStreamQueryStrategy
from skactiveml.utils import MISSING_LABEL, check_indices, check_random_state, is_labeled
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from quorate import _inputs
from quorate._awaited import Awaited
from quorate._estimator import Estimator
from quorate.learners import LEARNERS

__all__ = ["PoolQuery", "StreamQuery"]


class StreamQuery(SingleAnnotatorStreamQueryStrategy):
    """Asks for labels as a learner does on a stream.

    The strategy has a learner of its own, which decides on each candidate, and learns from the labels that it asked for;
    the caller may train other models with these labels. They reach the learner through `X` and `y` of `query`, where a
    candidate is recognized by its values; so pass all labeled rows there, or only the new ones. Rows that are labeled at
    the first query are learned from, too (but not with `task`), and the rate does not count them; later labels that the
    learner did not ask for are ignored.

    Parameters
    ----------
    learner : a learner of Quorate, new or fitted; it is copied. Default: Cohort(). One that chooses among a round's
        examples, as Shampo, needs `task`
    classes : all classes; default: those of the `clf` given to `query`
    missing_label : the value in y for an unknown label
    budget : most labels, as a share of the candidates, above 0 and at most 1: a hard limit in any 1,000 candidates on
        end (in any 10 / budget if that is more), spent evenly by query rules that have a b. Default: the learner's own
        limits, or 0.1 if it has none. If both are given, both hold
    random_state : seed of the learner; default: that of the learner

    Attributes
    ----------
    learner_ : the learner that learns, a classifier
    """

    def __init__(
        self,
        learner: Estimator | None = None,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        budget: float | None = None,
        random_state: Any = None,
    ):
        super().__init__(budget=budget, random_state=random_state)
        self.learner = learner
        self.classes = classes
        self.missing_label = missing_label

    def query(
        self,
        candidates: Any,
        clf: Any = None,
        X: Any = None,
        y: Any = None,
        task: Any = None,
        return_utilities: bool = False,
    ) -> Any:
        """Which candidates to label. Labels in `X` and `y` are learned from, once; otherwise nothing changes, so that a
        second call returns the same. O(model), as the decision is tried on a copy.

        Parameters
        ----------
        candidates : array of shape (n, d), in the order in which they came
        clf : its classes are used, if none were given to the strategy
        X, y : rows (an array or a sparse matrix) and their labels, some of them missing
        task : names or whole numbers, of each candidate, or one for all

        Returns
        -------
        indices of the candidates to label, ascending; with return_utilities the chance of each to be asked about, too
        """
        rows = self._rows(candidates, return_utilities)
        self._begin(clf, X, y, task)
        self._learn(X, y)
        decided = self.learner_.snapshot().decide(rows, task=task)
        asked, chance = decided.ask, decided.probability
        if asked.ndim == 2:
            asked, chance = asked.any(axis=1), chance.max(axis=1)
        return (np.flatnonzero(asked), chance) if return_utilities else np.flatnonzero(asked)

    def update(
        self, candidates: Any, queried_indices: Any, budget_manager_param_dict: Any = None, task: Any = None
    ) -> StreamQuery:
        """Records that the candidates have passed, and which of their labels were asked for. Labels that the learner
        asks for count against its limits; those that the caller did not ask for are withdrawn.
        `budget_manager_param_dict` is ignored."""
        rows = self._rows(candidates, False)
        queried = set(check_indices(queried_indices, rows, dim=0).tolist() if len(queried_indices) else [])
        self._begin(None, None, None, task)
        decided = self.learner_.decide(rows, task=task)
        for n, row in enumerate(rows):
            ids = decided.ids[n][decided.ask[n]]
            if len(ids) and n in queried:
                self._awaited.add(row.tobytes(), ids)
            elif len(ids):
                self.learner_.withdraw(ids)
        self._awaited.give_up(self.learner_.max_pending)
        return self

    def _rows(self, candidates: Any, return_utilities: bool) -> npt.NDArray[np.float64]:
        reset = not hasattr(self, "learner_")
        rows, _ = self._validate_data(candidates, return_utilities, reset=reset, dtype=np.float64, order="C")
        return np.asarray(rows)

    def _begin(self, clf: Any, X: Any, y: Any, task: Any) -> None:
        """Makes the learner, if there is none yet: it learns from rows that are labeled already, then gets its limits."""
        if hasattr(self, "learner_"):
            return
        learner = copy.deepcopy(_given(self.learner, "cohort"))
        limits = _limits(learner)
        if not hasattr(learner, "_model"):
            if self.random_state is not None:
                learner.seed = int(self.random_state_.randint(2**31 - 1))
            learner.labels = learner.labels_per_task = None
            learner.start(_classes(self.classes, clf).tolist())
            if task is not None:
                learner._expect_users()
            rows, labels = _labeled(X, y, self.missing_label)
            if len(rows) and task is None:
                learner.partial_fit(rows, labels)
        if self.budget is not None or limits == ([], None):
            limits[0].append(_rate(self.budget_, learner.info_["questions"]))
        learner._model.set_limits(*limits)
        self.learner_ = learner
        self._awaited = Awaited()

    def _learn(self, X: Any, y: Any) -> None:
        if not self._awaited:
            return
        rows, labels = _labeled(X, y, self.missing_label)
        for n in reversed(range(len(rows))):  # the newest come last
            ids = self._awaited.first(key := rows[n].tobytes())
            if ids is not None:
                self.learner_.learn(ids, np.repeat(labels[n : n + 1], len(ids)))
                self._awaited.answered(key)
                if not self._awaited:
                    return


class PoolQuery(SingleAnnotatorPoolQueryStrategy):
    """Draws from a pool as a learner does that selects examples for a shared annotator (Shampo, or query="shared").

    Each query learns anew from the labeled rows, in the order of X and `passes` times, then draws candidates: uncertain
    ones are likelier, the more so the smaller the learner's b. The caller's loop counts the labels bought; the learner's
    own limits are ignored.

    Parameters
    ----------
    learner : a learner of Quorate that selects. Default: Shampo()
    classes : all classes; default: those of the `clf` given to `query`, or of y
    missing_label : the value in y for an unknown label
    random_state : seed of the learner and the draws
    """

    def __init__(
        self,
        learner: Estimator | None = None,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ):
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.learner = learner
        self.classes = classes

    def query(
        self,
        X: Any,
        y: Any,
        clf: Any = None,
        task: Any = None,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Which candidates to label, in the order drawn. O(labeled rows + batch_size * candidates).

        Parameters
        ----------
        X, y : rows and their labels, some of them missing
        clf : its classes are used, if none were given to the strategy
        task : names or whole numbers, of each row of X; then candidates are rows of X
        candidates : rows of X by their indices, or other rows. Default: rows of X without a label
        batch_size : how many to draw, different ones
        return_utilities : return also the chance of each candidate in each draw, NaN for other rows: (batch_size, n)
        """
        rows = check_array(X, accept_sparse="csr", dtype=np.float64) if sparse.issparse(X) else None
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X if rows is None else np.zeros((rows.shape[0], 1)), y, candidates, batch_size, return_utilities, reset=True
        )
        if rows is not None:  # scikit-activeml does not accept sparse rows
            X, self.n_features_in_ = rows, rows.shape[1]
        pool, mapping = self._transform_candidates(candidates, X, y)
        known = is_labeled(y, self.missing_label)
        if task is not None:
            if mapping is None:
                raise ValueError("task: of rows of X; expected candidates as indices, not rows of their own")
            task = np.broadcast_to(np.asarray(task), X.shape[0])
        learner = self._fit(X[known], y[known], None if task is None else task[known], clf)
        drawn, chances = _draw(learner, pool, None if task is None else task[mapping], batch_size, self.random_state_)
        if mapping is not None:
            all_chances = np.full((len(chances), X.shape[0]), np.nan)
            all_chances[:, mapping] = chances
            drawn, chances = mapping[drawn], all_chances
        return (drawn, chances) if return_utilities else drawn

    def _fit(self, X: Any, y: Any, task: Any, clf: Any) -> Estimator:
        learner: Estimator = clone(_given(self.learner, "shampo"))
        classes = _classes(self.classes, clf, y)
        learner.labels = learner.labels_per_task = learner.pace = None
        learner.seed = int(self.random_state_.randint(2**31 - 1))
        # All these labels were bought: each example is a round of its own; with classes, all its labels are asked for.
        learner.rounds = None if len(classes) > 2 else "each"
        learner.labels_per_round = clone(learner).start(classes.tolist()).info_["questions"]
        learner.start(classes.tolist())
        if task is not None:
            learner._expect_users()
        if not learner.info_["selects"]:
            raise ValueError(f"learner: {learner!r} does not select among examples; expected one that does, as Shampo")
        if X.shape[0]:
            learner.fit(X, y, task=task, classes=classes)
        return learner


def _draw(
    learner: Estimator, pool: npt.NDArray[Any], task: Any, size: int, random: np.random.RandomState
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Draws rows of the pool, one after the other. Returns them, and the chances of all rows before each draw."""
    drawn: list[int] = []
    chances = np.full((size, pool.shape[0]), np.nan)
    left = np.arange(pool.shape[0])
    for n in range(size):
        found = learner._model.round(
            _inputs.matrix(pool[left]), None if task is None else _inputs.task_codes(task[left], len(left))
        )
        chance = found["probability"].reshape(len(left), -1).sum(axis=1)
        chances[n, left] = chance / chance.sum()
        asked = np.flatnonzero(found["asked"].reshape(len(left), -1).any(axis=1))
        drawn.append(int(left[random.choice(asked)]))
        left = left[left != drawn[-1]]
    return np.array(drawn, dtype=np.int64), chances


def _given(learner: Any, default: str) -> Any:
    if learner is None:
        return LEARNERS[default]()
    if not isinstance(learner, Estimator):
        raise TypeError(f"learner: expected a learner of Quorate, not {type(learner).__name__}")
    return learner


def _limits(learner: Any) -> tuple[list[str], int | None]:
    """A learner's limits in the engine's form."""
    labels = [] if learner.labels is None else np.atleast_1d(np.asarray(learner.labels, dtype=object)).tolist()
    return [str(limit) for limit in labels], learner.labels_per_task


def _rate(budget: float, questions: int) -> str:
    """A share of the candidates as a rate of the engine, which counts an example for each question."""
    window = max(1000, math.ceil(10 / budget))
    return f"{math.floor(budget * window + 1e-9)}/{window * questions}"


def _classes(own: Any, clf: Any, y: Any = ()) -> npt.NDArray[Any]:
    for found in (own, getattr(clf, "classes_", None), getattr(clf, "classes", None), y if len(y) else None):
        if found is not None and len(np.unique(found)) > 1:
            return np.unique(found)
    raise ValueError("classes: not known; expected two or more, given to the strategy or by clf")


def _labeled(X: Any, y: Any, missing_label: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    if X is None or y is None or len(X) == 0:
        return np.empty((0, 0)), np.empty(0)
    X = check_array(X, dtype=np.float64, order="C")
    y = column_or_1d(y)
    check_consistent_length(X, y)
    known = is_labeled(y, missing_label)
    return X[known], y[known]
