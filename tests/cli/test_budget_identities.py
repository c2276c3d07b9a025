"""Kernel learners that must come to the same: without a budget, with the linear kernel, with one task."""
import json

import pytest
import samples
from test_traces import GRAPHS

K, N = 4, 60
ROWS = samples.rows(N, K, 3, seed=31, noise=1.5)
ALONE = [samples.Row(r.id, "t0", r.label, r.x) for r in samples.rows(N, 1, 3, seed=31, noise=1.5)]
KERNELS = ["gaussian", "polynomial(degree=3)", "linear"]
BUDGETED = ["budget-random", "budget-forgetron", "budget-projectron", "budget-projectron-shared"]
FEATURES = 4  # three and the constant


def run(quorate, learner, *options, rows=ROWS, graph=None):
    """The bytes of a trace of three passes."""
    (quorate.folder / "data.csv").write_text(samples.csv(rows))
    if graph is not None:
        (quorate.folder / "graph.csv").write_text(graph)
    quorate.ok("simulate", "--data", "data.csv", "--learner", learner, "--passes", 3, "--trace", "trace", "--quiet", *options)
    text = (quorate.folder / "trace").read_text()
    assert text.count("\n") == 3 * len(rows)
    return text


def steps(text):
    return [json.loads(line) for line in text.splitlines()]


def same(one, other, **near):
    """The same steps, with margins as near as that; no step may hang on less."""
    for n, (a, b) in enumerate(zip(one, other, strict=True)):
        assert a["margin"] == pytest.approx(b["margin"], **near), f"step {n}"
        for t in (a, b):
            assert t["margin"] == 0 or abs(t["margin"]) > near["abs"], f"step {n}: a margin too near 0; take another seed"
            if t["draw"] is not None:
                assert abs(t["draw"] - t["probability"]) > near["abs"], f"step {n}: a draw too near; take another seed"
        for key in ("example", "task", "draw", "asked", "updated", "label"):
            assert a[key] == b[key], f"step {n}"


@pytest.mark.parametrize("query", ["always", "margin(b=1)"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("budget", [0, 1000])
@pytest.mark.parametrize("learner", ["budget-random", "budget-forgetron"])
def test_a_budget_never_reached_leaves_the_kernel_perceptron(quorate, learner, budget, kernel, query):
    rest = f"kernel={kernel}, graph=edges(file=graph.csv), query={query})"
    graph = GRAPHS["edges"][1]
    plain = run(quorate, "kernel-perceptron(" + rest, graph=graph)
    assert run(quorate, f"{learner}(budget={budget}, " + rest, graph=graph) == plain
    assert run(quorate, f"{learner}(budget=7, " + rest, graph=graph) != plain


@pytest.mark.parametrize("query", ["always", "margin(b=1)"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_linear_kernel_perceptron_is_the_linear_learner(quorate, graph, query):
    rest = f"graph={GRAPHS[graph][0]}, query={query})"
    kernel = steps(run(quorate, "kernel-perceptron(kernel=linear, " + rest, graph=GRAPHS[graph][1]))
    linear = steps(run(quorate, "cmtl(" + rest, graph=GRAPHS[graph][1]))
    same(kernel, linear, rel=1e-4, abs=1e-5)
    other = "complete" if graph == "disconnected" else "disconnected"
    assert run(quorate, f"cmtl(graph={other}, query={query})") != run(quorate, "cmtl(" + rest, graph=GRAPHS[graph][1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", ["kernel-perceptron", *BUDGETED])
def test_the_graph_of_one_task_does_not_matter(quorate, learner, kernel):
    budget = "" if learner == "kernel-perceptron" else ", budget=7"
    graphs = {"complete": None, "disconnected": None, "cliques(file=graph.csv)": "task,group\nt0,a\n",
              "edges(file=graph.csv)": "from,to\n"}
    traces = [run(quorate, f"{learner}(kernel={kernel}, graph={g}, query=margin(b=1){budget})", rows=ALONE, graph=text)
              for g, text in graphs.items()]
    assert len(set(traces)) == 1
    assert any(t["updated"] for t in steps(traces[0])[N:])
    # With four tasks it does.
    assert len({run(quorate, f"{learner}(kernel={kernel}, graph={g}{budget})") for g in ("complete", "disconnected")}) == 2


@pytest.mark.parametrize("query", ["always", "margin(b=1)"])
@pytest.mark.parametrize("eta", [0.01, 0.5])
@pytest.mark.parametrize("budget", [0, 2, 3, 7])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_two_projectrons_of_one_task_are_one(quorate, kernel, budget, eta, query):
    rest = f"(budget={budget}, kernel={kernel}, eta={eta}, query={query})"
    one, other = (steps(run(quorate, f"budget-projectron{shared}" + rest, rows=ALONE)) for shared in ("", "-shared"))
    same(one, other, rel=1e-9, abs=1e-9)
    tasks = [run(quorate, f"budget-projectron{shared}" + rest) for shared in ("", "-shared")]
    assert tasks[0] != tasks[1]


@pytest.mark.parametrize("query", ["always", "margin(b=1)"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("learner, rank", [("budget-projectron", FEATURES * K), ("budget-projectron-shared", FEATURES)])
def test_instances_that_span_everything_are_enough(quorate, learner, rank, graph, query):
    """The linear kernel has as many directions as there are features (times tasks, if each has its own): nobody leaves a set
    that large, and a projection loses nothing."""
    rest = f"kernel=linear, graph={GRAPHS[graph][0]}, query={query}"
    traces = {budget: run(quorate, f"{learner}(budget={budget}, eta=1e-6, {rest})", graph=GRAPHS[graph][1])
              for budget in (0, rank, rank - 1)}
    assert traces[rank] == traces[0] != traces[rank - 1]
    plain = run(quorate, f"kernel-perceptron({rest})", graph=GRAPHS[graph][1])
    assert sum(t["updated"] for t in steps(plain)) > 2 * rank
    same(steps(traces[0]), steps(plain), rel=1e-4, abs=1e-5)
