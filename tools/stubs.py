"""Prints what type checkers and editors see of what the engine declares: the learners of the registry, as classes, and
the options of experiments.

    .venv/bin/python tools/stubs.py > python/quorate/learners.pyi
    .venv/bin/python tools/stubs.py options > python/quorate/_options.py
"""

import inspect
import re
import sys
import textwrap

import quorate
from quorate import _core
from quorate.learners import _SHARED

HEAD = '''# Made by tools/stubs.py from the registry; a test compares.
import os
from typing import Any, TypedDict, type_check_only

from typing_extensions import Unpack  # of Python's typing from 3.11 on

from quorate._estimator import Calibrated, Estimator

LEARNERS: dict[str, type[Estimator]]
def from_spec(spec: str, **shared: Unpack[Shared]) -> Estimator: ...
def load(path: str | os.PathLike[str]) -> Estimator: ...

@type_check_only
class Shared(TypedDict, total=False):
    """The parameters of every learner."""
'''


def stub(learner: type) -> str:
    lines = [f"class {learner.__name__}({learner.__base__.__name__}):"]
    lines += [f'    """{inspect.getdoc(learner).splitlines()[0]}"""', "    def __init__(", "        self,", "        *,"]
    parameters = inspect.signature(learner.__init__).parameters
    lines += [f"        {name}: {parameters[name].annotation} = {parameters[name].default!r}," for name in learner._own]
    return "\n".join([*lines, "        **shared: Unpack[Shared],", "    ) -> None: ...", ""])


def learners() -> str:
    names = ["LEARNERS", "from_spec", "load", *(c.__name__ for c in quorate.LEARNERS.values())]
    shared = "".join(f"    {name}: {type_}  # default {default!r}\n" for name, default, type_, _ in _SHARED)
    return "\n".join([HEAD + shared, *map(stub, quorate.LEARNERS.values()), f"__all__ = {names!r}", ""])


# ---- quorate/_options.py

OPTIONS_HEAD = '''# Made by tools/stubs.py from the options that the engine declares; a test compares.
"""The options of experiments (quorate.runs): names, types and meanings."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict
'''
# Those that only Python declares, as the program's are flags or files: type and meaning.
OF_PYTHON = {
    "classes": ('Literal["one-vs-rest", "one-vs-one"]', "labels are two or more classes, learned as a binary task for each or "
                "for each pair; tasks in the data are then users, each with its own weights for every class"),
    "users": ("bool", "with classes: look at the tasks in the data (default: True)"),
    "positive": ("str | int", "label that means +1; every other label means -1 (default: of two words in "
                 "memory the second in order)"),
    "on_error": ('Literal["stop", "skip"]', "stop at a bad line of a file, or skip it and warn (default: stop)"),
    "test": ("Any", "data to test on, of the same kinds as the data"),
    "delay": ("int | str", "examples until an answer comes: 100, or lognormal(100), which is the mean (default: 0)"),
    "lost": ("float", "probability that an answer never comes (default: 0)"),
}
TYPES = {"labels": "int | str | Sequence[int | str]", "memory": "int | str", "cache": "str | os.PathLike[str]"}
NOT_OF_RUNS = {"length", "max_pending", "keep_labels"}
OF_RUNS = ("test", "train_per_task", "test_share", "runs", "passes", "in_order", "audit", "audit_floor", "delay", "lost")


def option_type(option: dict) -> str:
    if option["name"] in TYPES:
        return TYPES[option["name"]]
    if option["name"] == "format":  # its meaning begins with the names
        option = {**option, "range": "one of " + option["meaning"].partition(";")[0].replace(" or ", ", ")}
    if option["range"].startswith("one of "):
        return f"Literal[{', '.join(map(repr, option['range'].removeprefix('one of ').split(', ')))}]".replace("'", '"')
    return {"text": "str", "list": "str | Sequence[str]"}.get(option["type"], option["type"])


def option_meaning(option: dict) -> str:
    meaning, initial = option["meaning"].replace("repeatable", "several: a list"), option["initial"].strip('"')
    if initial and "default" not in meaning:
        meaning += f" (default: {initial.capitalize() if option['type'] == 'bool' else initial})"
    return re.sub(r"--([a-z][a-z-]+)", lambda flag: flag[1].replace("-", "_"), meaning)


def options() -> str:
    declared = [option for of in _core.options().values() for option in of if option["name"] not in NOT_OF_RUNS]
    types = {option["name"]: option_type(option) for option in declared} | {name: of for name, (of, _) in OF_PYTHON.items()}
    meanings = {option["name"]: option_meaning(option) for option in declared}
    meanings |= {name: meaning for name, (_, meaning) in OF_PYTHON.items()}
    out = OPTIONS_HEAD
    for head, title, named in (
        ("class Options(TypedDict, total=False):", "Options of every experiment; None means the default.",
         [name for name in types if name not in OF_RUNS]),
        ("class RunOptions(Options, total=False):", "More options of `simulate` and `compare`.", OF_RUNS),
    ):
        table = "\n".join(textwrap.fill(meanings[name], 118, initial_indent=f"    {name:19}", subsequent_indent=" " * 23)
                          for name in named)
        escaped = table.replace("\\", "\\\\")
        out += f'\n\n{head}\n    """{title}\n\n{escaped}"""\n\n'
        out += "".join(f"    {name}: {types[name]} | None\n" for name in named)
    return out


if __name__ == "__main__":
    print(options() if sys.argv[1:] == ["options"] else learners(), end="")
