"""Small seeded multitask data for the tests of the Python package, and their text for the program."""

import json
from dataclasses import dataclass

import numpy as np

import quorate


NO_TASK = "default"  # in `task`: files name none


@dataclass
class Data:
    X: np.ndarray  # (n, d), dense normal
    y: np.ndarray  # 1 and -1
    task: np.ndarray  # t0, t1, ...

    def __len__(self):
        return len(self.y)

    def tasks(self, rows=slice(None)):
        """As argument `task`: None where files name none."""
        return None if (self.task == NO_TASK).all() else self.task[rows]


def binary(n=120, K=4, d=6, seed=1, noise=0.3) -> Data:
    """Related linear tasks; every task occurs within the first K examples, in order."""
    rng = np.random.default_rng(seed)
    return _labelled(np.r_[np.arange(K), rng.integers(K, size=n - K)], d, noise, rng)


def in_turns(rounds=30, K=4, d=6, seed=1) -> Data:
    """As `binary`, one example of each task in each round: so rounds are the same for a stream and for `simulate`."""
    return _labelled(np.tile(np.arange(K), rounds), d, 0.3, np.random.default_rng(seed))


def _labelled(task, d, noise, rng) -> Data:
    target = rng.normal(size=d) + 0.5 * rng.normal(size=(task.max() + 1, d))
    X = rng.normal(size=(len(task), d))
    y = np.where(np.sum(target[task] * X, axis=1) + noise * rng.normal(size=len(task)) > 0, 1, -1)
    return Data(X, y, np.array([f"t{k}" for k in task]))


def classes(n=120, C=4, d=6, seed=1) -> Data:
    """Classes 1 to C about centres."""
    rng = np.random.default_rng(seed)
    centre = 2 * rng.normal(size=(C, d))
    y = np.r_[np.arange(C), rng.integers(C, size=n - C)]
    return Data(centre[y] + rng.normal(size=(n, d)), y + 1, np.full(n, NO_TASK))


def svmlight(data: Data) -> str:
    """Column j of X is the index j, as it is for a matrix in Python."""
    return "".join(
        f"{y} " + (f"task:{t} " if t != NO_TASK else "") + " ".join(f"{j}:{float(v)!r}" for j, v in enumerate(x) if v != 0) + "\n"
        for x, y, t in zip(data.X, data.y, data.task)
    )


def jsonl(data: Data) -> str:
    return "".join(
        json.dumps(({"task": str(t)} if t != NO_TASK else {}) | {"label": int(y), "x": {f"f{j}": float(v) for j, v in enumerate(x)}}) + "\n"
        for x, y, t in zip(data.X, data.y, data.task)
    )


def csv(data: Data) -> str:
    d = data.X.shape[1]
    return (
        "task,label,"
        + ",".join(f"f{j}" for j in range(d))
        + "\n"
        + "".join(
            f"{t},{y}," + ",".join(repr(float(v)) for v in x) + "\n" for x, y, t in zip(data.X, data.y, data.task)
        )
    )


def same_model(a, b) -> bool:
    """Whether two models hold the same, to the bit."""
    return a.to_bytes() == b.to_bytes()


def differences(a: dict, b: dict) -> list[str]:
    """Names of tensors that are not the same to the bit."""
    wrong = sorted(a.keys() ^ b.keys())
    return wrong + [k for k in a.keys() & b.keys() if a[k].shape != b[k].shape or a[k].tobytes() != b[k].tobytes()]


def learners(**shared):
    """One of each class, small enough for tests."""
    small = {"budget": 20}
    return {
        name: cls(**{k: v for k, v in small.items() if k in cls()._own}, **shared)
        for name, cls in quorate.LEARNERS.items()
    }
