"""One AMLC run on spam B: ours beside two NumPy transcriptions, A B A B. Usage: numpy_amlc.py DATA PROGRAM [N]

Both do what the paper's Algorithm 1 says with the settings of our defaults. The literal one keeps every x a vector of all
features, as the pseudocode reads, and W x is one NumPy product. The tuned one touches only the features that an example has.
All learn from 100 emails of each user in the first N lines of the file (default: all) and are tested on the others; all times are
learning and testing, without reading the file. Medians of five runs; of one for the literal transcription, which takes long.
"""

import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


def read(path):
    tasks, labels, rows = [], [], []
    names: dict[str, int] = {}
    with open(path) as lines:
        for line in lines:
            label, task, *features = line.split("#")[0].split()
            pairs = [f.split(":") for f in features]
            index = np.array([0] + [int(i) for i, _ in pairs])  # place 0: the constant feature
            value = np.array([1.0] + [float(v) for _, v in pairs])
            tasks.append(names.setdefault(task, len(names)))
            labels.append(int(label))
            rows.append((index, value / math.sqrt(value @ value)))
    return np.array(tasks), np.array(labels), rows


def run(tasks, labels, rows, seed, literal=False, per_task=100, b=1.0, c=math.log(30), cap=2.0):
    rng = np.random.default_rng(seed)
    K = tasks.max() + 1
    d = 1 + max(int(index.max()) for index, _ in rows)
    learn, test = [], []
    for k in range(K):
        places = rng.permutation(np.flatnonzero(tasks == k))
        learn += list(places[:per_task])
        test += list(places[per_task:])
    everything = np.arange(d)

    def features(i):
        index, value = rows[i]
        if not literal:
            return index, value
        x = np.zeros(d)
        x[index] = value
        return everything, x

    start = time.perf_counter()
    W, tau, bought = np.zeros((d, K)), np.ones((K, K)), 0
    for i in rng.permutation(learn):
        k, y, (index, value) = tasks[i], labels[i], features(i)
        p = value @ (W if literal else W[index])
        margin = tau[k] @ p
        if rng.random() >= b / (b + abs(margin)):
            continue
        bought += 1
        loss = np.minimum(cap, np.maximum(0, 1 - y * p))
        if loss.sum() > 0:
            tau[k] *= np.exp(-c * loss / loss.sum())
            tau[k] *= K / tau[k].sum()
        teach = (np.where(p > 0, 1, -1) != y) & (tau[k] >= tau[k, k] * (1 - 1e-9))
        teach[k] = (1 if margin > 0 else -1) != y
        if literal:
            W[:, teach] += y * value[:, None]
        else:
            W[np.ix_(index, teach)] += y * value[:, None]
    right = 0
    for i in test:
        index, value = features(i)
        right += (1 if tau[tasks[i]] @ (value @ (W if literal else W[index])) > 0 else -1) == labels[i]
    return time.perf_counter() - start, right / len(test), bought


def main(data, program, n=None):
    with open(data) as file, tempfile.NamedTemporaryFile("w", suffix=".svm") as cut:
        cut.writelines(itertools.islice(file, int(n) if n else None))
        cut.flush()
        compare(cut.name, program)


def compare(data, program):
    loaded = read(data)
    times = {"quorate": [], "NumPy, tuned": [], "NumPy, literal": []}
    for seed in range(1, 6):
        command = [program, "simulate", "--data", data, "--train-per-task", "100", "--learner", "amlc", "--seed", str(seed), "--json"]
        ours = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["runs"][0]
        times["quorate"].append((ours["seconds"], ours["accuracy"], ours["labels"]))
        times["NumPy, tuned"].append(run(*loaded, seed))
        if seed == 1:
            times["NumPy, literal"].append(run(*loaded, seed, literal=True))
    base = statistics.median(t for t, _, _ in times["quorate"])
    print(f"{'':16}{'ms a run':>12}{'ratio':>9}{'accuracy':>10}{'labels':>8}")
    for name, runs in times.items():
        seconds = statistics.median(t for t, _, _ in runs)
        accuracy, labels = statistics.mean(a for _, a, _ in runs), statistics.mean(n for _, _, n in runs)
        print(f"{name:16}{1000 * seconds:12.2f}{seconds / base:9.1f}{accuracy:10.3f}{labels:8.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
