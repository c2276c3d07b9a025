"""MTBPRJ on School: ours beside NumPy transcriptions, A B A B. Usage: numpy_projectron.py DATA PROGRAM [N]

One pass over the first N rows (default: all) of the prepared School set (CSV), Gaussian kernel, gamma = 2, complete graph,
eta = 0.01, 1,118 support vectors (25 % of those that Perceptrons without a budget keep). One transcription keeps the inverse of the Gram matrix by rank-one updates, so it, too,
costs O(B^2) a mistake. The literal one inverts the Gram matrix at every mistake, as the paper writes it; it is run on the first
3,000 examples only, where the set has not yet filled, and so has ours beside it. One thread each, orders of their own; times are
learning, without reading the file; medians of three runs.
"""

import csv
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

GAMMA, ETA, BUDGET = 2.0, 0.01, 1118


def read(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    names = {name: i for i, name in enumerate(dict.fromkeys(row["task"] for row in rows))}
    features = [name for name in rows[0] if name not in ("id", "task", "label")]
    X = np.array([[float(row[f]) for f in features] for row in rows])
    return X, np.array([names[row["task"]] for row in rows]), np.array([int(row["label"]) for row in rows])


def projectron(X, tasks, y, budget, order, literal=False):
    """F-measure of the predictions made before learning."""
    gram = np.zeros((budget, budget)) if literal else None
    K = tasks.max() + 1
    Z, zz, t = np.zeros((budget, X.shape[1])), np.zeros(budget), np.zeros(budget, dtype=int)
    beta, inverse, n = np.zeros(budget), np.zeros((budget, budget)), 0
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    xx = np.sum(X * X, axis=1)
    for i in order:
        distance = np.maximum(xx[i] + zz[:n] - 2 * (Z[:n] @ X[i]), 0)
        k = np.exp(-GAMMA * distance) * np.where(t[:n] == tasks[i], 2.0, 1.0) / (K + 1)
        p = beta[:n] @ k
        counts[y[i] > 0, p > 0] += 1
        if y[i] * p > 0:
            continue
        vv = 2.0 / (K + 1)
        if literal and n > 0:
            inverse[:n, :n] = np.linalg.inv(gram[:n, :n])
        g = inverse[:n, :n] @ k
        s = max(vv - k @ g, 0.0)
        if s <= max(ETA * ETA, 1e-10 * vv):
            beta[:n] += y[i] * g
            continue
        if literal:
            assert n < budget, "the literal transcription stops before the set is full"
            gram[:n, n] = gram[n, :n] = k
            gram[n, n] = vv
        weight, slot = float(y[i]), n
        if n == budget:
            diagonal = np.diagonal(inverse) + g * g / s
            r = int(np.argmin(beta * beta / diagonal))
            column = inverse[:, r] + g * g[r] / s
            gamma = -column / diagonal[r]
            weight += beta[r] * g[r] / s / diagonal[r]
            gamma[r] = 0
            beta += beta[r] * gamma
            h = inverse[:, r].copy()
            inverse -= np.outer(h, h) / h[r]
            s += g[r] * g[r] / h[r]
            g -= h / h[r] * g[r]
            g[r], inverse[r], inverse[:, r], slot = 0, 0, 0, r
        else:
            n += 1
            g = np.append(g, 0.0)
        inverse[:n, :n] += np.outer(g, g) / s
        inverse[slot, :n] = inverse[:n, slot] = -g / s
        inverse[slot, slot] = 1 / s
        Z[slot], zz[slot], t[slot], beta[slot] = X[i], xx[i], tasks[i], weight
    wrong = counts[True, False] + counts[False, True]
    return 2 * counts[True, True] / (2 * counts[True, True] + wrong)


def compare(title, path, program, examples, budget, literal):
    X, tasks, y = examples
    learner = f"budget-projectron(budget={budget}, kernel=gaussian(gamma=2))"
    ours, theirs = [], []
    for seed in range(1, 4):
        command = [program, "simulate", "--data", path, "--no-normalize", "--learner", learner, "--seed", str(seed), "--json"]
        run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["runs"][0]
        ours.append((run["seconds"], run["progressive_f1"]))
        order = np.random.default_rng(seed).permutation(len(y))
        start = time.perf_counter()
        f1 = projectron(X, tasks, y, budget, order, literal)
        theirs.append((time.perf_counter() - start, f1))
    print(f"{title}: {len(y)} examples, {budget} support vectors at most")
    print(f"{'':8} {'s a run':>8} {'ratio':>8}  F-measure   runs")
    base = statistics.median(s for s, _ in ours)
    for name, runs in (("quorate", ours), ("NumPy", theirs)):
        median = statistics.median(s for s, _ in runs)
        f1 = statistics.mean(f for _, f in runs)
        print(f"{name:8} {median:8.3f} {median / base:8.1f}  {f1:9.3f}   {' '.join(f'{s:.3f}' for s, _ in runs)}")


def main(data, program, n=None):
    with open(data) as file:
        head, *lines = file.readlines()
    lines = lines[: int(n) if n else None]
    first = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))[:3000]]
    for title, rows in (("inverse by rank-one updates", lines), ("literal", first)):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as part:
            part.writelines([head, *rows])
            part.flush()
            compare(title, part.name, program, read(part.name), BUDGET, title == "literal")


if __name__ == "__main__":
    main(*sys.argv[1:])
