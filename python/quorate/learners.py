"""One class for each learner of the registry, made from the engine's declarations: parameters, ranges, meanings, sources."""

from __future__ import annotations

import inspect
import os
import re
from typing import Any

import numpy as np

from quorate import _core
from quorate._estimator import Calibrated, Estimator
from quorate._parameters import DECLARED

# Parameters of every learner besides its own and the engine's options: name, default, type, meaning.
_OF_PYTHON: list[tuple[str, Any, str, str]] = [
    ("pace", None, "int | str | None",
     "spend the label budget evenly over this number of examples; 'even': over those of `fit`"),
    ("passes", 1, "int", "passes of `fit` over the examples"),
    ("tasks", None, "list[Any] | None", "names of tasks known beforehand; others are added when they come"),
    ("task_column", None, "str | None", "column of a frame, or key of dicts, that names the task"),
    ("text_column", None, "str | list[str] | None",
     "column of a frame that holds raw text, or several, besides those whose strings look like it"),
    ("categorical_columns", None, "list[str] | None",
     "columns of a frame whose values are words, besides categories and strings that look like it"),
    ("time_parts", False, "bool", "hour and weekday of a frame's columns of dates and times are features"),
    ("reduction", "one-vs-rest", "str", "how three classes and more become tasks: 'one-vs-rest' or 'one-vs-one'"),
    ("trace", False, "bool", "keep `trace_`, what happened with each example of the last call of fit or partial_fit"),
]
_TYPES = {"labels": "int | str | list[int | str] | None", "labels_per_task": "int | None", "memory": "int | str | None", "interactions": "str | list[str] | None"}


def _shared() -> list[tuple[str, Any, str, str]]:
    """The parameters that all learners share."""
    out = []
    for option in DECLARED:
        name, kind, text = option["name"], option["type"], option["initial"]
        default = _value(kind, text) if text.strip('"') else None
        plain = _type(kind) if default is not None else f"{_type(kind)} | None"
        out.append((name, default, _TYPES.get(name, plain), option["meaning"]))
    return out + _OF_PYTHON


def _value(kind: str, text: str) -> Any:
    if kind == "bool":
        return text == "true"
    return int(text) if kind == "int" else float(text) if kind == "float" else text


def _type(kind: str) -> str:
    return {"bool": "bool", "int": "int", "float": "float"}.get(kind, "str")


_SHARED = _shared()


def _class_name(learner: str) -> str:
    return "".join(word.capitalize() for word in learner.split("-"))


def _choice(choice: dict[str, Any]) -> str:
    params = ", ".join(f"{p['name']}={p['initial']}" for p in choice["params"])
    return f"{choice['name']}({params})" if params else choice["name"]


def _docstring(row: dict[str, Any]) -> str:
    lines = [f"{row['title']}.", "", f"Source: {row['source']}. `str` is the learner's spec, as `quorate` and model files have it.", ""]
    lines += ["Parameters", "----------"]
    for p in row["params"]:
        range_ = f",{p['range']}" if p["range"] else ""
        lines.append(f"{p['name']} : {_type(p['type'])}{range_}, default {p['initial']!r}")
        lines.append(f"    {p['meaning']} [{p['source']}]")
        lines += [f"    - '{_choice(c)}': {c['meaning']}" for c in p["choices"]]
    for name, default, type_, meaning in _SHARED:
        lines += [f"{name} : {type_}, default {default!r}", f"    {meaning}"]
    lines += ["", "Attributes", "----------", "classes_, tasks_, n_labels_, counts_, info_, trace_, tensors"]
    return "\n".join(lines)


def _make(row: dict[str, Any]) -> type[Estimator]:
    own = [(p["name"].replace("-", "_"), _value(p["type"], p["initial"]), _type(p["type"])) for p in row["params"]]
    shared = [(name, default, type_) for name, default, type_, _ in _SHARED]
    clash = {name for name, *_ in own} & {name for name, *_ in shared}
    assert not clash, f"{row['name']}: parameters {clash} have names that all learners share"
    defaults = {name: default for name, default, _ in own + shared}

    def __init__(self: Estimator, **given: Any) -> None:
        unknown = given.keys() - defaults.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {min(unknown)!r}; it has {', '.join(defaults)}")
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    signature += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)
        for name, default, type_ in own + shared
    ]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    body = {
        "__init__": __init__,
        "__doc__": _docstring(row),
        "__module__": __name__,
        "_learner": row["name"],
        "_own": tuple(name for name, *_ in own),
        "_joint": row["capabilities"]["joint"],
    }
    return type(_class_name(row["name"]), (Calibrated if row["capabilities"]["calibrated"] else Estimator,), body)


_ROWS: list[dict[str, Any]] = _core.describe()
LEARNERS: dict[str, type[Estimator]] = {row["name"]: _make(row) for row in _ROWS}
"""The classes by the name of their learner, as in `LEARNERS["budget-random"]`."""

globals().update({cls.__name__: cls for cls in LEARNERS.values()})
__all__ = ["LEARNERS", "from_spec", "load", *(cls.__name__ for cls in LEARNERS.values())]


def from_spec(spec: str, **shared: Any) -> Estimator:
    """A new learner from its text, as "cmtl(query=margin(b=0.1))", and parameters that all learners share."""
    name, args = _core.parts(spec)
    row = next(row for row in _ROWS if row["name"] == name)
    kinds = {p["name"]: p["type"] for p in row["params"]}
    return LEARNERS[name](**{key: _value(kinds[key], text) for key, text in args}, **shared)


def _from_model(model: Any) -> Estimator:
    info = model.info()
    if info["reduction"] and len(info["classes"]) == 2:
        raise ValueError(f"a model of two classes ({info['reduction']}); expected one with a positive label (quorate train --positive)")
    known = {name for name, *_ in _SHARED}
    shared = {name: value for name, value in info["settings"].items() if name in known}
    labels = [int(text) if text.isdigit() else text for text in shared["labels"] or ()]
    shared["labels"] = labels if len(labels) > 1 else labels[0] if labels else None
    shared["time_parts"] = info["time_parts"]
    if shared["pace"] and info["settings"]["length"]:
        shared["pace"] = info["settings"]["length"]
    if info["reduction"]:
        shared["reduction"] = info["reduction"]
    out = from_spec(info["learner"], **shared)
    words = info["classes"]
    numbers = all(re.fullmatch("0|[+-]?[1-9][0-9]{0,17}", word) for word in words)  # not 01, nor Python's 1_0
    classes = np.array([int(word) for word in words] if numbers else words)
    out._model = model
    out._labels_given = out._limits()
    out._set_classes(classes)
    out._features_of_model(info)
    return out


def load(path: str | os.PathLike[str]) -> Estimator:
    """The learner in a model file, written by `save` or by the program. Classes are whole numbers if all of them look like
    whole numbers, else strings. Raises OSError, or ValueError for a file that is no model."""
    return _from_model(_core.Model.load(os.fsencode(path)))
