"""The model that a learner holds once it has learned: its classes, counts, bytes and files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from quorate import _core, _inputs, _labels
from quorate._parameters import Parameters

if TYPE_CHECKING:
    from typing_extensions import Self


class ModelHolder(Parameters):
    """A learner with a model, or without one yet."""

    _model: _core.Model
    _is_named: bool  # the model has the kinds of its features
    reduction: str
    classes_: npt.NDArray[Any]

    @property
    def info_(self) -> dict[str, Any]:
        """Counters, bytes, limits and settings, by name."""
        return dict(self._fitted().info())

    @property
    def n_labels_(self) -> int:
        """Labels bought and answered."""
        return int(self._fitted().info()["labels"]["answered"])

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
        out.__dict__.update(self.__dict__)
        out._model = model
        return out

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._model = _core.Model.from_bytes(state["_model"])

    # Inside ----------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Removes all that was learned."""
        for name in ("_model", "n_features_in_", "feature_names_in_", "classes_", "trace_", "_kinds", "_of_model", "_label", "_form", "_range"):
            self.__dict__.pop(name, None)

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"this {type(self).__name__} has no model yet; call fit, partial_fit, decide or start first")

    def _fitted(self) -> _core.Model:
        try:
            return self._model
        except AttributeError:
            raise self._not_fitted() from None

    def _reduction(self) -> str:
        return self.reduction if hasattr(self, "classes_") and len(self.classes_) > 2 else ""

    def _new(self, classes: npt.NDArray[Any], examples: int | None, users: bool) -> None:
        """Makes a model. `users`: tasks are given; with several classes, each user then has its own tasks for the classes."""
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
        self._is_named = False
        self._labels_given = self._limits()
        self._set_classes(classes)

    def _limits(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("labels", "labels_per_task")}

    def _set_limits(self) -> None:
        """Gives the model the limits of labels that were set since it was made or loaded."""
        limits = self._limits()
        if limits != self._labels_given and not str(limits["labels"]).endswith("%"):  # a share waits for the next fit
            self._model.set_labels(limits)
            self._labels_given = limits

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        self.classes_ = classes
        self._words = classes.tolist()
        self._alone = len(classes) > 2 and self._model.info()["users"] is None  # several classes without users: it takes no tasks
        places = (-1, 1) if len(classes) == 2 else range(1, len(classes) + 1)
        self._place = dict(zip(self._words, places, strict=True))

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(_labels.distinct(classes), np.sort(self.classes_)):
            raise ValueError(f"classes {classes!r}: not those of the first call, {self.classes_.tolist()}")


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
