"""Checks of parameters, with the parameter, its value and the values expected in the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def text(value: Any) -> str:
    """A parameter's value in a spec."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return utf8(str(value))


def utf8(value: str) -> str:
    """The same text. ValueError for lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{value!r}; expected a text in UTF-8, without lone surrogates") from None
    return value


def whole(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within a range."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        range_ = f"of at least {least}" if most == 2**64 - 1 else f"from {least} to {most}"
        raise ValueError(f"{name}={value!r}: expected a whole number {range_}")
    return int(value)


def share(name: str, value: Any, expected: str = "a number from 0 to 1") -> float:
    """A number from 0 to 1; the engine excludes the ends that have no meaning."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value <= 1:
        raise ValueError(f"{name}={value!r}: expected {expected}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: expected True or False")
    return bool(value)


def choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of the choices."""
    if not isinstance(value, (str, type(None))) or value not in choices:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")
    return value
