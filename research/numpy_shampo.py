"""SHAMPO of second order on digits: ours beside a NumPy transcription, A B A B. Usage: numpy_shampo.py DATA PROGRAM [N]

Both learn one-vs-one from the first N lines (2,000) of an SVMlight file of classes in one pass, with full matrices and the
margin rule, b = 0.01: each digit is shown to all K = C (C - 1) / 2 tasks and one of them asks. The transcription keeps all
A^-1 as one K x d x d array. A^-1 x for every task is where its time goes; it is measured as one einsum, as one matrix-vector
product for each task and as a single product of K d rows, on a tenth of the digits, and the fastest is kept. Both use one
thread; orders and draws are their own. Times are learning and predicting, without reading the file; medians of three runs.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402

WAYS = {
    "einsum": lambda inverse, x: np.einsum("kij,j->ki", inverse, x),
    "a product for each task": lambda inverse, x: np.array([one @ x for one in inverse]),
    "one product of K d rows": lambda inverse, x: (inverse.reshape(-1, len(x)) @ x).reshape(len(inverse), -1),
}


def read(lines):
    """Class numbers in order of the classes, and instances with the constant feature, of unit length."""
    parsed = [line.split("#")[0].split() for line in lines]
    pairs = [[(int(i), float(v)) for i, v in (f.split(":") for f in features)] for _, *features in parsed]
    X = np.zeros((len(parsed), 1 + max(i for row in pairs for i, _ in row)))
    X[:, 0] = 1  # indices start at 1
    for x, row in zip(X, pairs):
        for i, v in row:
            x[i] = v
    _, classes = np.unique([int(label) for label, *_ in parsed], return_inverse=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True), classes


def run(X, classes, way, seed, b=0.01):
    rng = np.random.default_rng(seed)
    C, d = classes.max() + 1, X.shape[1]
    first, second = np.array(list(itertools.combinations(range(C), 2))).T
    K = len(first)
    start = time.perf_counter()
    inverse, W, wrong = np.tile(np.eye(d), (K, 1, 1)), np.zeros((K, d)), 0
    for n in rng.permutation(len(X)):
        x, truth = X[n], classes[n]
        Ax = way(inverse, x)
        r = Ax @ x
        p = np.einsum("ki,ki->k", Ax, W) / (1 + r)
        votes = np.bincount(np.where(p > 0, first, second), minlength=C)
        sums = np.bincount(first, p, C) - np.bincount(second, p, C)
        wrong += np.lexsort((-np.arange(C), sums, votes))[-1] != truth
        weight = 1 / (b + abs(p) - abs(p).min())
        j = min(np.searchsorted(np.cumsum(weight), rng.random() * weight.sum(), side="right"), K - 1)
        y = 1 if truth == first[j] else -1 if truth == second[j] else 0
        if y != 0 and y * p[j] <= 0:
            inverse[j] -= np.outer(Ax[j], Ax[j]) / (1 + r[j])
            W[j] += y * x
    return time.perf_counter() - start, wrong / len(X)


def main(data, program, n="2000"):
    with open(data) as file:
        lines = list(itertools.islice(file, int(n)))
    X, classes = read(lines)
    some = len(X) // 10
    tried = {name: run(X[:some], np.unique(classes[:some], return_inverse=True)[1], way, 1)[0] for name, way in WAYS.items()}
    print(f"A^-1 x, {some} digits: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in tried.items()))
    way = min(tried, key=tried.get)
    times = {"quorate": [], "NumPy": []}
    with tempfile.NamedTemporaryFile("w", suffix=".svm") as cut:
        cut.writelines(lines)
        cut.flush()
        for seed in range(1, 4):
            command = [program, "simulate", "--data", cut.name, "--classes", "one-vs-one", "--learner",
                       "shampo-second-order(b=0.01)", "--seed", str(seed), "--json", "--quiet"]
            ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["runs"][0]
            times["quorate"].append((ours["seconds"], ours["progressive_error"]))
            times["NumPy"].append(run(X, classes, WAYS[way], seed))
    base = statistics.median(t for t, _ in times["quorate"])
    print(f"{len(X)} digits, {X.shape[1]} features, {classes.max() + 1} classes; NumPy with {way}")
    print(f"{'':10}{'s a run':>10}{'ratio':>9}{'online error':>14}   runs")
    for name, runs in times.items():
        seconds, error = statistics.median(t for t, _ in runs), statistics.mean(e for _, e in runs)
        print(f"{name:10}{seconds:10.3f}{seconds / base:9.1f}{error:14.3f}   " + " ".join(f"{t:.3f}" for t, _ in runs))


if __name__ == "__main__":
    main(*sys.argv[1:])
