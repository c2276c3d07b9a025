"""Active learning: a learner's questions, the answers that come later, and the labels that it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quorate import _inputs, _labels
from quorate._reading import Reader

if TYPE_CHECKING:
    from typing_extensions import Self


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


class Questions(NamedTuple):
    """Examples of a pool to label. All fields have the same length, usually 1."""

    index: npt.NDArray[np.int64]  # type: ignore[assignment]  # not a tuple's method here
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


class Asker(Reader):
    """A learner that asks."""

    # Questions -------------------------------------------------------------------------------------------------------

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
        nothing. `annotator`: their source, kept in `kept_labels`. Returns which changed the model. Raises ValueError for ids
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


def _ids(ids: Any, where: str = "as `decide` returned them") -> npt.NDArray[np.uint64]:
    values = np.atleast_1d(np.asarray(ids)).ravel()
    if values.size == 0:
        return np.empty(0, dtype=np.uint64)
    if values.dtype.kind not in "iu":
        raise ValueError(f"ids: {values.tolist()[0]!r}; expected whole numbers, {where}")
    if (values < 0).any():
        raise ValueError(f"ids: {values[values < 0].tolist()[0]}, as where nothing was asked; expected ids from 0, {where}")
    return np.ascontiguousarray(values, dtype=np.uint64)
