"""Every step of a traced run equals the literal reference learners, replayed with the draws the trace recorded."""
import json

import pytest
import samples

from reference import common
from reference.amtl import Amtl
from reference.cmtl import Cmtl
from reference.perceptron import Perceptron
from reference.replay import replay

K, D, N = 4, 6, 50
ROWS = samples.rows(N, K, D, seed=20)
X = [common.prepare(list(r.x.values())) for r in ROWS]
TASKS = [int(r.task[1:]) for r in ROWS]
LABELS = [int(r.label) for r in ROWS]

GRAPHS = {
    "complete": ("complete", None, common.complete(K)),
    "disconnected": ("disconnected", None, common.disconnected(K)),
    # t1 is a clique of one, t3 is not named: alone.
    "cliques": ("cliques(file=graph.csv)", "task,group\nt2,left\nt1,right\nt0,left\n", common.cliques([0, 1, 0, 2])),
    # An edge given twice, once the other way round, is one edge; t3 hangs on nothing.
    "edges": ("edges(file=graph.csv)", "from,to\nt1,t0\nt2,t1\nt0,t1\n", common.edges(K, [(0, 1), (1, 2)])),
}
QUERIES = {"always": common.always, "random(p=0.5)": common.random(0.5), "margin(b=1)": common.margin(1.0)}
LEARNERS = {"perceptron": Perceptron, "cmtl": Cmtl, "amtl": Amtl}

CASES = [("perceptron", None, q) for q in QUERIES]
CASES += [(learner, g, q) for learner in ("cmtl", "amtl") for g in GRAPHS for q in QUERIES]
CASES += [("amtl", g, "similarity") for g in GRAPHS]


def spec(learner, graph, query):
    return f"{learner}(query={query})" if graph is None else f"{learner}(graph={GRAPHS[graph][0]}, query={query})"


def reference(learner, graph, query):
    matrix = {} if graph is None else {"Ainv": GRAPHS[graph][2]}
    return LEARNERS[learner](K, D + 1, **matrix, query=QUERIES.get(query, query))


def trace(quorate, learner, graph=None, query="always", *options):
    (quorate.folder / "data.csv").write_text(samples.csv(ROWS))
    if graph and GRAPHS[graph][1]:
        (quorate.folder / "graph.csv").write_text(GRAPHS[graph][1])
    quorate.ok("simulate", "--data", "data.csv", "--learner", spec(learner, graph, query), "--trace", "trace", *options)
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def steps(lines):
    return [{"task": TASKS[t["example"]], "x": X[t["example"]], "label": LABELS[t["example"]], "draw": t["draw"]}
            for t in lines]


def check(lines, rounds):
    assert len(lines) == len(rounds)
    for n, (t, r) in enumerate(zip(lines, rounds)):
        assert t["task"] == ROWS[t["example"]].task
        assert r["margin"] == 0 or abs(r["margin"]) > 1e-5, f"step {n}: a margin too near 0 to compare; take another seed"
        if t["draw"] is not None:
            assert 0 <= t["draw"] < 1
            assert abs(t["draw"] - r["probability"]) > 1e-5, f"step {n}: a draw too near to compare; take another seed"
        assert t["margin"] == pytest.approx(r["margin"], rel=1e-5, abs=1e-6), f"step {n}"
        assert t["probability"] == pytest.approx(r["probability"], rel=1e-5, abs=1e-6), f"step {n}"
        assert (t["asked"], t["updated"]) == (r["asked"], r["updated"]), f"step {n}"
        assert t["label"] == (LABELS[t["example"]] if t["asked"] else None), f"step {n}"


@pytest.mark.parametrize("labels", [None, 10])
@pytest.mark.parametrize("learner, graph, query", CASES)
def test_every_step_equals_the_literal_reference(quorate, learner, graph, query, labels):
    lines = trace(quorate, learner, graph, query, *(() if labels is None else ("--labels", labels)))
    order = [t["example"] for t in lines]
    assert sorted(order) == list(range(N)) and order != sorted(order)
    assert all((t["run"], t["pass"]) == (0, 0) for t in lines)
    for t in lines:
        assert (t["draw"] is None) == (query == "always")
    check(lines, replay(reference(learner, graph, query), steps(lines), labels))
    # The run went through every branch.
    asked = [t for t in lines if t["asked"]]
    assert {t["updated"] for t in asked} == {True, False}
    wanted = [t["draw"] is None or t["draw"] < t["probability"] for t in lines]
    if labels is None:
        assert [t["asked"] for t in lines] == wanted
        assert query == "always" or len(asked) < N
    else:
        assert len(asked) == labels < sum(wanted)
        spent = max(n for n, t in enumerate(lines) if t["asked"]) + 1
        assert [t["asked"] for t in lines[:spent]] == wanted[:spent]


@pytest.mark.parametrize("learner, graph, query", [("perceptron", None, "margin(b=1)"), ("cmtl", "edges", "random(p=0.5)"),
                                                   ("amtl", "complete", "similarity")])
def test_passes_go_on_learning_and_runs_start_anew(quorate, learner, graph, query):
    lines = trace(quorate, learner, graph, query, "--runs", 2, "--passes", 3)
    assert [(t["run"], t["pass"]) for t in lines] == [(r, p) for r in range(2) for p in range(3) for _ in range(N)]
    parts = [lines[i:i + N] for i in range(0, 6 * N, N)]
    orders = [[t["example"] for t in part] for part in parts]
    assert all(sorted(order) == list(range(N)) for order in orders)
    assert all(a != b for i, a in enumerate(orders) for b in orders[:i])
    for run in (lines[:3 * N], lines[3 * N:]):
        check(run, replay(reference(learner, graph, query), steps(run)))


def test_learners_of_one_seed_see_one_order_and_one_sequence_of_draws(quorate):
    first = trace(quorate, "perceptron", None, "margin(b=1)")
    for learner, graph, query in CASES:
        other = trace(quorate, learner, graph, query)
        assert [t["example"] for t in other] == [t["example"] for t in first]
        if query != "always":
            assert [t["draw"] for t in other] == [t["draw"] for t in first]
    changed = trace(quorate, "perceptron", None, "margin(b=1)", "--seed", 2)
    assert [t["example"] for t in changed] != [t["example"] for t in first]
    assert [t["draw"] for t in changed] != [t["draw"] for t in first]


@pytest.mark.parametrize("option, prepare", [("--no-bias", {"bias": False}), ("--no-normalize", {"normalize": False})])
def test_constant_feature_and_unit_length_can_be_switched_off(quorate, option, prepare):
    lines = trace(quorate, "cmtl", "complete", "margin(b=1)", option)
    x = [common.prepare(list(r.x.values()), **prepare) for r in ROWS]
    plain = [{**s, "x": x[t["example"]]} for s, t in zip(steps(lines), lines)]
    check(lines, replay(Cmtl(K, len(x[0]), query=common.margin(1.0)), plain))
