"""Quorate beside its peers at equal numbers of labels: `./run research --labels`, which writes docs/peers.md and its figures.

    python3 research/label_curves.py PROGRAM [--splits 10] [--seed 1] [--only spam-b,news] [--runs FILE] [--report FILE] [--figures FOLDER]

Peers: Vowpal Wabbit, one pass, and scikit-learn's logistic regression, fitted again and again. Split r of a set is drawn with
`random.Random(seed + r)`; all learners get the same examples in the same order and are judged on the same unseen ones. The news
set has test posts of its own, so only the order is drawn. N random labels are those of the first N of
`numpy.random.default_rng(seed + r).permutation`. Runs that FILE holds are not repeated, so an interrupted run continues.
Needs the packages of bench/requirements.txt and the prepared sets (`./run data NAME`, research/vectors.py, research/unseen.py).
"""

import argparse
import dataclasses
import importlib.metadata
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import starving
import unseen
import vowpalwabbit
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from measuring import axes, forked, origin, save  # noqa: E402

ALL, ASKED = 0, -1  # labels: every one; as many as cohort asks for without a budget


@dataclasses.dataclass(frozen=True)
class Set:
    title: str
    about: str
    data: str
    test: str | int  # file, or examples of each task to learn from
    labels: tuple[int, ...]  # budgets
    active: tuple[tuple[float, float], ...]  # of Vowpal Wabbit --active: -l and --mellowness that buy about as many labels
    text: bool = True  # counts of words; else a table of numbers
    measure: str = "accuracy"
    classes: bool = False  # more than two, each against the rest; else labels are 1 and -1
    flipped: float = 0  # share of the labels to learn from that are wrong
    make: Callable[[Path], None] | None = None  # writes the file if it is not there
    brief: bool = False  # a row of the last table, instead of a table and a figure

    @property
    def columns(self) -> tuple[int, ...]:
        return *self.labels, ASKED, ALL


SETS = {
    "spam-b": Set(
        "spam B", "15 users, 100 emails of each to learn from, 300 of each to test on. Spam or not; counts of words.",
        "spam-b/all.svm", 100, (40, 75, 120, 200, 400),
        ((0.5, 1e-7), (0.5, 3e-7), (0.5, 1e-6), (0.5, 3e-6), (0.5, 1e-5), (8, 1e-8), (8, 3e-8)),
    ),
    "reviews": Set(
        "reviews", "4 kinds of goods, 500 reviews of each to learn from, 1,500 of each to test on. Praise or not; counts of words and of "
        "pairs of\nwords.",
        "sentiment/all.svm", 500, (50, 100, 200, 400, 800),
        ((0.5, 3e-8), (0.5, 1e-7), (0.5, 2e-7), (0.5, 3e-7), (0.5, 5e-7), (8, 1e-8)),
    ),
    "news": Set(
        "news", "10 pairs of newsgroups, 11,314 posts to learn from, the later 7,532 to test on. Which of the two groups; sets of words.",
        "news/train.vw", "news/test.vw", (113, 226, 475, 713, 1131),
        ((0.5, 1e-8), (0.5, 3e-8), (0.5, 1e-7), (0.5, 3e-7), (0.5, 5e-7), (8, 3e-9)),
    ),
    "landmine": Set(
        "landmine", "29 mine fields, 160 places of each to learn from, the others to test on. 6 % are mines; 9 numbers.",
        "landmine/all.csv", 160, (100, 200, 464, 928, 1856),
        ((0.05, 0.1), (0.05, 0.2), (0.05, 0.4), (0.5, 0.02), (0.5, 0.04), (0.5, 0.07)), False, "auc",
    ),
    "school": Set(
        "school", "139 schools, 50 pupils of each to learn from, the others of larger schools to test on. 23 % have good exams; 27 "
        "numbers.",
        "school/all.csv", 50, (140, 350, 695, 1400, 2800),
        ((0.05, 0.01), (0.05, 0.02), (0.05, 0.05), (0.5, 1e-3), (0.5, 3e-3), (0.5, 1e-2)), False, "auc",
    ),
    "spam-a": Set(
        "spam A", "3 users, 500 emails of each to learn from, 2,000 of each to test on. Spam or not; counts of words.",
        "spam-a/all.svm", 500, (40, 75, 150, 300, 600),
        ((0.5, 1e-7), (0.5, 3e-7), (0.5, 1e-6), (0.5, 3e-6), (0.5, 1e-5), (8, 1e-8), (8, 3e-8)),
    ),
    "gaussians": Set(
        "Gaussians", "One task, 1,500 points to learn from, 1,500 to test on. Above or below a plane; 10 numbers.",
        "starving/gaussians.csv", 1500, (25, 50, 150, 300, 500), ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2)), False,
    ),
    "weak": Set(
        "weak", "One task, 2,000 points to learn from, 2,000 to test on. 70 % positives, log-odds of a plane that say little; 10 numbers.",
        "starving/weak.csv", 2000, (50, 100, 200, 500, 1000), ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2)), False,
    ),
    "rare": Set(
        "rare", "10 tasks, 500 points of each to learn from, 500 of each to test on. 2 % are above a plane; 30 numbers.",
        "starving/rare.csv", 500, (100, 200, 500, 1000, 2000), ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2)), False, "average_precision",
    ),
}  # fmt: skip
for clean in ("spam-b", "reviews", "gaussians"):
    for share in (20, 5, 10, 30):
        about = f"As {SETS[clean].title}; {share} % of the labels to learn from are wrong, drawn at random, those to judge by are right."
        SETS[f"{clean}-wrong" + (str(share) if share != 20 else "")] = dataclasses.replace(
            SETS[clean], title=f"{SETS[clean].title}, {share} % wrong", about=about, flipped=share / 100, brief=share != 20)  # fmt: skip
rarer, make_rarer = starving.gaussians("rarer", 0, 30, 10, 40_000, 0.005)
SETS["rarer"] = dataclasses.replace(SETS["rare"], title="rare, 0.5 %", data=rarer, test=2000, labels=(200, 500, 1000, 2000, 4000),
                                    make=make_rarer, brief=True)  # fmt: skip
for name, learn in (("reviews", 500), ("news", 200)):
    for tasks in (True, False):
        SETS[f"{name}-vectors" + ("" if tasks else "-one")] = Set(
            f"{name}, vectors" + ("" if tasks else ", one task"), "", f"vectors/{name}.csv" if tasks else f"vectors/{name}-one.csv",
            learn if tasks else 2000, (40, 100, 200, 400, 800), ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2)), False, brief=True)  # fmt: skip
for name, title, measure in (("moving", "wisdm, moving", "accuracy"), ("walking", "wisdm, walking", "accuracy"),
                             ("sitting", "wisdm, sitting", "average_precision"), ("jogging", "wisdm, jogging", "accuracy")):  # fmt: skip
    SETS[name] = Set(title, "", f"starving/wisdm-{name}.csv", 40, (72, 144, 288, 576, 864),
                     ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2), (0.5, 0.04)), False, measure, brief=True)  # fmt: skip
SETS["digits"] = Set("scikit-learn's digits, ten tasks", "", "digits/all.svm", 100, (50, 100, 200, 300, 500),
                     ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2), (0.5, 0.04)), False, brief=True)  # fmt: skip
SETS["usps"] = Set("USPS", "", "usps/train.svm", "usps/test.svm", (100, 200, 500, 1000, 2000), (), False, classes=True, brief=True)
SETS["vowel"] = Set("vowels, with users", "", "vowel/train.csv", "vowel/test.csv", (50, 100, 200, 300, 400), (), False, classes=True,
                    brief=True)  # fmt: skip
for name, kept in unseen.SETS.items():
    SETS[name] = Set(kept.title, kept.about, f"unseen/{name}.csv", kept.learn, kept.labels,
                     ((0.05, 0.01), (0.05, 0.1), (0.5, 1e-3), (0.5, 1e-2), (0.5, 0.04)), False, kept.measure, brief=True)  # fmt: skip

# The settings of the peers, of which the best is chosen afterwards for each number of labels. By kind of set: text, or table.
VW_RANDOM = {True: (("tf-idf", 0.5), ("tf-idf", 8)), False: (("numbers", 0.5), ("scaled", 0.05), ("scaled", 0.5))}  # input, -l
PENALTIES = {True: (1, 10, 100, 1000), False: (0.01, 0.1, 1, 10)}
PENALTIES_OF_REFITS = {True: (1, 10, 100), False: (0.1, 1, 10)}
FEW = 5  # most budgets of a set
STARVED = 10  # labels: a run that buys fewer has stopped asking
FIRST = 10  # random labels before the first fit
PART = 20  # a refit for each new twentieth of the labels


class Data:
    """A set: lines as they are, words or numbers as a matrix, labels 1 and 0, or classes from 0, tasks as numbers from 0."""

    def __init__(self, s: Set) -> None:
        self.set = s
        self.whole: dict[tuple[str, str], float] = {}  # learner and setting -> its value with every label, where splits do not differ
        self.ending = Path(s.data).suffix
        if s.make is not None and not (ROOT / "data" / s.data).exists():
            s.make(ROOT / "data" / s.data)
        self.lines = self.read(s.data)
        self.head = [self.lines.pop(0)] if self.ending == ".csv" else []
        self.learn_only = len(self.lines)
        if isinstance(s.test, str):
            self.lines += self.read(s.test)[len(self.head) :]
        labels, tasks, rows = zip(*map(self.parsed, self.lines), strict=True)
        self.y = np.unique(labels, return_inverse=True)[1] if s.classes else np.array([float(label) > 0 for label in labels], dtype=int)
        self.classes = int(self.y.max()) + 1
        self.names, self.task = np.unique(tasks, return_inverse=True)
        place: dict[str, int] = {}
        columns = [place.setdefault(name, len(place)) for row in rows for name, _ in row]
        starts = np.cumsum([0, *map(len, rows)])
        values = np.array([value for row in rows for _, value in row], dtype=float)
        self.X = sp.csr_matrix((values, columns, starts), shape=(len(rows), len(place)))

    @staticmethod
    def read(name: str) -> list[str]:
        path = ROOT / "data" / name
        for _, (file, make), *_ in starving.SETS.values():
            if file == name and make is not None and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                make(path)
        if not path.exists():
            sys.exit(f"{path}: expected this file; ./run data, research/vectors.py or research/unseen.py makes it")
        return path.read_text().splitlines()

    def parsed(self, line: str) -> tuple[str, str, list[tuple[str, float]]]:
        if self.ending == ".csv":
            named = dict(zip(self.head[0].split(","), line.split(","), strict=True))
            label, task = named.pop("label"), named.pop("task")
            return label, task, [(name, float("nan" if value in ("", "?") else value)) for name, value in named.items() if name != "id"]
        if self.ending == ".svm":
            label, *words = line.partition(" #")[0].split()
            task = words.pop(0).removeprefix("task:") if words[0].startswith("task:") else ""
            return label, task, [(k, float(value)) for k, _, value in (w.partition(":") for w in words)]
        label, task, words = (part.split() for part in line.split("|"))
        return label[0], task[1], [(w, 1.0) for w in words[1:]]

    def with_other_label(self, place: int) -> str:
        at = self.head[0].split(",").index("label") if self.ending == ".csv" else 0
        fields = self.lines[place].split("," if self.ending == ".csv" else " ")
        fields[at] = str(-int(float(fields[at])))
        return ("," if self.ending == ".csv" else " ").join(fields)

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Places of the examples to learn from, in order, and of those to be judged by."""
        order = random.Random(seed).sample(range(self.learn_only), self.learn_only)
        if isinstance(self.set.test, str):
            return np.array(order), np.arange(self.learn_only, len(self.lines))
        taken: dict[int, int] = defaultdict(int)
        learn, test = [], []
        for place in order:
            taken[self.task[place]] += 1
            (learn if taken[self.task[place]] <= self.set.test else test).append(place)
        return np.array(learn), np.array(test)


class Split:
    """One split: what every learner is given, and how it is judged."""

    def __init__(self, data: Data, seed: int, program: Path, folder: Path) -> None:
        self.data, self.seed, self.program, self.folder = data, seed, program, folder
        self.learn, self.test = data.split(seed)
        self.wrong = np.random.default_rng([seed, 1]).random(len(self.learn)) < data.set.flipped
        self.y, self.task = data.y[self.learn] ^ self.wrong, data.task[self.learn]
        self.truth = data.y[self.test]
        self.random = np.random.default_rng(seed).permutation(len(self.learn))
        counts, unseen = data.X[self.learn], data.X[self.test]
        scale = TfidfTransformer(sublinear_tf=True) if data.set.text else StandardScaler(with_mean=True)
        if data.set.text:
            self.X, self.Xt = scale.fit_transform(counts).tocsr(), scale.transform(unseen).tocsr()
        else:
            self.X = sp.csr_matrix(np.nan_to_num(scale.fit_transform(counts.toarray())))  # a missing number becomes the mean
            self.Xt = sp.csr_matrix(np.nan_to_num(scale.transform(unseen.toarray())))
            counts.data, unseen.data = np.nan_to_num(counts.data), np.nan_to_num(unseen.data)
        names = ("counts", "tf-idf") if data.set.text else ("numbers", "scaled")
        self.inputs = dict(zip(names, ((counts, unseen), (self.X, self.Xt)), strict=True))
        self.written: dict[str, tuple[list[str], list[str]]] = {}
        self.asked = 0  # labels that cohort bought without a budget

    def judged(self, margins: np.ndarray) -> float:
        """By margins; of classes, by those of each class, or by the classes predicted."""
        if self.data.set.classes:
            return float(np.mean((margins.argmax(1) if margins.ndim == 2 else margins) == self.truth))
        if self.data.set.measure == "auc":
            return float(roc_auc_score(self.truth, margins))
        if self.data.set.measure == "average_precision":
            return float(average_precision_score(self.truth, margins))
        return float(np.mean((margins > 0) == self.truth))

    def wanted(self, labels: int) -> int:
        return {ALL: len(self.learn), ASKED: self.asked}.get(labels, labels)

    # Quorate -----------------------------------------------------------------------------------------------------------

    def cohort(self) -> Iterator[dict]:
        files = [self.folder / f"{part}{self.data.ending}" for part in ("learn", "test")]
        for path, places, wrong in zip(files, (self.learn, self.test), (self.wrong, np.zeros(len(self.test), bool)), strict=True):
            lines = (self.data.with_other_label(p) if other else self.data.lines[p] for p, other in zip(places, wrong, strict=True))
            path.write_text("\n".join([*self.data.head, *lines, ""]))
        for labels in self.data.set.columns:
            command = [self.program, "simulate", "--data", files[0], "--test", files[1], "--in-order", "--seed", self.seed]
            if labels > 0:
                command += ["--labels", labels, "--pace", "even"]
            elif labels == ALL:
                command += ["--learner", "cohort(query=always)"]
            command += ["--classes", "one-vs-rest"] if self.data.set.classes else []
            command += ["--json", "--quiet"]
            found = json.loads(subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout)["mean"]
            if labels == ASKED:
                self.asked = round(found["labels"])
            yield {"who": "cohort", "setting": "", "wanted": labels, "bought": found["labels"], "value": found[self.data.set.measure]}

    # Vowpal Wabbit -----------------------------------------------------------------------------------------------------

    def vw_lines(self, kind: str) -> tuple[list[str], list[str]]:
        """The examples without labels, as VW text: the task in namespace t, the features in namespace w."""
        if kind not in self.written:

            def lines(X: sp.csr_matrix, tasks: np.ndarray) -> list[str]:
                out = []
                for n, task in enumerate(tasks):
                    part = slice(X.indptr[n], X.indptr[n + 1])
                    words = (f"{k}:{v:.5g}" for k, v in zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
                    out.append(f"|t {task} |w {' '.join(words)}")
                return out

            X, Xt = self.inputs[kind]
            self.written[kind] = lines(X, self.task), lines(Xt, self.data.task[self.test])
        return self.written[kind]

    def vw(self, kind: str, labelled: np.ndarray, *options: object) -> tuple[float, int]:
        """The value of one pass over the labelled examples, in order, and the labels that --active bought. The test set follows
        without labels in the same file, as this version cannot load the models that it saves with --active."""
        learn, test = self.vw_lines(kind)
        path, predicted = self.folder / "vw.txt", self.folder / "vw.predicted"
        labels = self.y + 1 if self.data.set.classes else 2 * self.y - 1
        path.write_text("\n".join([*(f"{labels[n]} {learn[n]}" for n in np.sort(labelled)), *test, ""]))
        command = ["-d", path, "-p", predicted, "-b", 22, "--loss_function", "logistic", "--random_seed", self.seed, *options]
        command += ["--oaa", self.data.classes] if self.data.set.classes else []
        report = forked(lambda: vowpalwabbit.Workspace(arg_list=[str(word) for word in command]), self.folder / "vw.report")
        margins = [float(line.split()[0]) for line in predicted.read_text().splitlines()[-len(test) :]]
        queries = re.search(r"total queries = (\d+)", report)
        margins = np.array(margins) - (1 if self.data.set.classes else 0)
        return self.judged(margins), int(queries[1]) if queries else len(labelled)

    def vw_runs(self) -> Iterator[dict]:
        for crosses in ([], ["-q", "tw"]):
            which = "vw crosses" if crosses else "vw plain"
            for kind, rate in VW_RANDOM[self.data.set.text]:
                for labels in self.data.set.columns:
                    value, _ = self.vw(kind, self.random[: self.wanted(labels)], "-l", rate, *crosses)
                    yield {"who": f"{which} random", "setting": f"{kind}, -l {rate:g}", "wanted": labels,
                           "bought": self.wanted(labels), "value": value}  # fmt: skip
            kind = list(self.inputs)[1]
            for rate, mellowness in self.data.set.active:
                options = ["-l", rate, "--active", "--simulation", "--mellowness", mellowness, *crosses]
                value, bought = self.vw(kind, self.random, *options)
                yield {"who": f"{which} active", "setting": f"{kind}, -l {rate:g} --mellowness {mellowness:g}", "wanted": None,
                       "bought": bought, "value": value}  # fmt: skip

    # scikit-learn ------------------------------------------------------------------------------------------------------

    def copied(self, X: sp.csr_matrix, tasks: np.ndarray) -> sp.csr_matrix:
        """Every feature and a constant twice: shared, and as the task's own (Daume 2007)."""
        X = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
        width = X.shape[1]
        own = X.indices.astype(np.int64) + width * np.repeat(tasks + 1, np.diff(X.indptr))
        copies = sp.csr_matrix((X.data, own, X.indptr), shape=(X.shape[0], width * (len(self.data.names) + 1)))
        return (copies + sp.csr_matrix((X.data, X.indices, X.indptr), shape=copies.shape)).tocsr()

    def weights(self, X: sp.csr_matrix, y: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        """Of logistic regression; of classes, a column for each. Features that no labelled example has get weight 0 anyway, so they are
        left out."""
        seen = np.unique(y)
        used, places = np.unique(X.indices, return_inverse=True)
        narrow = sp.csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], len(used)))
        w, b = np.zeros((X.shape[1], self.data.classes)), np.full(self.data.classes, -np.inf)
        b[seen] = 0
        if len(seen) > 1:
            options = {} if self.data.set.classes else {"solver": "liblinear", "dual": True, "random_state": 0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", (ConvergenceWarning, FutureWarning))
                fit = LogisticRegression(C=penalty, max_iter=300, **options).fit(narrow, y)
            of = seen if len(seen) > 2 else seen[1:]
            w[np.ix_(used, of)], b[of] = fit.coef_.T, fit.intercept_
        return (w, b) if self.data.set.classes else (w[:, 1], b[1] if len(seen) > 1 else float(seen[0]) - 0.5)

    def sk_runs(self) -> Iterator[dict]:
        one_task = len(self.data.names) == 1
        for which in ("pooled", "copies") if not (self.data.set.classes and one_task) else ("pooled",):
            X, Xt = self.X, self.Xt
            if which == "copies":
                X, Xt = self.copied(X, self.task), self.copied(Xt, self.data.task[self.test])
            for labels in self.data.set.columns:
                chosen = self.random[: self.wanted(labels)]
                for penalty in PENALTIES[self.data.set.text]:
                    key = f"sk {which} random", f"C={penalty:g}"
                    value = self.data.whole.get(key) if labels == ALL else None
                    if value is None:
                        w, b = self.weights(X[chosen], self.y[chosen], penalty)
                        value = self.judged(Xt @ w + b)
                    if labels == ALL and isinstance(self.data.set.test, str):  # other splits have the same examples in another order
                        self.data.whole[key] = value
                    yield {"who": key[0], "setting": key[1], "wanted": labels, "bought": len(chosen), "value": value}
            for penalty in PENALTIES_OF_REFITS[self.data.set.text]:
                found = dict(self.uncertain(X, Xt, penalty, sorted({*self.data.set.labels, self.asked})))
                for labels in (*self.data.set.labels, ASKED):
                    yield {"who": f"sk {which} uncertain", "setting": f"C={penalty:g}", "wanted": labels, "bought": self.wanted(labels),
                           "value": found[self.wanted(labels)]}  # fmt: skip

    def uncertain(self, X: sp.csr_matrix, Xt: sp.csr_matrix, penalty: float, budgets: list[int]) -> Iterator[tuple[int, float]]:
        """Buys the labels that the model is least certain about, of all examples not yet labelled, and fits again."""
        both = next(n for n in range(2, len(self.y)) if len(set(self.y[self.random[:n]])) == 2)
        chosen = self.random[: min(max(FIRST, both), budgets[0])].tolist()
        while True:
            w, b = self.weights(X[chosen], self.y[chosen], penalty)
            if len(chosen) in budgets:
                yield len(chosen), self.judged(Xt @ w + b)
                if len(chosen) == budgets[-1]:
                    return
            distance = X @ w + b
            distance = np.diff(np.sort(distance, 1)[:, -2:], axis=1)[:, 0] if self.data.set.classes else np.abs(distance)
            distance[chosen] = np.inf
            count = min(max(1, len(chosen) // PART), next(n for n in budgets if n > len(chosen)) - len(chosen))
            chosen += np.argpartition(distance, count)[:count].tolist()


# Tables and figures -------------------------------------------------------------------------------------------------------

MEASURES = {"accuracy": "", "auc": ", AUC", "average_precision": ", average precision"}
ROWS = {
    "cohort": "cohort",
    "vw plain random": "Vowpal Wabbit, random labels",
    "vw crosses random": "Vowpal Wabbit with crosses, random labels",
    "vw plain active": "Vowpal Wabbit --active",
    "vw crosses active": "Vowpal Wabbit --active with crosses",
    "sk pooled random": "logistic regression, random labels",
    "sk copies random": "logistic regression with copies, random labels",
    "sk pooled uncertain": "logistic regression, uncertain labels",
    "sk copies uncertain": "logistic regression with copies, uncertain labels",
}


SHORT = {"vw plain random": "vw", "vw crosses random": "vw x", "vw plain active": "vw a", "vw crosses active": "vw xa",
         "sk pooled random": "lr", "sk copies random": "lr c", "sk pooled uncertain": "lr u", "sk copies uncertain": "lr cu"}  # fmt: skip

PAGE = """# Beside its peers, at equal labels

Generated by `./run research --labels`. {measured}
{versions}; {splits} splits, seeds {seeds}. Cells are means over
the splits, and their standard errors, on unseen examples.

## Where a peer wins

The best peer of a column is the best of its rows and settings, chosen afterwards by its test results; `cohort` has its defaults. In
parentheses: cohort minus the peer, split by split, with the standard error. A peer wins by more than two standard errors:

{won}

Level within two standard errors, of the sets with a table of their own:

{level}

Elsewhere in the tables below cohort has the better mean by more than two standard errors; [more sets](#more-sets) have a
row each.

## How it is measured

All learners get the same examples of a split in the same order, and are judged on the same unseen examples. `research/label_curves.py`
draws split r with `random.Random(r)`, and the random labels with `numpy.random.default_rng(r)`.

- cohort: `quorate simulate --data learn --test test --in-order --seed r --labels N --pace even`; as it asks: without `--labels`; all
  labels: `--learner 'cohort(query=always)'`. It sees each example once and decides then whether to buy its label. In the column "as it
  asks" the peers have as many labels as cohort bought in the same split.
- Vowpal Wabbit: `python -m vowpalwabbit -d FILE -b 22 --loss_function logistic --random_seed r`, one pass; the task is a namespace.
  With crosses: `-q tw`, task and features. Random labels: the file has the N labelled examples, and `-l` is chosen afterwards. Uncertain
  ones: `--active --simulation`, with `-l` and `--mellowness` chosen afterwards. It buys as many labels as it asks for; shown is the best
  setting that buys at most a tenth more than the column's labels on average, or else the one that buys fewest. In {starved} of {active}
  runs it stopped asking before the tenth label, most often after two of the same class. These runs do not count, and neither do
  settings with which more than half of the runs stopped; cells name the number of splits that count if it is not all.
- Logistic regression: scikit-learn's `LogisticRegression(C=C, solver="liblinear", dual=True)`, fitted to the end, C chosen
  afterwards. With copies: every feature twice, shared and as the task's own ("Frustratingly Easy Domain Adaptation", Daume 2007).
  Uncertain labels: ten random ones, then those of the examples nearest to 0, of all that have no label yet, a twentieth of the labels
  so far at a time, with a fit after each. It may look at all examples at any time, which a stream does not allow.
- Input of the peers: tf-idf (`TfidfTransformer(sublinear_tf=True)`) or standard units, fitted on all examples to learn from, labelled
  or not; for Vowpal Wabbit also numbers as they are. (Counts as they are: spam B with 40, 75, 200 and all labels, seed 101, .860, .860,
  .913, .968 instead of .855, .892, .948, .982.) cohort reads the files as they are.
- Classes (USPS, vowels): `--classes one-vs-rest`, `vw --oaa`, multinomial logistic regression (`solver="lbfgs"`); uncertain labels: of the
  examples with the smallest difference between the two largest margins. `--active` knows no classes.

{tables}
## More sets

{brief}

## Settings chosen

{settings}"""


BRIEF = """At each number of labels cohort, and in parentheses cohort minus the best peer, bold beyond two standard errors: lr logistic
regression, vw Vowpal Wabbit; c, x with copies or crosses; u, a uncertain labels, else random ones. Vectors: MiniLM's 384 numbers a text
(`research/vectors.py`), no words. Wrong labels are among those to learn from alone. Rare, 0.5 %: as rare, 2,000 points of each task to learn
from. wisdm: 43 numbers of phones in the pockets of 36 people, 40 rows of each to learn from; does the person move fast or climb (moving),
walk, sit or jog? Digits: 100 images of each task to learn from; is it this digit? USPS: its 7,291 images to learn from, 2,007 to test on.
Vowels: 8 speakers to learn from, 7 others to test on.

From farms on: sets of `research/unseen.py`, chosen before any learner saw them. What they showed first, accuracy below the
share of the frequent class with few labels and rare classes that all labels predicted worse than chosen ones, led to two changes that
were judged on other sets and on diamonds and careers. The number of replays with more than 512 labels was chosen on all of them: with as
many labels no set is unseen any more.

| set | few labels | | | | | as it asks | all |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


@dataclasses.dataclass(frozen=True)
class Cell:
    setting: str
    bought: float
    values: dict[int, float]  # by seed

    @property
    def mean(self) -> float:
        return statistics.mean(self.values.values())


def error(values: list[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def settings(runs: list[dict], who: str, labels: int | None) -> list[Cell]:
    """Each setting for this number of labels. --active buys as many as it asks for. Its runs that stop asking before STARVED labels
    do not count, and neither do settings with which more than half of the runs do."""
    by_setting = defaultdict(list)
    for run in runs:
        if run["who"] == who and run["wanted"] in (None, labels):
            by_setting[run["setting"]].append(run)
    cells = []
    for setting, rows in by_setting.items():
        lively = [r for r in rows if r["wanted"] is not None or r["bought"] >= STARVED]
        if 2 * len(lively) >= len(rows):
            cells.append(Cell(setting, statistics.mean(r["bought"] for r in lively), {r["seed"]: r["value"] for r in lively}))
    return cells


def sizes(s: Set, runs: list[dict]) -> dict[int, int]:
    """Of each column the number of labels."""
    bought = {n: [r["bought"] for r in runs if r["who"] == "cohort" and r["wanted"] == n] for n in (ASKED, ALL)}
    return {n: n if n > 0 else round(statistics.mean(bought[n])) for n in s.columns}


def best(runs: list[dict], who: str, labels: int, size: int) -> Cell | None:
    """The best setting for this number of labels, chosen afterwards: of those that buy at most a tenth more the best; if all buy
    more, the one that buys fewest."""
    cells = settings(runs, who, labels)
    few = [cell for cell in cells if cell.bought <= 1.1 * size]
    return max(few, key=lambda c: c.mean) if few else min(cells, key=lambda c: c.bought, default=None)


def short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def best_peer(cells: dict[tuple[str, int], Cell | None], labels: int, size: int) -> tuple[str, Cell]:
    peers = {who: c for who in ROWS if who != "cohort" and (c := cells[who, labels]) and c.bought <= 1.1 * size}
    return max(peers.items(), key=lambda peer: peer[1].mean)


def paired(ours: Cell, peer: Cell) -> tuple[float, float]:
    """cohort minus the peer, split by split, and its standard error."""
    by_split = [ours.values[seed] - value for seed, value in peer.values.items()]
    return statistics.mean(by_split), error(by_split)


def named(who: str, labels: int) -> str:
    return ROWS[who].removesuffix(", random labels") if labels == ALL else ROWS[who]


def head(labels: int, size: int) -> str:
    return {ASKED: f"as it asks, {size:,}", ALL: f"all {size:,}"}.get(labels, f"{size:,}")


def compared(s: Set, cells: dict[tuple[str, int], Cell | None], labels: int, size: int) -> tuple[str, str, list[str], list[str]]:
    """cohort minus its best peer; who that is; a sentence if the peer wins; one if neither does."""
    ours, (who, peer) = cells["cohort", labels], best_peer(cells, labels, size)
    gap, e = paired(ours, peer)
    difference = f"{'+' if gap > 0 else '-'}{short(abs(gap))} +- {short(e)}"
    said = f"- {s.title}, {head(labels, size)} labels: {named(who, labels)} {short(peer.mean)}, cohort {short(ours.mean)} ({difference})"
    return difference, who, [said] if gap < -2 * e else [], [said] if -2 * e <= gap <= 2 * e else []


def line(name: str, runs: list[dict]) -> tuple[str, list[str]]:
    """The row of a brief set, and sentences of where a peer wins."""
    s = SETS[name]
    of = sizes(s, runs)
    cells = {(who, n): best(runs, who, n, size) for who in ROWS for n, size in of.items()}
    out, all_won = [], []
    for n, size in of.items():
        difference, who, won, level = compared(s, cells, n, size)
        mark = "" if level else "**"
        out.append(f"{size:,}: {short(cells['cohort', n].mean)} ({mark}{difference}{mark}, {SHORT[who]})")
        all_won += won
    few = [*out[:-2], *[""] * (FEW - len(s.labels))]
    return f"| {s.title}{MEASURES[s.measure]} | " + " | ".join([*few, *out[-2:]]) + " |", all_won


def table(name: str, runs: list[dict]) -> tuple[str, str, list[str], list[str]]:
    """The table of a set; the settings chosen; the cells in which a peer wins; those where neither does."""
    s = SETS[name]
    of = sizes(s, runs)
    cells = {(who, n): best(runs, who, n, size) for who in ROWS for n, size in of.items()}
    heads = [head(n, size) for n, size in of.items()]
    lines = [f"| {s.title}{MEASURES[s.measure]}, labels | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads)]
    notes = []
    for who, title in ROWS.items():
        row, chosen = [], []
        for n in s.columns:
            cell = cells[who, n]
            if cell is None or (n == ALL and who.endswith("active")):
                row.append("")
                continue
            bought = f", {cell.bought:,.0f} labels" if who.endswith("active") else ""
            if len(cell.values) < len(cells["cohort", n].values):
                bought += f", {len(cell.values)} splits"
            row.append(f"{short(cell.mean)} +- {short(error(list(cell.values.values())))}{bought}")
            chosen.append(f"{ {ASKED: 'as cohort asks', ALL: 'all'}.get(n, n)}: {cell.setting}")
        lines.append(f"| {title} | " + " | ".join(row) + " |")
        if who != "cohort":
            notes.append(f"- {title}: {'; '.join(chosen)}")
    found = [compared(s, cells, n, size) for n, size in of.items()]
    difference, _, won, level = zip(*found)
    lines.insert(0, f"## {s.title[0].upper()}{s.title[1:]}\n\n{s.about}\n\n![Learning curves of {s.title}](figures/labels-{name}.svg)\n")
    lines.append("| *cohort minus the best peer* | " + " | ".join(difference) + " |")
    chosen = "\n".join([f"{s.title[0].upper()}{s.title[1:]}:", "", *notes, ""])
    return "\n".join([*lines, ""]), chosen, sum(won, []), sum(level, [])


def draw(name: str, runs: list[dict], path: Path) -> None:
    """Learning curves: cohort, and the better half of each peer."""
    s = SETS[name]
    of = sizes(s, runs)
    asked, everything = of.pop(ASKED), of[ALL]
    groups = {"cohort": ["cohort"], "Vowpal Wabbit, random labels": ["vw plain random", "vw crosses random"],
              "Vowpal Wabbit --active": ["vw plain active", "vw crosses active"],
              "logistic regression, random labels": ["sk pooled random", "sk copies random"],
              "logistic regression, uncertain labels": ["sk pooled uncertain", "sk copies uncertain"]}  # fmt: skip
    colors = ("#0072b2", "#d55e00", "#cc79a7", "#555555", "#009e73")
    ax = axes()
    for (title, members), color, mark in zip(groups.items(), colors, "os^vD"):
        active, points = "active" in title, set()
        for n, size in of.items():
            cells = [c for who in members if (c := best(runs, who, n, size))]
            if cells and not active:
                found = max(cells, key=lambda c: c.mean)
                points.add((found.bought, found.mean))
        if active:  # every setting that buys labels in half of the splits
            points = {(c.bought, c.mean) for who in members for c in settings(runs, who, None) if c.bought < 0.9 * everything}
        ax.plot(*zip(*sorted(points)), color=color, marker=mark, linestyle="" if active else "-", label=title)
    found = best(runs, "cohort", ASKED, asked)
    ax.plot([found.bought], [found.mean], color=colors[0], marker="*", markersize=11, linestyle="", label="cohort as it asks")
    ax.set_xscale("log")
    ticks = list(of.values())
    ax.set_xticks(ticks, map(str, ticks), minor=False)
    ax.minorticks_off()
    ax.set(title=s.title, xlabel="labels", ylabel=MEASURES[s.measure].removeprefix(", ") or "accuracy on unseen examples")
    save(ax, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Quorate beside its peers at equal numbers of labels, as Markdown.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first split; the others follow")
    parser.add_argument("--only", default=",".join(SETS), help="sets, as spam-b,news")
    parser.add_argument("--runs", type=Path, default=ROOT / "build/label_curves.jsonl", help="results so far, JSON lines")
    parser.add_argument("--report", type=Path, help="write a Markdown page")
    parser.add_argument("--figures", type=Path, help="folder of the learning curves (needs matplotlib)")
    parser.add_argument("--smallest", action="store_true", help="one split of spam B, one or two settings of each peer: does it run at all")
    o = parser.parse_args()
    measured = origin()  # before the run: of the code that runs
    if o.smallest:
        spam = SETS["spam-b"]
        SETS["spam-b"] = dataclasses.replace(spam, labels=(40, 75), active=spam.active[-2:])
        for of_peer in (VW_RANDOM, PENALTIES, PENALTIES_OF_REFITS):
            of_peer[True] = of_peer[True][-1:]
        o.splits, o.only, o.runs = 1, "spam-b", Path(os.devnull)
    o.runs.parent.mkdir(parents=True, exist_ok=True)
    o.runs.touch()
    seeds = range(o.seed, o.seed + o.splits)
    runs = [json.loads(line) for line in o.runs.read_text().splitlines()]
    pages, choices, won, level, briefly = [], [], [], [], []
    for name in o.only.split(","):
        data = None
        for seed in seeds:
            done = {r["who"].split()[0] for r in runs if (r["set"], r["seed"]) == (name, seed)}
            if {"cohort", "vw", "sk"} <= done:
                continue
            asked = [r["bought"] for r in runs if (r["set"], r["seed"], r["who"], r["wanted"]) == (name, seed, "cohort", ASKED)]
            if data is None:
                data = Data(SETS[name])
                if isinstance(SETS[name].test, str):
                    data.whole = {(r["who"], r["setting"]): r["value"] for r in runs if r["set"] == name and r["wanted"] == ALL}
            with tempfile.TemporaryDirectory() as folder:
                split = Split(data, seed, o.program, Path(folder))
                split.asked = round(asked[0]) if asked else 0
                for peer, learn in (("cohort", split.cohort), ("vw", split.vw_runs), ("sk", split.sk_runs)):
                    if peer in done:
                        continue
                    start = time.process_time()
                    found = [{"set": name, "seed": seed, **run} for run in learn()]
                    runs += found
                    with o.runs.open("a") as out:
                        out.writelines(json.dumps(run) + "\n" for run in found)
                    print(f"{name}, seed {seed}, {peer}: {time.process_time() - start:.1f} s here", file=sys.stderr, flush=True)
        mine = [r for r in runs if r["set"] == name and r["seed"] in seeds]
        if SETS[name].brief:
            row, more_won = line(name, mine)
            briefly.append(row)
            won += more_won
            continue
        page, chosen, more_won, more_level = table(name, mine)
        pages.append(page)
        choices.append(chosen)
        won += more_won
        level += more_level
        if o.figures:
            draw(name, mine, o.figures / f"labels-{name}.svg")
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("vowpalwabbit", "scikit-learn", "numpy"))
    active = [r["bought"] < STARVED for r in runs if r["who"].endswith("active") and r["seed"] in seeds]
    filled = {
        "measured": measured,
        "versions": versions, "splits": o.splits, "seeds": f"{o.seed} to {seeds[-1]}", "starved": sum(active), "active": len(active),
        "won": "\n".join(won or ["- nowhere"]), "level": "\n".join(level or ["- nowhere"]), "tables": "\n".join(pages),
        "settings": "\n".join(choices), "brief": "\n".join([BRIEF, *briefly]),
    }  # fmt: skip
    text = PAGE.format(**filled)
    print(text, end="")
    if o.report:
        o.report.write_text(text)


if __name__ == "__main__":
    main()
