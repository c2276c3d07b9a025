"""Quorate and its peers on the same data in one run: `./run bench --peers`, which writes docs/benchmarks.md.

Vowpal Wabbit, scikit-learn, River and scikit-activeml, each as its own users run it. Compared runs alternate (A B A B), five
times. Reported are medians of CPU seconds, user and system, of all threads of a process, and of wall-clock seconds beside them:
other work on the machine delays a run, but hardly adds to its CPU time. A ratio above 1 means that Quorate is faster. The
page lists every ratio below 1.
"""

import argparse
import importlib.metadata
import json
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import river.linear_model
import sklearn.linear_model
import vowpalwabbit
from measuring import forked, origin
from sklearn.feature_extraction import FeatureHasher
from skactiveml.classifier import SklearnClassifier
from skactiveml.stream import StreamRandomSampling, VariableUncertainty
from vowpalwabbit.sklearn_vw import VWClassifier

import quorate

BITS = 18
SECONDS = "seconds of CPU (wall)"
HERE, CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


class Pair(NamedTuple):
    """By CPU and by wall clock: seconds, or a figure made of them."""

    cpu: float
    wall: float


def timed(run: Callable[[], object], where: int) -> tuple[object, Pair]:
    """The result of `run`, and its seconds, HERE or in CHILDREN, which are processes that it starts and waits for."""
    before, start = resource.getrusage(where), time.perf_counter()
    result = run()
    wall, after = time.perf_counter() - start, resource.getrusage(where)
    return result, Pair(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def seconds_of(runs: dict[str, Callable[[], object]], where: int, rounds: int) -> dict[str, Pair]:
    """Medians of seconds over alternating runs."""
    taken: dict[str, list[Pair]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            taken[name].append(timed(run, where)[1])
    return {name: Pair(*map(statistics.median, zip(*found, strict=True))) for name, found in taken.items()}


def times(peer: Pair, ours: Pair) -> Pair:
    return Pair(peer.cpu / ours.cpu, peer.wall / ours.wall)


def us(seconds: Pair, n: int = 1) -> Pair:
    return Pair(1e6 * seconds.cpu / n, 1e6 * seconds.wall / n)


def speeds(found: dict[str, Pair], examples: int, peer: str) -> list[dict]:
    """A row for each of the runs; the first of them is the peer to compare with."""
    base = next(iter(found.values()))
    return [
        {"what": name, "examples/s by CPU (wall)": Pair(examples / s.cpu, examples / s.wall),
         f"times {peer} by CPU (wall)": times(base, s)}
        for name, s in found.items()
    ]  # fmt: skip


class Files:
    """Input of both programs: news posts in random order, and email of many users, as VW text. Copies make a stream long."""

    def __init__(self, folder: Path, program: Path, train: list[str], test: list[str], rounds: int, copies: int) -> None:
        self.folder, self.program, self.train, self.test, self.rounds, self.copies = folder, program, train, test, rounds, copies

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def readers(self) -> tuple[Path, int]:
        """The posts, each seen by one of 100 readers of its task's two groups, drawn at random: 1,000 tasks, as ten tasks there
        are. How many examples."""
        draw = random.Random(1)
        lines = [re.sub(r"\|task (\S+)", lambda task: f"|task {task[1]}/{draw.randrange(100)}", line) for line in self.train * self.copies]
        return self.write("readers.vw", lines), len(lines)

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


def vw(files: Files, *args: object) -> str:
    """Runs Vowpal Wabbit in a process of its own, without the start of Python, and returns its final output."""
    return forked(lambda: vowpalwabbit.Workspace(arg_list=list(map(str, args))).finish(), files.folder / "vw.said")


def train(program: Path, path: Path, learner: str, *args: object) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--data", path, "--model", f"{folder}/m", "--learner", learner, "--json", "--quiet", *args]
        return json.loads(subprocess.run(list(map(str, command)), capture_output=True, check=True).stdout)


def said(text: str, what: str) -> float:
    return float(re.search(rf"^{what} = ([\d.]+)", text, re.M)[1])


def single_task(files: Files) -> list[dict]:
    """(a) One task, sparse text, file to model. Without the namespace of the task, so that all learn from the same features."""
    lines = [re.sub(r"\|task \S+ ", "", line) for line in files.train] * files.copies
    path, cache = files.write("news.vw", lines), files.folder / "news.cache"
    plain = ["-d", path, "-b", BITS, "--loss_function", "hinge", "--binary", "--quiet", "-f", files.folder / "vw.out"]
    vw(files, *plain, "-c", "--cache_file", cache)
    kept = ["--cache", files.folder / "instances"]
    train(files.program, path, "perceptron", *kept)
    runs = {"Vowpal Wabbit": lambda: vw(files, *plain)}
    cached = {"Vowpal Wabbit, existing binary cache": lambda: vw(files, *plain, "--cache_file", cache)}
    for learner, name in (("perceptron", "perceptron"), ("cohort", "cohort"), ("cohort(query=always)", "cohort, every label")):
        runs[f"quorate {name}"] = lambda learner=learner: train(files.program, path, learner)
        cached[f"quorate {name}, existing --cache"] = lambda learner=learner: train(files.program, path, learner, *kept)
    found = seconds_of(runs | cached, CHILDREN, files.rounds)
    return [row for part in (runs, cached) for row in speeds({name: found[name] for name in part}, len(lines), "VW")]


def per_user(files: Files, stream: tuple[Path, int], memory: str) -> list[dict]:
    """(b) A classifier for each user: VW with crosses of task and words, against tables of the same size."""
    path, examples = stream
    bits = 22
    cross = ["-d", path, "-b", bits, "--loss_function", "logistic", "--binary", "-q", "tw", "-f", files.folder / "vw.out"]
    quality: dict[str, tuple[float, int]] = {}

    def run_vw(name: str, *more: object) -> None:
        text = vw(files, *cross, *more)
        quality[name] = (1 - said(text, "average loss"), examples)

    def run_ours(name: str, learner: str, *more: object) -> None:
        out = train(files.program, path, learner, "--memory", memory, *more)
        quality[name] = (out["progressive_accuracy"], out["report"]["labels"]["answered"])

    runs = {
        "Vowpal Wabbit -q, every label": lambda: run_vw("Vowpal Wabbit -q, every label"),
        "quorate cmtl, every label": lambda: run_ours("quorate cmtl, every label", "cmtl(scale=auto)"),
        "quorate cohort(query=always), every label": lambda: run_ours(
            "quorate cohort(query=always), every label", f"cohort(query=always, store=hashed(bits={bits - 2}))"
        ),
        "quorate cohort": lambda: run_ours("quorate cohort", f"cohort(store=hashed(bits={bits - 2}))"),
    }
    rows = speeds(seconds_of(runs, CHILDREN, files.rounds), examples, "VW")
    return [row | {"progressive accuracy": quality[row["what"]][0], "labels": quality[row["what"]][1]} for row in rows]


def read_posts(lines: list[str]) -> tuple[list[dict[str, float]], np.ndarray, np.ndarray]:
    """Words, labels 1 and 0, tasks."""
    rows, labels, tasks = [], [], []
    for line in lines:
        label, _, words = line.partition(" ")
        labels.append(label)
        tasks.append(line.partition("|task ")[2].split()[0])
        rows.append({w.split(":")[0]: float(w.split(":")[1]) if ":" in w else 1.0 for w in words.partition("|w")[2].split()})
    return rows, (np.array(labels) == "1").astype(int), np.array(tasks)


def in_memory(files: Files, rows: list[dict], y: np.ndarray) -> list[dict]:
    """(c) A CSR matrix in memory, from Python; one pass."""
    X = FeatureHasher(2**BITS, alternate_sign=False).transform(rows).tocsr()
    runs = {
        "scikit-learn Perceptron(max_iter=1)": lambda: sklearn.linear_model.Perceptron(max_iter=1, tol=None).fit(X, y),
        "scikit-learn SGDClassifier(max_iter=1)": lambda: sklearn.linear_model.SGDClassifier(max_iter=1, tol=None).fit(X, y),
        "Vowpal Wabbit VWClassifier()": lambda: VWClassifier(loss_function="hinge").fit(X, 2 * y - 1),
        "quorate.Perceptron()": lambda: quorate.Perceptron().fit(X, y),
        "quorate.Cohort()": lambda: quorate.Cohort().fit(X, y),
        "quorate.Cohort(query='always')": lambda: quorate.Cohort(query="always").fit(X, y),
    }
    return speeds(seconds_of(runs, HERE, files.rounds), len(y), "scikit-learn")


def one_by_one(files: Files, rows: list[dict], y: np.ndarray) -> list[dict]:
    """(d) One example at a time, from Python: learn_one on dicts of words, and on vectors."""
    out = []
    first = rows[:2000]
    n = len(first)
    few = [dict(list(row.items())[:10]) for row in first]
    vectors = np.random.default_rng(0).normal(size=(n, 30))
    named = [dict(enumerate(v.tolist())) for v in vectors]
    labels = [bool(v) for v in y[:n]]

    def learn(model: object, xs: object) -> None:
        for x, label in zip(xs, labels, strict=True):
            model.learn_one(x, label)

    new = {"River": river.linear_model.Perceptron, "quorate": lambda: quorate.Perceptron().start([False, True])}
    for what, theirs, ours in (
        ("posts of 130 words, dicts", first, first),
        ("10 words, dicts", few, few),
        ("30 numbers: River's dict, our NumPy vector", named, vectors),
    ):
        runs = {"River": lambda: learn(new["River"](), theirs), "quorate": lambda: learn(new["quorate"](), ours)}  # noqa: B023
        found = seconds_of(runs, HERE, files.rounds)
        out.append({"what": what, **{f"{name}, us of CPU (wall)": us(s, n) for name, s in found.items()},
                    "times River by CPU (wall)": times(found["River"], found["quorate"])})  # fmt: skip
    return out


def same_labels(rows: list[dict], y: np.ndarray, task: np.ndarray, test: tuple) -> list[dict]:
    """(e) Active learning on the news posts with the same number of labels: test accuracy, and seconds of one run. Vowpal Wabbit
    is not here, as one run is unfair to it: with one order in four it stops asking (research/label_curves.py)."""
    hasher = FeatureHasher(2**BITS, alternate_sign=False)
    X, Xt, yt = hasher.transform(rows).tocsr(), hasher.transform(test[0]).tocsr(), test[1]
    order = np.random.default_rng(0).permutation(len(y))
    X, y, task = X[order], y[order], task[order]
    out = []

    def add(name: str, run: Callable[[], tuple[object, int]]) -> int:
        (model, labels), seconds = timed(run, HERE)
        said = model.predict(Xt, task=test[2]) if isinstance(model, quorate.Estimator) else model.predict(Xt)
        out.append({"what": name, "labels": labels, "test accuracy": float(np.mean(said == yt)), SECONDS: seconds})
        return labels

    def ours(labels: int) -> tuple[object, int]:
        model = quorate.Cohort(labels=labels, pace="even").fit(X, y, task=task)
        return model, model.n_labels_

    wanted = min(475, len(y) // 4)
    budget = add(f"quorate.Cohort(labels={wanted}, pace='even')", lambda: ours(wanted))

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

    share = wanted / len(y)
    add("scikit-activeml StreamRandomSampling, SGDClassifier", lambda: stream(StreamRandomSampling(random_state=0, budget=share)))
    add("scikit-activeml VariableUncertainty, SGDClassifier", lambda: stream(VariableUncertainty(random_state=0, budget=share)))
    return out


def latency(files: Files, rows: list[dict], y: np.ndarray) -> list[dict]:
    """(f) One prediction: as a call, and as a process that loads a model."""
    n = min(2000, len(rows))
    ours, plain = quorate.Cohort(query="always").start([0, 1]), quorate.Perceptron().start([0, 1])
    theirs = river.linear_model.Perceptron()
    for row, label in zip(rows[:n], y[:n].tolist(), strict=True):
        ours.learn_one(row, label)
        plain.learn_one(row, label)
        theirs.learn_one(row, bool(label))
    X = FeatureHasher(2**BITS, alternate_sign=False).transform(rows[:n]).tocsr()
    sk = sklearn.linear_model.Perceptron(max_iter=1, tol=None).fit(X, y[:n])
    some = rows[-n:]
    calls = seconds_of({
        "River Perceptron.predict_one": lambda: [theirs.predict_one(row) for row in some],
        "quorate.Perceptron.predict_one": lambda: [plain.predict_one(row) for row in some],
        "quorate.Cohort.predict_one": lambda: [ours.predict_one(row) for row in some],
        "scikit-learn Perceptron.predict, a row of CSR (100 of them)": lambda: [sk.predict(X[n]) for n in range(100)],
    }, HERE, files.rounds)  # fmt: skip
    model, line, vw_model = files.folder / "one.model", files.write("one.vw", files.test[:1]), files.folder / "vw.model"
    ours.save(model)
    vw(files, "-d", files.write("train.vw", files.train), "-b", BITS, "-f", vw_model, "--quiet")
    once = [sys.executable, "-m", "vowpalwabbit", "-d", line, "-t", "-i", vw_model, "--quiet"]
    processes = seconds_of({
        "process: Vowpal Wabbit -t, one line (including Python's start)": lambda: subprocess.run(once, capture_output=True, check=True),
        "process: quorate predict, one line": lambda: subprocess.run(
            [files.program, "predict", "--model", model, "--data", line, "--quiet"], capture_output=True, check=True),
        "process: quorate --version": lambda: subprocess.run([files.program, "--version"], capture_output=True, check=True),
        "process: Python's start alone": lambda: subprocess.run([sys.executable, "-c", "import vowpalwabbit"], check=True),
    }, CHILDREN, files.rounds)  # fmt: skip
    out = []
    for found, size in ((calls, n), (processes, 1)):
        each = {name: us(s, 100 if "100 of" in name else size) for name, s in found.items()}
        base = next(iter(each.values()))
        out += [{"what": name, "us of CPU (wall)": s, "times River, VW by CPU (wall)": times(base, s)} for name, s in each.items()]
    return out


def shown(value: object) -> str:
    if isinstance(value, Pair):
        return f"{shown(value.cpu)} ({shown(value.wall)})"
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
    parser.add_argument("--rounds", type=int, default=5, help="of alternating runs")
    parser.add_argument("--smallest", action="store_true", help="every scenario on a few posts and emails, once: does it run at all")
    o = parser.parse_args()
    measured = origin()  # before the run: of the code that runs
    lines = [(o.news / f"{part}.vw").read_text().splitlines() for part in ("train", "test")]
    for part in lines:
        random.Random(1).shuffle(part)  # they are sorted by newsgroup, which is easier than a stream is
    copies = 10
    if o.smallest:
        o.examples, o.rounds, copies, lines = 2000, 1, 1, [part[:400] for part in lines]
    rows, y, task = read_posts(lines[0])
    test = read_posts(lines[1])
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder), o.program, *lines, o.rounds, copies)
        scenarios: dict[str, tuple[str, Callable[[], list[dict]]]] = {
            "a": ("One task, sparse text, from a file to a model", lambda: single_task(files)),
            "p": ("A classifier for each of 1,000 readers: news posts", lambda: per_user(files, files.readers(), "64MB")),
            "b": ("A classifier for each of 1,000 users: emails of 28 words",
                  lambda: per_user(files, files.mail(1000, o.examples), "64MB")),
            "B": ("A classifier for each of 1,000,000 users: emails of 28 words",
                  lambda: per_user(files, files.mail(1_000_000, o.examples), "256MB")),
            "c": ("A CSR matrix in memory, from Python", lambda: in_memory(files, rows, y)),
            "d": ("One example at a time, from Python: learn_one", lambda: one_by_one(files, rows, y)),
            "e": ("Active learning at the same number of labels, one run; Vowpal Wabbit is in peers.md",
                  lambda: same_labels(rows, y, task, test)),
            "f": ("Latency of one prediction", lambda: latency(files, rows, y)),
        }  # fmt: skip
        page, lost = [], []
        for letter, (title, run) in scenarios.items():
            if o.only and letter not in o.only:
                continue
            found = run()
            part = "b" if letter in "pB" else letter
            for row in found:
                ratio = next((v for k, v in row.items() if k.startswith("times ")), Pair(1, 1))
                if ("quorate" in str(row["what"]) or letter == "d") and ratio.cpu < 1:
                    lost.append(f"- ({part}) {title}: {row['what']}, {shown(ratio)} times the peer's speed")
            page.append(f"## ({part}) {title}\n\n{table(found)}\n")
            print(page[-1], flush=True)
            if o.json:
                with o.json.open("a") as out:
                    out.writelines(json.dumps({"scenario": letter, **row}) + "\n" for row in found)
    if o.report:
        versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("vowpalwabbit", "scikit-learn", "river", "scikit-activeml", "numpy"))
        head = (f"# Benchmarks against peers\n\nGenerated by `./run bench --peers`. {measured}\n"
                f"Python {platform.python_version()}, {versions}; quorate {quorate.__version__}.\n\n"
                f"Medians of {o.rounds} alternating runs: CPU time, user and system, of all threads, and in parentheses wall-clock time. A\n"
                "ratio above 1 means that Quorate is faster. Vowpal Wabbit runs without the start of Python except where that is named.\n"
                f"The news set has {len(y):,} posts of {np.mean([len(r) for r in rows]):.0f} words on average, in random order; "
                f"a file has them {copies} times.\n")  # fmt: skip
        worse = ["## Where a peer needs less CPU time\n", *(lost or ["- nowhere in this run"]), ""]
        o.report.write_text("\n".join([head, *page, *worse]))


if __name__ == "__main__":
    main()
