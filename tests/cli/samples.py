"""Small seeded data sets, and their text in each format."""
import json
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Row:
    id: str
    task: str
    label: str
    x: dict[str, float] = field(default_factory=dict)


def rows(n: int, K: int = 4, d: int = 6, seed: int = 1, noise: float = 0.3) -> list[Row]:
    """Related linear tasks t0, t1, ... with labels 1 and -1 and dense features f1, f2, ...; every task occurs."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=d) + 0.5 * rng.normal(size=(K, d))
    out = []
    for i in range(n):
        task = i if i < K else int(rng.integers(K))
        x = rng.normal(size=d)
        label = "1" if target[task] @ x + noise * rng.normal() > 0 else "-1"
        out.append(Row(f"e{i}", f"t{task}", label, {f"f{j + 1}": float(v) for j, v in enumerate(x)}))
    return out


def number(value: float) -> str:
    return f"{value:.17g}"


def csv(rows: list[Row], columns: list[str] | None = None) -> str:
    columns = columns or ["id", "task", "label", *rows[0].x]
    cell = lambda r, c: getattr(r, c) if c in ("id", "task", "label") else number(r.x[c])  # noqa: E731
    return "".join(",".join(line) + "\n" for line in [columns, *([cell(r, c) for c in columns] for r in rows)])


def jsonl(rows: list[Row]) -> str:
    return "".join(json.dumps(vars(r)) + "\n" for r in rows)


def svmlight(rows: list[Row]) -> str:
    """Feature f3 has the index 3."""
    return "".join(f"{r.label or '?'} task:{r.task} " + " ".join(f"{k[1:]}:{number(v)}" for k, v in r.x.items())
                   + f" # {r.id}\n" for r in rows)


def vw(rows: list[Row]) -> str:
    return "".join(f"{r.label} '{r.id} |task {r.task} | " + " ".join(f"{k}:{number(v)}" for k, v in r.x.items()) + "\n"
                   for r in rows)


WRITERS = {"csv": csv, "jsonl": jsonl, "svm": svmlight, "vw": vw}


def without_progress(out):
    """What `train` prints, without the lines at 1, 2, 4, ... examples."""
    return "".join(line for line in out.splitlines(keepends=True) if not line.startswith("   "))


def without_seconds(document):
    """A JSON document without the times, which no two runs share."""
    if isinstance(document, dict):
        return {k: without_seconds(v) for k, v in document.items() if k != "seconds"}
    return [without_seconds(v) for v in document] if isinstance(document, list) else document
