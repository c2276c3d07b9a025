"""Labels and classes as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quorate import _inputs


def column(y: Any) -> Any:
    """Labels; a list of words and other values becomes an array of objects, as NumPy would turn NaN into the word 'nan'."""
    if isinstance(y, (list, tuple)) and any(isinstance(v, str) for v in y) and not all(isinstance(v, str) for v in y):
        out = np.empty(len(y), dtype=object)
        out[:] = y
        return out
    return y if hasattr(y, "__array__") or hasattr(y, "__len__") else np.asarray(y)


def known(y: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which labels are neither None nor NaN."""
    if y.dtype == object:
        return np.array([not _inputs.is_missing(v) for v in y.tolist()], dtype=bool)
    return ~np.isnan(y) if y.dtype.kind == "f" else np.ones(len(y), dtype=bool)


def distinct(classes: Any) -> npt.NDArray[Any]:
    """Classes in order, each once."""
    values = np.asarray(column(classes if hasattr(classes, "__array__") or isinstance(classes, str) else list(classes)))
    if not known(values.ravel()).all():
        raise ValueError(f"classes {classes!r}: expected no missing ones")
    return np.unique(plain(values.ravel()))


def plain(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels as an array of their own type, so that they can be sorted."""
    if y.dtype == object and len({isinstance(v, str) for v in y.tolist()}) == 2:
        word = next(v for v in y.tolist() if isinstance(v, str))
        number = next(v for v in y.tolist() if not isinstance(v, str))
        raise ValueError(f"y: {word!r} and {number!r}; expected words or numbers, not both")
    return np.asarray(y.tolist()) if y.dtype == object and not all(isinstance(v, str) for v in y.tolist()) else y


def codes(classes: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[np.int16]:
    """Labels of these classes in the engine's form: 1 and -1, or 1 + the class's index; 0 for an unknown one."""
    there = known(y)
    out = np.zeros(len(y), dtype=np.int16)
    values = plain(y[there])
    if len(values) == 0:
        return out
    order = np.argsort(classes)  # a file's classes may be in another order
    place = order[np.minimum(np.searchsorted(classes, values, sorter=order), len(order) - 1)]
    wrong = classes[place] != values
    if np.any(wrong):
        raise ValueError(f"y: {values[wrong].tolist()[0]!r}; expected one of {', '.join(map(repr, classes.tolist()))} (see `classes`)")
    out[there] = 2 * place - 1 if len(classes) == 2 else 1 + place
    return out
