"""Models of the kernel learners: saved and gone on with they are the ones never interrupted, and they predict."""
import json

import numpy as np
import pytest
import samples
from test_budget_traces import Case, Counted, NEAR, comparable, words
from test_traces import GRAPHS

from program import one_in
from reference import common

ROWS = samples.rows(160, 4, 3, seed=31, noise=1.0)
NEW = samples.rows(240, 4, 3, seed=31, noise=1.0)[160:]  # of the same tasks
LEARNERS = {"perceptron": None, "random": None, "forgetron": None, "projectron": 0.01, "shared": 0.01}
SEED = 5


@pytest.fixture
def folder(quorate):
    at = quorate.folder
    parts = {"all": ROWS, "first": ROWS[:80], "second": ROWS[80:], "new": NEW, "early": ROWS[:3], "middle": ROWS[3:120],
             "late": ROWS[120:]}
    for name, part in parts.items():
        (at / f"{name}.csv").write_text(samples.csv(part))
    (at / "graph.csv").write_text(GRAPHS["edges"][1])
    return at


def train(quorate, model, *files, start=()):
    for n, file in enumerate(files):
        quorate.ok("train", "--data", file, "--model", model, "--quiet", *(start if n == 0 else ()))
    return (quorate.folder / model).read_bytes()


def start(case):
    return ["--learner", case.spec(), "--seed", SEED]


@pytest.mark.parametrize("learner, kernel, B, query",
                         one_in(3, LEARNERS, ["gaussian", "polynomial", "linear"], [0, 7], ["always", "margin(b=1)"]))
def test_two_halves_give_the_bytes_of_the_whole(quorate, folder, learner, kernel, B, query):
    case = Case(learner, kernel, "edges", query, B, LEARNERS[learner])
    whole = train(quorate, "whole", "all.csv", start=start(case))
    assert train(quorate, "halves", "first.csv", start=start(case)) != whole
    assert train(quorate, "halves", "second.csv") == whole
    assert train(quorate, "thirds", "early.csv", "middle.csv", "late.csv", start=start(case)) == whole


@pytest.mark.parametrize("learner", ["random", "forgetron", "projectron", "shared"])
def test_what_a_budget_holds_does_not_grow(quorate, folder, learner):
    case = Case(learner, "gaussian", "complete", eta=LEARNERS[learner])
    half = train(quorate, "m", "first.csv", start=[*start(case), "--keep-labels", 0])
    assert len(train(quorate, "m", "second.csv", "all.csv", "all.csv")) <= len(half) + 64
    case.B = 0
    half = train(quorate, "n", "first.csv", start=[*start(case), "--keep-labels", 0])
    assert len(train(quorate, "n", "second.csv", "all.csv", "all.csv")) > len(half) + 64


@pytest.mark.parametrize("learner, kernel", one_in(3, LEARNERS, ["gaussian", "square", "linear"]))
def test_two_halves_of_text_give_the_bytes_of_the_whole(quorate, folder, learner, kernel):
    data = words()
    lines = data.text.splitlines(keepends=True)
    for name, part in {"all": lines, "first": lines[:30], "second": lines[30:]}.items():
        (folder / f"{name}.jsonl").write_text("".join(part))
    case = Case(learner, kernel, "edges", eta=LEARNERS[learner])
    whole = train(quorate, "whole", "all.jsonl", start=start(case))
    assert train(quorate, "halves", "first.jsonl", "second.jsonl", start=start(case)) == whole
    model = case.reference(SEED)
    steps = [{"task": k, "x": x, "label": y, "draw": None} for k, x, y in zip(data.tasks, data.x, data.labels)]
    rounds = Counted(model, steps, None).rounds
    assert comparable(case, SEED, steps, rounds, None), "a step too near to compare; take another seed of the data"
    found = quorate.ok("predict", "--data", "all.jsonl", "--model", "halves").lines()
    expected = [model.margin(s["task"], s["x"]) for s in steps]
    assert [line["margin"] for line in found] == pytest.approx(expected, **NEAR)


@pytest.mark.parametrize("learner, graph", one_in(2, LEARNERS, GRAPHS))
def test_a_model_predicts_what_the_reference_does(quorate, folder, learner, graph):
    if GRAPHS[graph][1]:
        (folder / "graph.csv").write_text(GRAPHS[graph][1])
    case = Case(learner, "gaussian", graph, eta=LEARNERS[learner])
    steps = [{"task": int(r.task[1:]), "x": common.prepare(list(r.x.values())), "label": int(r.label), "draw": None}
             for r in ROWS]
    model = case.reference(SEED)
    rounds = Counted(model, steps, None).rounds
    assert comparable(case, SEED, steps, rounds, None), "a step too near to compare; take another seed of the data"
    before = train(quorate, "m", "first.csv", "second.csv", start=start(case))
    lines = quorate.ok("predict", "--data", "new.csv", "--model", "m").lines()
    assert (folder / "m").read_bytes() == before
    for line, r in zip(lines, NEW, strict=True):
        margin = model.margin(int(r.task[1:]), common.prepare(list(r.x.values())))
        assert (line["id"], line["task"]) == (r.id, r.task)
        assert line["margin"] == pytest.approx(margin, **NEAR)
        assert line["label"] == ("1" if line["margin"] > 0 else "-1")
    # What inspect says is what the reference did.
    found = quorate.ok("inspect", "m", "--json").json()
    assert found["learner"] == quorate.ok("inspect", "m").out.splitlines()[0]
    assert found["learner"].startswith(case.spec().split("(")[0] + "(")
    assert (found["examples"], found["labels"]["bought"]) == (160, 160)
    assert found["updates"] == sum(r["updated"] for r in rounds)
    by_task = {f"t{k}": sum(s["task"] == k and r["updated"] for s, r in zip(steps, rounds)) for k in range(4)}
    assert {t["task"]: t["updates"] for t in found["tasks"]} == by_task
    assert {t["task"]: t["mistakes"] for t in found["tasks"]} == {
        f"t{k}": sum(s["task"] == k and (r["margin"] > 0) != (s["label"] > 0) for s, r in zip(steps, rounds)) for k in range(4)}
    order = [int(t["task"][1:]) for t in found["tasks"]]
    expected = model.Ainv[np.ix_(order, order)]
    assert np.allclose(found["influence"], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("learner", ["budget-random", "budget-forgetron", "budget-projectron", "budget-projectron-shared"])
def test_the_number_of_support_vectors_is_shown(quorate, folder, learner):
    quorate.ok("train", "--data", "first.csv", "--model", "m", "--learner", f"{learner}(budget=7)")
    assert quorate.ok("inspect", "m", "--json").json()["support_vectors"] == 7
    assert "updates; 7 support vectors; " in quorate.ok("inspect", "m").out
    quorate.ok("simulate", "--data", "first.csv", "--learner", f"{learner}(budget=7)", "--trace", "trace")
    sizes = [json.loads(line)["support_vectors"] for line in (folder / "trace").read_text().splitlines()]
    assert max(sizes) == sizes[-1] == 7 and all(0 <= b - a <= 1 for a, b in zip(sizes, sizes[1:], strict=False))
    quorate.ok("train", "--data", "first.csv", "--model", "p", "--learner", "perceptron")
    assert "support_vectors" not in quorate.ok("inspect", "p", "--json").json()
