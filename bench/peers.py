"""Quorate and its peers on the same data in one run: `./run bench --peers`, which writes docs/benchmarks.md.

Vowpal Wabbit, scikit-learn, River and scikit-activeml, each as its own users run it. Compared runs alternate (A B A B), five
times; medians of wall-clock seconds are reported. A ratio above 1 means that Quorate is faster. The table includes every
measurement in which a peer is better.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import river.linear_model
import sklearn.linear_model
from sklearn.feature_extraction import FeatureHasher
from skactiveml.classifier import SklearnClassifier
from skactiveml.stream import StreamRandomSampling, VariableUncertainty

import quorate

ROUNDS = 5
BITS = 18


def seconds_of(runs: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Medians of wall-clock seconds over alternating runs."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in taken.items()}


class Files:
    """Input of both programs: news posts, and email of many users, as VW text."""

    def __init__(self, folder: Path, news: Path, program: Path) -> None:
        self.folder, self.news, self.program = folder, news, program

    def posts(self, copies: int) -> Path:
        """The news posts, several times over."""
        path = self.folder / "news.vw"
        if not path.exists():
            path.write_bytes((self.news / "train.vw").read_bytes() * copies)
        return path

    def readers(self, copies: int) -> tuple[Path, int]:
        """The same, each post seen by one of 100 readers of its task's two groups, drawn at random: 1,000 tasks, as ten tasks
        there are. How many examples."""
        path = self.folder / "readers.vw"
        draw = random.Random(1)
        lines = (self.news / "train.vw").read_text().splitlines()
        with path.open("w") as out:
            for line in lines * copies:
                out.write(re.sub(r"\|task (\S+)", lambda task: f"|task {task[1]}/{draw.randrange(100)}", line) + "\n")
        return path, copies * len(lines)

    def mail(self, users: int, examples: int) -> tuple[Path, int]:
        """Words in a namespace of their own, as VW's crosses name namespaces, by their first letter; so no times."""
        path = self.folder / f"mail-{users}.vw"
        if not path.exists():
            made = self.folder / "made.vw"
            command = [self.program, "generate", "users", made, "--tasks", users, "--examples", examples, "--quiet"]
            subprocess.run([*map(str, command), *(["--exponent", "0"] if users > 10_000 else [])], check=True)
            with made.open() as mails, path.open("w") as out:
                out.writelines(re.sub(r" \|time \d+ \| ", " |w ", line) for line in mails)
            made.unlink()
        return path, examples


def vw(*args: object) -> str:
    """Runs Vowpal Wabbit and returns its final output."""
    done = subprocess.run([sys.executable, "-m", "vowpalwabbit", *map(str, args)], capture_output=True, text=True, check=True)
    return done.stderr + done.stdout


def train(program: Path, path: Path, learner: str, *args: object) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--data", path, "--model", f"{folder}/m", "--learner", learner, "--json", "--quiet", *args]
        return json.loads(subprocess.run(list(map(str, command)), capture_output=True, check=True).stdout)


def said(text: str, what: str) -> float:
    return float(re.search(rf"^{what} = ([\d.]+)", text, re.M)[1])


def single_task(files: Files) -> list[dict]:
    """(a) One task, sparse text, file to model."""
    path = files.posts(10)
    examples = 10 * sum(1 for _ in open(files.news / "train.vw"))
    cache = files.folder / "news.cache"
    plain = ["-d", path, "-b", BITS, "--loss_function", "hinge", "--binary", "--quiet"]
    plain += ["-f", files.folder / "vw.out"]
    vw(*plain, "-c", "--cache_file", cache)
    ours = ["--task-column", "no_such"]  # one task: VW's namespace `task` is features like others
    kept = ["--cache", files.folder / "instances"]
    train(files.program, path, "perceptron", *ours, *kept)
    runs = {
        "Vowpal Wabbit": lambda: vw(*plain),
        "quorate perceptron": lambda: train(files.program, path, "perceptron", *ours),
        "Vowpal Wabbit, existing binary cache": lambda: vw(*plain, "--cache_file", cache),
        "quorate perceptron, existing --cache": lambda: train(files.program, path, "perceptron", *ours, *kept),
        "quorate cohort": lambda: train(files.program, path, "cohort", *ours),
        "quorate cohort, existing --cache": lambda: train(files.program, path, "cohort", *ours, *kept),
    }
    found = seconds_of(runs)
    base = found["Vowpal Wabbit"]
    return [
        {"what": name, "examples/s": examples / s, "MB/s": path.stat().st_size / s / 1e6, "times VW": base / s}
        for name, s in found.items()
    ]


def per_user(files: Files, stream: tuple[Path, int], memory: str) -> list[dict]:
    """(b) A classifier for each user: VW with crosses of task and words, against tables of the same size."""
    path, examples = stream
    bits = 22
    cross = ["-d", path, "-b", bits, "--loss_function", "logistic", "--binary", "-q", "tw", "-f", files.folder / "vw.out"]
    quality: dict[str, tuple[float, float]] = {}

    def run_vw(name: str, *more: object) -> None:
        text = vw(*cross, *more)
        labels = re.search(r"total queries = (\d+)", text)
        quality[name] = (1 - said(text, "average loss"), float(labels[1]) if labels else examples)

    def run_ours(name: str, learner: str, *more: object) -> None:
        out = train(files.program, path, learner, "--memory", memory, *more)
        quality[name] = (out["progressive_accuracy"], out["total"]["labels"])

    runs = {
        "Vowpal Wabbit -q, every label": lambda: run_vw("Vowpal Wabbit -q, every label"),
        "quorate cmtl, every label": lambda: run_ours("quorate cmtl, every label", "cmtl(scale=auto)"),
        "quorate cohort(query=always), every label": lambda: run_ours(
            "quorate cohort(query=always), every label", f"cohort(query=always, store=hashed(bits={bits - 2}))"
        ),
        "quorate cohort": lambda: run_ours("quorate cohort", f"cohort(store=hashed(bits={bits - 2}))"),
    }
    found = seconds_of(runs)
    base = found["Vowpal Wabbit -q, every label"]
    return [
        {"what": name, "examples/s": examples / s, "times VW": base / s, "progressive accuracy": quality[name][0],
         "labels": quality[name][1]}
        for name, s in found.items()
    ]  # fmt: skip


def read_posts(path: Path) -> tuple[list[dict[str, float]], np.ndarray, np.ndarray]:
    """Words, labels 1 and 0, tasks."""
    rows, labels, tasks = [], [], []
    for line in path.read_text().splitlines():
        label, _, words = line.partition(" ")
        labels.append(label)
        tasks.append(line.partition("|task ")[2].split()[0])
        rows.append({w.split(":")[0]: float(w.split(":")[1]) if ":" in w else 1.0 for w in words.partition("|w")[2].split()})
    return rows, (np.array(labels) == "1").astype(int), np.array(tasks)


def in_memory(rows: list[dict], y: np.ndarray) -> list[dict]:
    """(c) A CSR matrix in memory, from Python; one pass."""
    X = FeatureHasher(2**BITS, alternate_sign=False).transform(rows).tocsr()
    runs = {
        "scikit-learn Perceptron(max_iter=1)": lambda: sklearn.linear_model.Perceptron(max_iter=1, tol=None).fit(X, y),
        "quorate.Perceptron()": lambda: quorate.Perceptron().fit(X, y),
        "scikit-learn SGDClassifier(max_iter=1)": lambda: sklearn.linear_model.SGDClassifier(max_iter=1, tol=None).fit(X, y),
        "quorate.Cohort(query='always')": lambda: quorate.Cohort(query="always").fit(X, y),
    }
    found = seconds_of(runs)
    base = found["scikit-learn Perceptron(max_iter=1)"]
    return [{"what": name, "examples/s": len(y) / s, "times scikit-learn": base / s} for name, s in found.items()]


def one_by_one(rows: list[dict], y: np.ndarray) -> list[dict]:
    """(d) One example at a time, from Python: learn_one on dicts of words, and on vectors."""
    out = []
    few = [dict(list(row.items())[:10]) for row in rows[:2000]]
    vectors = np.random.default_rng(0).normal(size=(2000, 30))
    named = [dict(enumerate(v.tolist())) for v in vectors]
    labels = [bool(v) for v in y[:2000]]

    def learn(model: object, xs: object) -> None:
        for x, label in zip(xs, labels, strict=True):
            model.learn_one(x, label)

    new = {"River": river.linear_model.Perceptron, "quorate": lambda: quorate.Perceptron().start([False, True])}
    for what, theirs, ours in (
        ("posts of 130 words, dicts", rows[:2000], rows[:2000]),
        ("10 words, dicts", few, few),
        ("30 numbers: River's dict, our NumPy vector", named, vectors),
    ):
        found = seconds_of({"River": lambda: learn(new["River"](), theirs), "quorate": lambda: learn(new["quorate"](), ours)})  # noqa: B023
        out.append({"what": what, **{f"{name}, us": s / 2000 * 1e6 for name, s in found.items()},
                    "times River": found["River"] / found["quorate"]})  # fmt: skip
    return out


def same_labels(files: Files, rows: list[dict], y: np.ndarray, task: np.ndarray, test: tuple) -> list[dict]:
    """(e) Active learning on the news posts with about the same number of labels: test accuracy and time."""
    hasher = FeatureHasher(2**BITS, alternate_sign=False)
    X, Xt, yt = hasher.transform(rows).tocsr(), hasher.transform(test[0]).tocsr(), test[1]
    order = np.random.default_rng(0).permutation(len(y))
    X, y, task = X[order], y[order], task[order]
    out = []

    def add(name: str, run: Callable[[], tuple[object, int]]) -> int:
        start = time.perf_counter()
        model, labels = run()
        seconds = time.perf_counter() - start
        said = model.predict(Xt, task=test[2]) if isinstance(model, quorate.Estimator) else model.predict(Xt)
        out.append({"what": name, "labels": labels, "test accuracy": float(np.mean(said == yt)), "seconds": seconds})
        return labels

    def ours(labels: int) -> tuple[object, int]:
        model = quorate.Cohort(labels=labels, pace="even").fit(X, y, task=task)
        return model, model.n_labels_

    budget = add("quorate.Cohort(labels=475, pace='even')", lambda: ours(475))
    theirs = active_vw(files, budget, yt == 1)
    out += theirs
    add(f"quorate.Cohort(labels={theirs[0]['labels']}, pace='even')", lambda: ours(theirs[0]["labels"]))

    # scikit-activeml's own loop: its classifiers take dense rows only, so words are hashed to fewer features.
    fewer = FeatureHasher(2**12, alternate_sign=False)
    D, Dt = fewer.transform(rows).tocsr()[order], fewer.transform(test[0]).toarray()

    class Dense:
        """A classifier of the narrower test set."""

        def __init__(self, model: object) -> None:
            self.model = model

        def predict(self, _: object) -> np.ndarray:
            return self.model.predict(Dt)

    def stream(strategy: object) -> tuple[object, int]:
        model = SklearnClassifier(sklearn.linear_model.SGDClassifier(loss="log_loss", random_state=0), classes=[0, 1])
        first = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
        model.partial_fit(D[first].toarray(), y[first])
        labels = 2
        for n in range(len(y)):
            if labels == budget:
                break
            x = D[n].toarray()
            chosen = strategy.query(x, clf=model, fit_clf=False) if isinstance(strategy, VariableUncertainty) else strategy.query(x)
            strategy.update(x, chosen)
            if len(chosen):
                model.partial_fit(x, y[n : n + 1])
                labels += 1
        return Dense(model), labels

    share = 475 / len(y)
    add("scikit-activeml StreamRandomSampling, SGDClassifier", lambda: stream(StreamRandomSampling(random_state=0, budget=share)))
    add("scikit-activeml VariableUncertainty, SGDClassifier", lambda: stream(VariableUncertainty(random_state=0, budget=share)))
    return out


def active_vw(files: Files, labels: int, truth: np.ndarray) -> list[dict]:
    """(e) Vowpal Wabbit's active learning with the mellowness that buys nearest to `labels` labels. The test set follows without
    labels in the same file, as this version cannot load the models that it saves with --active."""
    train_lines = (files.news / "train.vw").read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(train_lines))
    test_lines = (files.news / "test.vw").read_text().splitlines()
    both, told = files.folder / "active.vw", files.folder / "active.said"
    lines = [train_lines[n] for n in order] + [line[line.index("|") :] for line in test_lines]
    both.write_text("\n".join(lines) + "\n")
    best: dict | None = None
    for mellowness in (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1):
        start = time.perf_counter()
        text = vw("-d", both, "-b", BITS, "--loss_function", "logistic", "--active", "--simulation", "--mellowness", mellowness, "-p", told)
        seconds = time.perf_counter() - start
        bought = int(re.search(r"total queries = (\d+)", text)[1])
        said_of_test = np.array([float(line.split()[0]) for line in told.read_text().splitlines()[-len(test_lines) :]])
        row = {"what": f"Vowpal Wabbit --active --mellowness {mellowness:g}", "labels": bought,
               "test accuracy": float(np.mean((said_of_test > 0) == truth)), "seconds": seconds}  # fmt: skip
        if best is None or abs(bought - labels) < abs(best["labels"] - labels):
            best = row
    assert best is not None
    return [best]


def latency(files: Files, rows: list[dict], y: np.ndarray) -> list[dict]:
    """(f) One prediction: as a call, and as a process that loads a model."""
    ours = quorate.Cohort(query="always").start([0, 1])
    theirs = river.linear_model.Perceptron()
    for row, label in zip(rows[:2000], y[:2000].tolist(), strict=True):
        ours.learn_one(row, label)
        theirs.learn_one(row, bool(label))
    X = FeatureHasher(2**BITS, alternate_sign=False).transform(rows[:2000]).tocsr()
    sk = sklearn.linear_model.Perceptron(max_iter=1, tol=None).fit(X, y[:2000])
    some = rows[2000:4000]
    calls = seconds_of({
        "quorate.Cohort.predict_one": lambda: [ours.predict_one(row) for row in some],
        "River Perceptron.predict_one": lambda: [theirs.predict_one(row) for row in some],
        "scikit-learn Perceptron.predict, a row of CSR (100 of them)": lambda: [sk.predict(X[n]) for n in range(100)],
    })  # fmt: skip
    model, line = files.folder / "one.model", files.folder / "one.vw"
    ours.save(model)
    line.write_text((files.news / "test.vw").read_text().splitlines()[0] + "\n")
    vw_model = files.folder / "vw.model"
    vw("-d", files.news / "train.vw", "-b", BITS, "-f", vw_model, "--quiet")
    processes = seconds_of({
        "process: quorate predict, one line": lambda: subprocess.run(
            [files.program, "predict", "--model", model, "--data", line, "--quiet"], capture_output=True, check=True),
        "process: quorate --version": lambda: subprocess.run([files.program, "--version"], capture_output=True, check=True),
        "process: Vowpal Wabbit -t, one line (including Python's start)": lambda: vw("-d", line, "-t", "-i", vw_model, "--quiet"),
        "process: Python's start alone": lambda: subprocess.run([sys.executable, "-c", "import vowpalwabbit"], check=True),
    })  # fmt: skip
    out = [{"what": name, "us": s / (100 if "100 of" in name else 2000) * 1e6} for name, s in calls.items()]
    return out + [{"what": name, "us": s * 1e6} for name, s in processes.items()]


def shown(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def table(rows: list[dict]) -> str:
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    lines += ["| " + " | ".join(shown(row.get(c, "")) for c in columns) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("news", type=Path, help="folder of the prepared news set")
    parser.add_argument("--report", type=Path, help="write a Markdown page")
    parser.add_argument("--json", type=Path, help="write JSON lines")
    parser.add_argument("--only", help="letters of the scenarios, as acd")
    parser.add_argument("--examples", type=int, default=1_000_000, help="emails of scenario b")
    o = parser.parse_args()
    rows, y, task = read_posts(o.news / "train.vw")
    test = read_posts(o.news / "test.vw")
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder), o.news, o.program)
        scenarios: dict[str, tuple[str, Callable[[], list[dict]]]] = {
            "a": ("One task, sparse text, from a file to a model", lambda: single_task(files)),
            "p": ("A classifier for each of 1,000 readers: news posts", lambda: per_user(files, files.readers(10), "64MB")),
            "b": ("A classifier for each of 1,000 users: emails of 28 words",
                  lambda: per_user(files, files.mail(1000, o.examples), "64MB")),
            "B": ("A classifier for each of 1,000,000 users: emails of 28 words",
                  lambda: per_user(files, files.mail(1_000_000, o.examples), "256MB")),
            "c": ("A CSR matrix in memory, from Python", lambda: in_memory(rows, y)),
            "d": ("One example at a time, from Python: learn_one", lambda: one_by_one(rows, y)),
            "e": ("Active learning at the same number of labels",
                  lambda: same_labels(files, rows, y, task, test)),
            "f": ("Latency of one prediction", lambda: latency(files, rows, y)),
        }  # fmt: skip
        page, lost = [], []
        for letter, (title, run) in scenarios.items():
            if o.only and letter not in o.only:
                continue
            found = run()
            for row in found:
                ratio = next((v for k, v in row.items() if k.startswith("times ")), 1)
                if "quorate" in str(row["what"]) and ratio < 1:
                    lost.append(f"- ({'b' if letter in 'pB' else letter}) {title}: {row['what']}, {ratio:.2f} times the peer's speed")
            part = "b" if letter in "pB" else letter
            page.append(f"## ({part}) {title}\n\n{table(found)}\n")
            print(page[-1], flush=True)
            if o.json:
                with o.json.open("a") as out:
                    out.writelines(json.dumps({"scenario": letter, **row}) + "\n" for row in found)
    if o.report:
        versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("vowpalwabbit", "scikit-learn", "river", "scikit-activeml", "numpy"))
        cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
        head = (f"# Benchmarks against peers\n\nGenerated by `./run bench --peers`. {cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}; "
                f"quorate {quorate.__version__}.\nMedians of {ROUNDS} alternating runs, wall clock. The news set has {len(y):,} posts of "
                f"{np.mean([len(r) for r in rows]):.0f} words on average. A ratio above 1 means that Quorate is faster.\n")  # fmt: skip
        worse = ["## Where a peer is faster\n", *(lost or ["- nowhere in this run"]), ""]
        o.report.write_text("\n".join([head, *page, *worse]))


if __name__ == "__main__":
    main()
