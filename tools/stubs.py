"""Prints python/quorate/learners.pyi: what type checkers and editors see of the classes that are made from the registry.

    .venv/bin/python tools/stubs.py > python/quorate/learners.pyi
"""

import inspect

import quorate

HEAD = '''# Made by tools/stubs.py from the registry; a test compares.
import os
from typing import Any

from quorate._estimator import Calibrated, Estimator

LEARNERS: dict[str, type[Estimator]]
def from_spec(spec: str, **shared: Any) -> Estimator: ...
def load(path: str | os.PathLike[str]) -> Estimator: ...
'''


def stub(learner: type) -> str:
    lines = [f"class {learner.__name__}({learner.__base__.__name__}):"]
    lines += [f'    """{inspect.getdoc(learner).splitlines()[0]}"""', "    def __init__(", "        self,", "        *,"]
    for p in list(inspect.signature(learner.__init__).parameters.values())[1:]:
        lines.append(f"        {p.name}: {p.annotation} = {p.default!r},")
    return "\n".join([*lines, "    ) -> None: ...", ""])


def text() -> str:
    names = ["LEARNERS", "from_spec", "load", *(c.__name__ for c in quorate.LEARNERS.values())]
    return "\n".join([HEAD, *map(stub, quorate.LEARNERS.values()), f"__all__ = {names!r}", ""])


if __name__ == "__main__":
    print(text(), end="")
