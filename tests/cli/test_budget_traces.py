"""Every step of a traced run of the kernel learners equals the literal references, replayed with the draws the trace recorded
and, for the random eviction, with the generator of the run.

A step may hang on the last bits of a number: scores that tie, a distance equal to eta, a margin of nearly 0. The reference
says so itself (`comparable`), and the same case is then taken with the next seed.
"""
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
import samples
from test_traces import GRAPHS

from program import one_in
from reference import budget, common, generator
from reference.replay import replay

K, N, PASSES = 4, 60, 2
NEAR = dict(rel=1e-6, abs=1e-8)
SEEDS = range(1, 41)


@dataclass
class Data:
    """A data file, how it is read, and the instances the references see."""
    name: str
    text: str
    options: list
    tasks: list
    labels: list
    x: list


def dense(d=3, seed=31, noise=1.5, **prepare):
    rows = samples.rows(N, K, d, seed=seed, noise=noise)
    options = [f"--no-{name}" for name in prepare]
    return Data("data.csv", samples.csv(rows), options, [int(r.task[1:]) for r in rows], [int(r.label) for r in rows],
                [common.prepare(list(r.x.values()), **prepare) for r in rows])


UNIT = dense()
RAW = dense(d=5, normalize=False)

KERNELS = {
    "gaussian": ("gaussian(gamma=0.5)", budget.gaussian(0.5)),
    "polynomial": ("polynomial(degree=2, offset=0.5)", budget.polynomial(2, 0.5)),
    "square": ("polynomial(degree=2)", budget.polynomial(2, 1.0)),
    "linear": ("linear", budget.linear()),
}
QUERIES = {"always": common.always, "margin(b=1)": common.margin(1.0)}


class Drawing(budget.BudgetRandom):
    """Draws where the program draws: for the query of every example, then for an eviction."""

    def __init__(self, *args, run=1, **kwargs):
        super().__init__(*args, **kwargs)
        self.generator = generator.of_run(run)

    def ask(self, task, margin, draw):
        if draw is not None:
            assert draw == self.generator.uniform()
        return super().ask(task, margin, draw)

    def mistake(self, task, x, y, draw):
        slot = (self.generator.below(self.B) + 0.5) / self.B if len(self.X) >= self.B else None
        super().mistake(task, x, y, slot)


# Name: the name in a spec, the reference.
LEARNERS = {
    "perceptron": ("kernel-perceptron", budget.KernelPerceptron),
    "random": ("budget-random", Drawing),
    "forgetron": ("budget-forgetron", budget.BudgetForgetron),
    "projectron": ("budget-projectron", budget.BudgetProjectron),
    "shared": ("budget-projectron-shared", budget.BudgetProjectronShared),
}


@dataclass
class Case:
    learner: str
    kernel: str
    graph: str = "complete"
    query: str = "always"
    B: int = 7
    eta: float | None = None  # projectrons only

    def spec(self):
        words = [f"kernel={KERNELS[self.kernel][0]}", f"graph={GRAPHS[self.graph][0]}", f"query={self.query}"]
        words += [f"budget={self.B}"] if self.learner != "perceptron" else []
        words += [f"eta={self.eta}"] if self.eta is not None else []
        return f"{LEARNERS[self.learner][0]}({', '.join(words)})"

    def reference(self, seed):
        options = {"query": QUERIES[self.query]}
        if self.learner != "perceptron":
            options["B"] = self.B or math.inf
        if self.eta is not None:
            options["eta"] = self.eta
        if self.learner == "random":
            options["run"] = seed
        return LEARNERS[self.learner][1](K, KERNELS[self.kernel][1], GRAPHS[self.graph][2], **options)


def trace(quorate, data, spec, graph, *options):
    (quorate.folder / data.name).write_text(data.text)
    if GRAPHS[graph][1]:
        (quorate.folder / "graph.csv").write_text(GRAPHS[graph][1])
    quorate.ok("simulate", "--data", data.name, *data.options, "--learner", spec, "--trace", "trace", "--quiet", *options)
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


class Counted:
    """A replay of the reference, with what its steps came to. Where `tilt` is not 0, its scores and distances are off by parts
    of 1e-7, so that what is as good as equal falls one way with 1 and the other way with -1."""

    def __init__(self, model, steps, labels, tilt=0):
        self.evicted = self.projected = 0
        self.phi = 1.0  # the smallest
        project, distances = budget.project, budget.distances

        def project_and_count(H, k, kk):
            alpha, distance = project(H, k, kk)
            distance *= 1.0 + 1e-7 * tilt
            self.projected += distance <= model.eta
            return alpha, distance

        def remove_and_count(r):
            self.evicted += 1
            self.phi = min(self.phi, getattr(model, "phi", 1.0))
            type(model).remove(model, r)

        model.remove = remove_and_count
        budget.project = project_and_count
        budget.distances = lambda H: [d * (1.0 + 1e-7 * tilt * j) for j, d in enumerate(distances(H))]
        try:
            self.rounds = replay(model, steps, labels)
        finally:
            budget.project, budget.distances = project, distances


def comparable(case, seed, steps, rounds, labels):
    """Whether no step of the reference hangs on the last bits of a number."""
    for s, r in zip(steps, rounds):
        if 0 < abs(r["margin"]) < 1e-6 or (s["draw"] is not None and abs(s["draw"] - r["probability"]) < 1e-6):
            return False
    if case.eta is None:
        return True
    one, other = (Counted(case.reference(seed), steps, labels, tilt).rounds for tilt in (1, -1))
    return all((a["asked"], a["updated"]) == (b["asked"], b["updated"])
               and a["margin"] == pytest.approx(b["margin"], **NEAR) for a, b in zip(one, other))


def check(data, lines, rounds):
    assert len(lines) == len(rounds)
    for n, (t, r) in enumerate(zip(lines, rounds)):
        assert t["task"] == f"t{data.tasks[t['example']]}"
        assert t["margin"] == pytest.approx(r["margin"], **NEAR), f"step {n}"
        assert abs(r["margin"]) > 1e-12 or abs(t["margin"]) <= 1e-12, f"step {n}"
        assert t["probability"] == pytest.approx(r["probability"], **NEAR), f"step {n}"
        assert (t["asked"], t["updated"]) == (r["asked"], r["updated"]), f"step {n}"
        assert t["label"] == (data.labels[t["example"]] if t["asked"] else None), f"step {n}"


def compared(quorate, data, case, labels=None, seeds=SEEDS):
    """A trace that equals the reference, and what the reference did."""
    for seed in seeds:
        lines = trace(quorate, data, case.spec(), case.graph, "--passes", PASSES, "--seed", seed,
                      *(() if labels is None else ("--labels", labels)))
        order = [t["example"] for t in lines]
        assert sorted(order) == sorted(list(range(len(data.x))) * PASSES)
        assert [t["pass"] for t in lines] == [p for p in range(PASSES) for _ in data.x]
        assert all((t["draw"] is None) == (case.query == "always") for t in lines)
        steps = [{"task": data.tasks[e], "x": data.x[e], "label": data.labels[e], "draw": t["draw"]}
                 for e, t in zip(order, lines)]
        model = case.reference(seed)
        counted = Counted(model, steps, labels)
        if comparable(case, seed, steps, counted.rounds, labels):
            check(data, lines, counted.rounds)
            assert {t["updated"] for t in lines if t["asked"]} == {True, False}
            return lines, counted, model
    raise AssertionError(f"no seed of {seeds} gives steps that can be compared")


VARIANTS = [("perceptron", None), ("random", None), ("forgetron", None), ("projectron", 0.01), ("projectron", 0.5),
            ("shared", 0.01), ("shared", 0.5)]


def did_what_it_is_for(case, lines, counted, model):
    if case.learner == "perceptron":
        assert len(model.X) > 14
        return
    assert len(model.X) <= case.B
    if case.query != "always":
        assert not all(t["asked"] for t in lines)
    if case.eta is None or case.eta < 0.1:
        assert counted.evicted >= 20
    else:
        assert counted.projected >= 2
    if case.learner == "forgetron":
        assert counted.phi < 0.5


@pytest.mark.parametrize("learner, eta, kernel, graph, query", one_in(4, VARIANTS, ["gaussian", "polynomial", "linear"], GRAPHS, QUERIES))
def test_every_step_equals_the_literal_reference(quorate, learner, eta, kernel, graph, query):
    case = Case(learner, kernel, graph, query, eta=eta)
    if (learner, kernel) == ("shared", "linear"):
        case.B = 3  # one less than there are features
    if (learner, kernel, eta) == ("projectron", "polynomial", 0.5):
        case.eta = 0.8  # the instances are longer
    did_what_it_is_for(case, *compared(quorate, UNIT, case))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("learner, eta", VARIANTS)
def test_after_the_last_label_every_step_only_predicts(quorate, learner, eta, query):
    lines, _, model = compared(quorate, UNIT, Case(learner, "gaussian", "edges", query, eta=eta), labels=25)
    assert sum(t["asked"] for t in lines) == 25
    assert not any(t["asked"] for t in lines[80:]) and len(model.X) >= 5


@pytest.mark.parametrize("graph", ["complete", "edges"])
@pytest.mark.parametrize("learner, eta", VARIANTS)
def test_instances_of_any_length_equal_the_literal_reference(quorate, learner, eta, graph):
    case = Case(learner, "square", graph, eta=3.0 if eta == 0.5 else eta)
    lengths = [budget.polynomial(2, 1.0)(x, x) for x in RAW.x]
    assert min(lengths) < 15 and max(lengths) > 150
    lines, counted, model = compared(quorate, RAW, case)
    if learner != "perceptron":
        assert counted.evicted >= 10 and len(model.X) == case.B
    if learner == "forgetron":
        assert counted.phi < 0.9 and model.scale > 50


@pytest.mark.parametrize("B", [0, 1, 2, 25])
@pytest.mark.parametrize("learner, eta", VARIANTS[1:])
def test_budgets_small_and_large_equal_the_literal_reference(quorate, learner, eta, B):
    _, _, model = compared(quorate, UNIT, Case(learner, "gaussian", "edges", "margin(b=1)", B, eta))
    if B == 0:
        assert len(model.X) > 25 or eta == 0.5 and len(model.X) > 7
    else:
        assert len(model.X) == B or (B, eta) == (25, 0.5)


def test_each_run_evicts_with_the_draws_of_its_own_seed(quorate):
    case = Case("random", "gaussian", "complete", "margin(b=1)")
    lines = trace(quorate, UNIT, case.spec(), case.graph, "--runs", 2, "--passes", PASSES, "--seed", 8)
    for run, seed in enumerate((8, 9)):
        part = [t for t in lines if t["run"] == run]
        steps = [{"task": UNIT.tasks[t["example"]], "x": UNIT.x[t["example"]], "label": UNIT.labels[t["example"]],
                  "draw": t["draw"]} for t in part]
        counted = Counted(case.reference(seed), steps, None)
        assert comparable(case, seed, steps, counted.rounds, None), "take another seed"
        assert counted.evicted >= 20
        check(UNIT, part, counted.rounds)


@pytest.mark.parametrize("learner", ["projectron", "shared"])
def test_of_equal_scores_the_oldest_leaves(quorate, learner):
    """Three orthogonal instances of length 1: every score is 1."""
    rows = [samples.Row(f"e{i}", f"t{i}", "1", {f"f{j}": float(i == j) for j in range(3)}) for i in range(3)]
    (quorate.folder / "data.csv").write_text(samples.csv(rows))
    spec = f"{LEARNERS[learner][0]}(budget=2, kernel=linear, graph=disconnected)"
    quorate.ok("train", "--data", "data.csv", "--model", "m", "--learner", spec, "--no-bias")
    lines = quorate.ok("predict", "--data", "data.csv", "--model", "m").lines()
    assert [line["margin"] for line in lines] == [0.0, 1.0, 1.0]


# ---- sparse instances

def sparse(name, rows, text, tokens):
    """A set whose reference instances have the features that occur, and the constant."""
    names = sorted({f for t in tokens for f in t})
    x = [common.prepare([t.get(f, 0.0) for f in names]) for t in tokens]
    return Data(name, text, [], [int(r.task[1:]) for r in rows], [int(r.label) for r in rows], x)


def far_rows(start=0, seed=5):
    """From row `start` on instances have three far features besides the ones of `samples.rows`; before it none."""
    rng = np.random.default_rng(seed)
    rows = samples.rows(N, K, 5, seed=33, noise=1.5)
    # Around the number of hashed features, and where the last of them are.
    pool = [7, 8, 1000, 65535, 65536, 99991, 131072, 200003, 262142, 262143, 262144]
    for row in rows[start:]:
        for id in sorted(rng.choice(pool, 3, replace=False)):
            row.x[f"f{id}"] = float(rng.normal())
        if start == 0:  # really sparse
            for j in rng.choice(5, 3, replace=False):
                del row.x[f"f{j + 1}"]
    return rows


def words():
    """Texts of eight words that speak for or against, or neither; a word may come more than once."""
    rng = np.random.default_rng(7)
    vocabulary = [a + b for a in ("ba", "do", "ki", "lu", "me", "ri") for b in ("n", "s", "t", "x", "l")]
    weight = rng.normal(size=30) + 0.5 * rng.normal(size=(K, 30))
    rows, tokens = [], []
    for i in range(N):
        task = i % K
        said = rng.integers(30, size=8)
        tokens.append({vocabulary[w]: float(np.sum(said == w)) for w in said})
        label = "1" if weight[task][said].sum() + 3.0 * rng.normal() > 8 * weight[task].mean() else "-1"
        rows.append(samples.Row(f"e{i}", f"t{task}", label, {}))
        rows[-1].text = " ".join(vocabulary[w] for w in said)
    text = "".join(json.dumps({"id": r.id, "task": r.task, "label": r.label, "text": r.text}) + "\n" for r in rows)
    return sparse("data.jsonl", rows, text, tokens)


def svmlight(rows):
    return sparse("data.svm", rows, samples.svmlight(rows), [r.x for r in rows])


SPARSE = {"text": words(), "far": svmlight(far_rows()), "mixed": svmlight(far_rows(start=20))}


@pytest.mark.parametrize("kind, kernel, learner, eta, graph",
                         one_in(3, SPARSE, ["square", "gaussian", "linear"], VARIANTS, ["complete", "disconnected"]))
def test_sparse_instances_equal_the_literal_reference(quorate, kind, learner, eta, kernel, graph):
    case = Case(learner, kernel, graph, "margin(b=1)", eta=eta)
    _, counted, model = compared(quorate, SPARSE[kind], case)
    if learner != "perceptron":
        assert counted.evicted + counted.projected >= 8 and len(model.X) == case.B


@pytest.mark.parametrize("learner, eta", VARIANTS)
@pytest.mark.parametrize("kernel", ["square", "gaussian", "linear"])
def test_far_features_may_come_after_dense_instances(quorate, learner, eta, kernel):
    """In the order of the file: 20 instances of five features, then 40 with far ones; what is learned from the first of
    them is what the reference learned."""
    data, case = SPARSE["mixed"], Case(learner, kernel, "edges", eta=eta)
    lines = data.text.splitlines(keepends=True)
    (quorate.folder / "all.svm").write_text(data.text)
    (quorate.folder / "graph.csv").write_text(GRAPHS["edges"][1])
    steps = [{"task": k, "x": x, "label": y, "draw": None} for k, x, y in zip(data.tasks, data.x, data.labels)]
    for n in (15, 20, 21, 30, 60):
        model = case.reference(1)
        rounds = Counted(model, steps[:n], None).rounds
        assert comparable(case, 1, steps[:n], rounds, None), "a step too near to compare; take another seed"
        (quorate.folder / "first.svm").write_text("".join(lines[:n]))
        quorate.ok("train", "--data", "first.svm", "--model", f"m{n}", "--learner", case.spec(), "--quiet")
        found = quorate.ok("predict", "--data", "all.svm", "--model", f"m{n}").lines()
        known = set(data.tasks[:n])
        assert known == set(range(K))
        expected = [model.margin(s["task"], s["x"]) for s in steps]
        assert [line["margin"] for line in found] == pytest.approx(expected, **NEAR), f"after {n} examples"
