"""Quorate and its peers on the same data in one run: `./run bench --peers`, which writes docs/benchmarks.md.

Vowpal Wabbit, scikit-learn, River and scikit-activeml, each as its own users run it. Compared runs alternate (A B A B), seven
times. Reported are medians of CPU seconds, user and system, of all threads of a process, with the least and the most, and
medians of wall-clock seconds beside them: other work on the machine delays a run, but hardly adds to its CPU time. A ratio
above 1 means that Quorate is faster; it is the median over the rounds, as a machine that changes its frequency changes it for
both. The page lists every ratio below 1.

`--guard FILE` runs every row on a tenth of the data and fails where its ratio by CPU fell by more than a tenth of what FILE
has; `--store` writes FILE, with `--only` these rows of it.
"""

import argparse
import importlib.metadata
import json
import math
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import river.linear_model
import serve
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


class Span(NamedTuple):
    """The median of some figures with the least and the most."""

    median: float
    low: float
    high: float


class Measured(NamedTuple):
    """What some runs took, in their order: seconds, and bytes of memory at most, where that is known."""

    seconds: list[Pair]
    memory: float

    def cpu(self) -> Span:
        cpu = [s.cpu for s in self.seconds]
        return Span(statistics.median(cpu), min(cpu), max(cpu))

    def median(self, n: float = 1) -> Pair:
        """Of one of `n` calls in a run."""
        return Pair(*(statistics.median(part) / n for part in zip(*self.seconds, strict=True)))


def timed(run: Callable[[], object], where: int) -> tuple[object, Pair]:
    """The result of `run`, and its seconds, HERE or in CHILDREN, which are processes that it starts and waits for."""
    before, start = resource.getrusage(where), time.perf_counter()
    result = run()
    wall, after = time.perf_counter() - start, resource.getrusage(where)
    return result, Pair(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def seconds_of(runs: dict[str, Callable[[], object]], where: int, rounds: int) -> dict[str, Measured]:
    """Of alternating runs. A run returns the bytes that it took, if it knows them."""
    taken: dict[str, list[Pair]] = {name: [] for name in runs}
    memory: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            result, seconds = timed(run, where)
            taken[name].append(seconds)
            memory[name] = result if isinstance(result, float) else math.nan
    return {name: Measured(found, memory[name]) for name, found in taken.items()}


def times(peer: Measured, ours: Measured) -> Pair:
    """How many times as fast we are: medians of the rounds' ratios."""
    both = list(zip(peer.seconds, ours.seconds, strict=True))
    return Pair(statistics.median(a.cpu / b.cpu for a, b in both), statistics.median(a.wall / b.wall for a, b in both))


def us(measured: Measured, n: int = 1) -> Pair:
    return measured.median(n / 1e6)


def speeds(found: dict[str, Measured], peer: str) -> list[dict]:
    """A row for each of the runs; the first of them is the peer to compare with."""
    base = next(iter(found.values()))
    rows = []
    for name, m in found.items():
        row = {"what": name, "seconds of CPU": m.cpu(), "wall": m.median().wall, f"times {peer} by CPU (wall)": times(base, m)}
        rows.append(row | ({"MB": m.memory / 1e6} if m.memory == m.memory else {}))
    return rows


class Machine(NamedTuple):
    """What the memory can do: bytes a second that are read in their order, and seconds for a line of 64 bytes at a random place
    of 256 MB, asked for ahead."""

    read: float
    line: float

    def limit(self, path: Path, lines: int) -> float:
        """Seconds to read the file once from memory, and so many lines for each of its features."""
        data = path.read_bytes()
        return len(data) / self.read + lines * (data.count(b" ") - data.count(b"|")) * self.line


def machine_of(program: Path) -> Machine:
    ended = subprocess.run([program.parent / "bench" / "quorate_bench_learners", "--only", "^$"], capture_output=True, check=True, text=True)
    found = json.loads(ended.stdout.splitlines()[0])["machine"]
    return Machine(1e9 * found["read_gb_per_s"], 1e-9 * found["random_line_ns"])


class Files:
    """Input of both programs: news posts in random order, and email of many users, as VW text. Copies make a stream long."""

    def __init__(self, folder: Path, program: Path, train: list[str], test: list[str], rounds: int, copies: int, machine: Machine | None) -> None:
        self.folder, self.program, self.train, self.test, self.rounds, self.copies = folder, program, train, test, rounds, copies
        self.machine = machine

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def readers(self) -> Path:
        """The posts, each seen by one of 100 readers of its task's two groups, drawn at random: 1,000 tasks, as ten tasks there
        are."""
        draw = random.Random(1)
        lines = [re.sub(r"\|task (\S+)", lambda task: f"|task {task[1]}/{draw.randrange(100)}", line) for line in self.train * self.copies]
        return self.write("readers.vw", lines)

    def mail(self, users: int, examples: int) -> Path:
        """Words in a namespace of their own, as VW's crosses name namespaces, by their first letter; so no times."""
        path = self.folder / f"mail-{users}.vw"
        if not path.exists():
            made = self.folder / "made.vw"
            command = [self.program, "generate", "users", made, "--tasks", users, "--examples", examples, "--quiet"]
            subprocess.run([*map(str, command), *(["--exponent", "0"] if users > 10_000 else [])], check=True)
            with made.open() as mails, path.open("w") as out:
                out.writelines(re.sub(r" \|time \d+ \| ", " |w ", line) for line in mails)
            made.unlink()
        return path


def vw(files: Files, *args: object) -> str:
    """Runs Vowpal Wabbit in a process of its own, without the start of Python, and returns its final output, then a line with
    the bytes by which the process grew."""

    def run() -> None:
        before = status("VmRSS")
        vowpalwabbit.Workspace(arg_list=list(map(str, args))).finish()
        print(f"bytes = {status('VmHWM') - before}", flush=True)

    return forked(run, files.folder / "vw.said")


def status(what: str) -> int:
    """Bytes that the system says of this process."""
    return 1024 * int(re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def train(program: Path, path: Path, learner: str, *args: object) -> dict:
    """What train says, and the bytes of the process at most."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--data", path, "--model", f"{folder}/m", "--learner", learner, "--json", "--quiet", *args]
        # GNU time, as the system counts the memory of this process into that of one that it starts itself.
        ended = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], capture_output=True, check=True, text=True)
        return json.loads(ended.stdout) | {"bytes": 1024.0 * int(ended.stderr.split()[-1])}


def said(text: str, what: str) -> float:
    return float(re.search(rf"^{what} = ([\d.]+)", text, re.M)[1])


COHORTS = (("cohort", "cohort"), ("cohort(query=always)", "cohort, every label"))
LOGISTIC = ["--loss_function", "logistic"]


class Against(NamedTuple):
    """A run of Vowpal Wabbit, and those of ours that are compared with it: names, with the arguments."""

    peer: str
    arguments: list
    ours: dict[str, list]


def compared(files: Files, path: Path, lines_of_memory: int, *sets: Against) -> list[dict]:
    """From a file to a model: speed, and the accuracy and labels of the same runs, beside what the memory alone would take, with
    so many of its lines for each feature."""
    examples = sum(1 for _ in path.open()) - (path.suffix == ".csv")
    quality: dict[str, tuple[float, int]] = {}

    def run_vw(name: str, *args: object) -> float:
        text = vw(files, *args, "--binary", "-f", files.folder / "vw.out")
        quality[name] = (1 - said(text, "average loss"), examples)
        return said(text, "bytes")

    def run_ours(name: str, *args: object) -> float:
        out = train(files.program, path, *args)
        quality[name] = (out["progressive_accuracy"], out["report"]["labels"]["answered"])
        return out["bytes"]

    runs: dict[str, Callable[[], object]] = {}
    for peer, arguments, ours in sets:
        runs[peer] = lambda peer=peer, arguments=arguments: run_vw(peer, *arguments)
        runs |= {f"quorate {name}": lambda name=name, args=args: run_ours(f"quorate {name}", *args) for name, args in ours.items()}
    found = seconds_of(runs, CHILDREN, files.rounds)
    limit = files.machine.limit(path, lines_of_memory) if files.machine else math.nan
    out = []
    for peer, _, ours in sets:
        for row in speeds({name: found[name] for name in (peer, *(f"quorate {name}" for name in ours))}, "VW"):
            accuracy, labels = quality[row["what"]]
            out.append(row | {"progressive accuracy": accuracy, "labels": labels, "CPU, times the limit": row["seconds of CPU"].median / limit})
    return out


def single_task(files: Files) -> list[dict]:
    """(a) One task, sparse text. Without the namespace of the task, so that all learn from the same features."""
    lines = [re.sub(r"\|task \S+ ", "", line) for line in files.train] * files.copies
    path, cache = files.write("news.vw", lines), files.folder / "news.cache"
    plain = ["-d", path, "-b", BITS, "--loss_function", "hinge"]
    kept = ["--cache", files.folder / "instances"]
    for old in (cache, kept[1]):
        old.unlink(missing_ok=True)
    vw(files, *plain, "-c", "--cache_file", cache)
    train(files.program, path, "perceptron", *kept)
    ours = (("perceptron", "perceptron"), *COHORTS)
    return compared(files, path, 1,
                    Against("Vowpal Wabbit", plain, {name: [learner] for learner, name in ours}),
                    Against("Vowpal Wabbit, existing binary cache", [*plain, "--cache_file", cache],
                            {f"{name}, existing --cache": [learner, *kept] for learner, name in ours}))  # fmt: skip


def groups(files: Files) -> list[dict]:
    """(t) The posts with a classifier for each of their ten groups."""
    path = files.write("groups.vw", files.train * files.copies)
    return compared(files, path, 2, Against("Vowpal Wabbit -q -b 22, every label", ["-d", path, "-b", 22, "-q", "tw", *LOGISTIC],
                                            {name: [learner] for learner, name in COHORTS}))  # fmt: skip


def numbers(files: Files) -> list[dict]:
    """(n) A table of 40 numbers: our CSV, and the same as text of Vowpal Wabbit, with the same digits."""
    rows = 20_000 * files.copies
    draw = np.random.default_rng(1)
    x, w = draw.normal(size=(rows, 40)).round(4), draw.normal(size=40)
    y = (x @ w + draw.normal(size=rows) > 0).astype(int)
    csv = files.write("numbers.csv", [",".join(["label", *(f"x{i}" for i in range(40))]),
                                      *(f"{label}," + ",".join(map(repr, row)) for label, row in zip(y.tolist(), x.tolist(), strict=True))])  # fmt: skip
    text = files.write("numbers.vw", [f"{2 * label - 1} |n " + " ".join(f"x{i}:{v!r}" for i, v in enumerate(row))
                                      for label, row in zip(y.tolist(), x.tolist(), strict=True)])  # fmt: skip
    ours = {f"{name}, CSV": [learner] for learner, name in (("perceptron(scale=auto)", "perceptron"), *COHORTS)}
    return compared(files, csv, 0, Against("Vowpal Wabbit, its text, every label", ["-d", text, "-b", BITS, *LOGISTIC], ours))


def per_user(files: Files, path: Path, memory: str, bits: int) -> list[dict]:
    """(b) A classifier for each user: VW with crosses of task and words, against tables of the same size."""
    ours = {"cmtl, every label": "cmtl(scale=auto)",
            "cohort, every label": f"cohort(query=always, store=hashed(bits={bits - 2}))",
            "cohort": f"cohort(store=hashed(bits={bits - 2}))"}  # fmt: skip
    return compared(files, path, 2, Against(f"Vowpal Wabbit -q -b {bits}, every label", ["-d", path, "-b", bits, "-q", "tw", *LOGISTIC],
                                            {name: [learner, "--memory", memory] for name, learner in ours.items()}))  # fmt: skip


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
    return speeds(seconds_of(runs, HERE, files.rounds), "scikit-learn")


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

    def perceptron() -> object:
        return quorate.Perceptron().start([False, True])

    def cohort() -> object:
        return quorate.Cohort(query="always").start([False, True])

    for what, new, theirs, ours in (
        ("posts of 130 words, dicts: perceptron", perceptron, first, first),
        ("the same: cohort, every label", cohort, first, first),
        ("10 words, dicts: perceptron", perceptron, few, few),
        ("30 numbers, River's dict, our NumPy vector: perceptron", perceptron, named, vectors),
    ):
        runs = {"River's perceptron": lambda: learn(river.linear_model.Perceptron(), theirs), "quorate": lambda: learn(new(), ours)}  # noqa: B023
        found = seconds_of(runs, HERE, files.rounds)
        out.append({"what": what, **{f"{name}, us of CPU (wall)": us(s, n) for name, s in found.items()},
                    "times River by CPU (wall)": times(*found.values())})  # fmt: skip
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
        out += [{"what": name, "us of CPU (wall)": s, "times River, VW by CPU (wall)": Pair(base.cpu / s.cpu, base.wall / s.wall)}
                for name, s in each.items()]  # fmt: skip
    return out


def served(files: Files, seconds: float) -> list[dict]:
    """(s) `quorate serve` beside `vw --daemon`, after the same thousand labels. Both stay; they are asked in turn."""
    draw = random.Random(1)
    server = serve.Served(str(files.program), files.folder / "desk", "--labels", "1000")
    serve.teach(server.port, draw)
    daemon = serve.Daemon(files.folder, draw)
    out = []
    for how, batch in (("a text a request", 1), ("100 texts at a time", 100)):
        runs = {f"vw --daemon, {how}": (daemon.pid, daemon.predictions(batch)),
                f"quorate serve, {how}": (server.pid, serve.predictions(server.port, draw, batch))}  # fmt: skip
        taken: dict[str, list[Pair]] = {name: [] for name in runs}
        for _ in range(files.rounds):
            for name, (pid, work) in runs.items():
                found = serve.load(pid, 1, seconds, work)
                taken[name].append(Pair(found["cpu_us"], 1e6 / found["per_second"]))
        measured = {name: Measured(pairs, math.nan) for name, pairs in taken.items()}
        base = next(iter(measured.values()))
        out += [{"what": name, "us of CPU a text (wall)": m.median(), "times VW by CPU (wall)": times(base, m)} for name, m in measured.items()]
    server.stop()
    daemon.stop()
    return out


def shown(value: object) -> str:
    if isinstance(value, Span):
        return f"{shown(value.median)} ({shown(value.low)} to {shown(value.high)})"
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


class Size(NamedTuple):
    """How much of the data: copies of the news posts, and emails."""

    copies: int
    emails: int


def rows_of(o: argparse.Namespace, size: Size, whole: bool, machine: Machine | None = None) -> Iterator[tuple[str, str, list[dict]]]:
    """Each scenario's letter, title and rows. `whole`: those, too, that are of one size."""
    lines = [(o.news / f"{part}.vw").read_text().splitlines() for part in ("train", "test")]
    for part in lines:
        random.Random(1).shuffle(part)  # they are sorted by newsgroup, which is easier than a stream is
    if o.smallest:
        lines = [part[:400] for part in lines]
    rows, y, task = read_posts(lines[0])
    posts, emails = f"{len(y) * size.copies:,} news posts", f"{size.emails:,} emails of 28 words"
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder), o.program, *lines, o.rounds, size.copies, machine)
        scenarios: dict[str, tuple[str, Callable[[], list[dict]]]] = {
            "a": (f"One task, sparse text, from a file to a model: {posts}", lambda: single_task(files)),
            "t": (f"A classifier for each of ten groups: {posts}", lambda: groups(files)),
            "p": (f"A classifier for each of 1,000 readers: {posts}", lambda: per_user(files, files.readers(), "64MB", 22)),
            "b": (f"A classifier for each of 1,000 users: {emails}", lambda: per_user(files, files.mail(1000, size.emails), "64MB", 22)),
            "B": (f"A classifier for each of {size.emails:,} users: {emails}",
                  lambda: per_user(files, files.mail(size.emails, size.emails), "256MB", 24)),
            "n": (f"A table of 40 numbers, {20_000 * size.copies:,} rows", lambda: numbers(files)),
        }  # fmt: skip
        if whole:
            test = read_posts(lines[1])
            scenarios |= {
                "c": ("A CSR matrix in memory, from Python", lambda: in_memory(files, rows, y)),
                "d": ("One example at a time, from Python: learn_one", lambda: one_by_one(files, rows, y)),
                "f": ("Latency of one prediction", lambda: latency(files, rows, y)),
                "s": ("Predictions by a server, texts of 1,000 bytes, one client", lambda: served(files, 0.05 if o.smallest else 1)),
            }
            if not o.guard:
                scenarios["e"] = ("Active learning at the same number of labels, one run; Vowpal Wabbit is in peers.md",
                                  lambda: same_labels(rows, y, task, test))  # fmt: skip
        for letter, (title, run) in scenarios.items():
            if not o.only or letter in o.only:
                yield letter, title, run()


def ratio_of(letter: str, row: dict) -> float | None:
    """How many times as fast as the peer we are by CPU, of rows that say so of us."""
    if "quorate" not in str(row["what"]) and letter != "d":
        return None
    return next((value.cpu for key, value in row.items() if key.startswith("times ")), None)


def guard(o: argparse.Namespace) -> None:
    """Ends with an error if a row is slower beside its peer than the file has. Such a row is measured three times."""

    def measure() -> dict[str, float]:
        return {f"{letter}: {row['what']}": ratio for letter, _, rows in rows_of(o, Size(1, 100_000), whole=True) for row in rows
                if (ratio := ratio_of(letter, row)) is not None}  # fmt: skip

    if o.store:  # the median of three: a ratio varies by a tenth and more, as CPU time waits for memory that others use
        runs = [measure() for _ in range(3)]
        medians = {row: float(f"{statistics.median(run[row] for run in runs):.3g}") for row in runs[0]}
        o.guard.write_text(json.dumps((json.loads(o.guard.read_text()) if o.only else {}) | medians, indent=1) + "\n")
        return
    kept, best = json.loads(o.guard.read_text()), {}
    only = o.only
    for _ in range(3):
        for row, ratio in measure().items():
            best[row] = max(ratio, best.get(row, 0))
        if unknown := best.keys() ^ {row for row in kept if not only or row[0] in only}:
            sys.exit(f"{o.guard}: not the rows that are measured: {', '.join(sorted(unknown))}; run it with --store")
        slower = {row: ratio for row, ratio in best.items() if ratio < 0.9 * kept[row]}
        if not slower:
            break
        o.only = "".join({row[0] for row in slower})
    for row, ratio in slower.items():
        print(f"slower: {row}: {ratio:.3g} times the peer's speed by CPU; {o.guard} has {kept[row]:.3g}", file=sys.stderr)
    sys.exit(1 if slower else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("news", type=Path, help="folder of the prepared news set")
    parser.add_argument("--report", type=Path, help="write a Markdown page")
    parser.add_argument("--json", type=Path, help="write JSON lines")
    parser.add_argument("--guard", type=Path, help="compare the speed beside peers with this file's")
    parser.add_argument("--store", action="store_true", help="with --guard: write the file")
    parser.add_argument("--only", help="letters of the scenarios, as acd")
    parser.add_argument("--rounds", type=int, help="of alternating runs (default: 7; 3 with --guard)")
    parser.add_argument("--smallest", action="store_true", help="every scenario on a few posts and emails, once: does it run at all")
    o = parser.parse_args()
    o.rounds = o.rounds or (1 if o.smallest else 3 if o.guard else 7)
    if o.guard:
        guard(o)
        return
    measured, machine = origin(), machine_of(o.program)  # before the run: of the code that runs
    sizes = [Size(1, 2000)] if o.smallest else [Size(1, 100_000), Size(10, 1_000_000)]
    page, lost = [], []
    for size in sizes:
        for letter, title, found in rows_of(o, size, whole=size == sizes[-1], machine=machine):
            for row in found:
                ratio = ratio_of(letter, row)
                if ratio is not None and ratio < 1:
                    lost.append(f"- ({letter}) {title}: {row['what']}, {shown(ratio)} times the peer's speed")
            page.append(f"## ({letter}) {title}\n\n{table(found)}\n")
            print(page[-1], flush=True)
            if o.json:
                with o.json.open("a") as out:
                    out.writelines(json.dumps({"scenario": letter, "title": title, **row}) + "\n" for row in found)
    if o.report:
        versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("vowpalwabbit", "scikit-learn", "river", "scikit-activeml", "numpy"))
        head = (f"# Benchmarks against peers\n\nGenerated by `./run bench --peers`. {measured}\n"
                f"Python {platform.python_version()}, {versions}; quorate {quorate.__version__}.\n\n"
                f"Medians of {o.rounds} alternating runs (least to most): CPU time, user and system, of all threads, and wall-clock time. A ratio\n"
                "above 1 means that Quorate is faster; it is the median of the rounds' ratios. Vowpal Wabbit runs without the start of Python\n"
                "except where that is named, scikit-learn with one thread. MB: the memory of the process at most; of Vowpal Wabbit, what it\n"
                "adds to Python's. The news set has 11,314 posts of 134 words on average, in random order; a longer file has them ten times.\n"
                f"The limit is the time that the memory alone would take: the file read once at {machine.read / 1e9:.3g} GB a second, and for each word a line of memory\n"
                f"at a random place, {1e9 * machine.line:.3g} ns, two where there are tasks. A small model is in the cache, which is faster.\n")  # fmt: skip
        worse = ["## Where a peer needs less CPU time\n", *(lost or ["- nowhere in this run"]), ""]
        o.report.write_text("\n".join([head, *page, *worse]))


if __name__ == "__main__":
    main()
