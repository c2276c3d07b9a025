"""Sanity of the reference learners themselves: hand-worked rounds, identities, theory."""
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reference import common  # noqa: E402
from reference.amtl import Amtl  # noqa: E402
from reference.cmtl import Cmtl  # noqa: E402
from reference.common import cliques, complete, disconnected, edges, prepare  # noqa: E402
from reference.perceptron import Perceptron  # noqa: E402
from reference.replay import replay  # noqa: E402

E1, X2, X3 = [1.0, 0.0], [0.6, 0.8], [0.8, 0.6]


def step(task, x, label, draw=None):
    return {"task": task, "x": x, "label": label, "draw": draw}


def stream(seed, K, n, d=4, draws=True):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=d) + 0.5 * rng.normal(size=(K, d))
    steps = []
    for _ in range(n):
        task, x = int(rng.integers(K)), rng.normal(size=d)
        label = common.predict(target[task] @ x + 0.3 * rng.normal())
        steps.append(step(task, prepare(x).tolist(), label, float(rng.random()) if draws else None))
    return steps


def random_graph(rng, k, density):
    return [(i, j) for i in range(k) for j in range(i) if rng.random() < density]


def same(a, b, tolerance=1e-12):
    assert len(a) == len(b)
    for s, t in zip(a, b):
        assert (s["asked"], s["updated"]) == (t["asked"], t["updated"])
        assert s["margin"] == pytest.approx(t["margin"], abs=tolerance)
        assert s["probability"] == pytest.approx(t["probability"], abs=tolerance)


def check(rounds, margins, probabilities, asked, updated):
    assert [r["margin"] for r in rounds] == pytest.approx(margins, abs=2e-6)
    assert [r["probability"] for r in rounds] == pytest.approx(probabilities, abs=2e-6)
    assert [r["asked"] for r in rounds] == asked
    assert [r["updated"] for r in rounds] == updated


# ---- parts

def test_prepare_appends_the_constant_before_it_scales():
    assert prepare([2.0, 2.0]).tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])  # norm of (2, 2, 1) is 3
    assert prepare([3.0, 4.0], bias=False).tolist() == pytest.approx([0.6, 0.8])
    assert prepare([3.0, 4.0], normalize=False).tolist() == [3.0, 4.0, 1.0]
    assert prepare([0.0, 0.0]).tolist() == [0.0, 0.0, 1.0]
    assert prepare([0.0, 0.0], bias=False).tolist() == [0.0, 0.0]


def test_query_rules_ask_when_the_draw_is_below_the_probability():
    assert common.always(5.0, None) == (1.0, True)
    assert common.random(0.5)(9.0, 0.49) == (0.5, True)
    assert common.random(0.5)(9.0, 0.5) == (0.5, False)
    assert common.random(0.0)(0.0, 0.0) == (0.0, False)
    assert common.margin(1.0)(-3.0, 0.25) == (0.25, False)  # 1 / (1 + 3)
    assert common.margin(2.0)(0.0, 0.999) == (1.0, True)  # a zero margin is always asked about
    for rule in (common.random(0.5), common.margin(1.0)):
        with pytest.raises(ValueError):
            rule(0.0, None)


def test_a_zero_margin_predicts_minus_one():
    assert [common.predict(p) for p in (0.1, 0.0, -0.0, -0.1)] == [1, -1, -1, -1]


# ---- three rounds by hand; K = 2, d = 2

def test_perceptron_three_rounds_by_hand():
    # 1: w0 = 0, p = 0, ask 1/(1+0) = 1;    y = +1, y p = 0: update, w0 = (1, 0)
    # 2: p = 0.6, ask 1/1.6 = 0.625;        y = -1: update, w0 = (1 - 0.6, -0.8) = (0.4, -0.8)
    # 3: p = 0.32 - 0.48 = -0.16, ask 1/1.16 = 0.862069;  y = -1 is right: asked, no update
    learner = Perceptron(2, 2, query=common.margin(1.0))
    rounds = replay(learner, [step(0, E1, 1, 0.9), step(0, X2, -1, 0.6), step(0, X3, -1, 0.8)])
    check(rounds, [0, 0.6, -0.16], [1, 0.625, 0.862069], [True] * 3, [True, True, False])
    assert learner.W == pytest.approx(np.array([[0.4, -0.8], [0, 0]]))


def test_cmtl_three_rounds_by_hand():
    # A^-1 = [[2, 1], [1, 2]] / 3
    # 1: task 0, p = 0, ask 1;  y = +1: update, w0 = (2/3, 0), w1 = (1/3, 0)
    # 2: task 1, p = 0.6/3 = 0.2, ask 1/1.2 = 0.833333;  y = -1: update,
    #    w0 = (2/3 - 0.6/3, -0.8/3) = (7, -4)/15;  w1 = (1/3 - 1.2/3, -1.6/3) = (-1, -8)/15
    # 3: task 0, p = (5.6 - 2.4)/15 = 0.213333, ask 1/1.213333 = 0.824176;  y = +1 is right: no update
    learner = Cmtl(2, 2, query=common.margin(1.0))
    rounds = replay(learner, [step(0, E1, 1, 0.9), step(1, X2, -1, 0.8), step(0, X3, 1, 0.8)])
    check(rounds, [0, 0.2, 0.213333], [1, 0.833333, 0.824176], [True] * 3, [True, True, False])
    assert learner.W == pytest.approx(np.array([[7, -4], [-1, -8]]) / 15)


def test_amtl_three_rounds_by_hand():
    # 1: task 0, all weights 0: U = 1 everywhere, b = 2, p = 0, ask 2/2 = 1;  y = +1: update as CMTL,
    #    w0 = (2/3, 0), w1 = (1/3, 0)
    # 2: task 1, ||w0 - w1||^2 = 1/9, u = e^(-1/9) = 0.894839, b = 1.894839, p = 0.2,
    #    ask 1.894839/2.094839 = 0.904527;  y = -1: update,
    #    w0 = (0.666667 - 0.2 u, -0.266667 u) = (0.487699, -0.238624);  w1 = (-0.066667, -0.533333)
    # 3: task 0, w0 - w1 = (0.554366, 0.294709), squared 0.307321 + 0.086854 = 0.394175,
    #    u = e^-0.394175 = 0.674236, b = 1.674236, p = 0.390159 - 0.143174 = 0.246985,
    #    ask 1.674236/1.921221 = 0.871444;  y = -1: update, with u from before it:
    #    w0 = (0.487699 - 1.6/3, -0.238624 - 1.2/3) = (-0.045635, -0.638624)
    #    w1 = (-0.066667 - 0.8 u/3, -0.533333 - 0.6 u/3) = (-0.246463, -0.668181)
    learner = Amtl(2, 2, query="similarity")
    rounds = replay(learner, [step(0, E1, 1, 0.9), step(1, X2, -1, 0.9), step(0, X3, -1, 0.87)])
    check(rounds, [0, 0.2, 0.246985], [1, 0.904527, 0.871444], [True] * 3, [True] * 3)
    assert learner.W == pytest.approx(np.array([[-0.045635, -0.638624], [-0.246463, -0.668181]]), abs=2e-6)


@pytest.mark.parametrize("learner", [Perceptron(2, 2), Cmtl(2, 2), Amtl(2, 2)])
@pytest.mark.parametrize("y", [1, -1])
def test_a_zero_margin_updates_whatever_the_label(learner, y):
    learner.W[:] = 0.0
    assert learner.learn(1, X2, y) and learner.margin(1, X2) * y > 0
    assert not learner.learn(1, X2, y)


# ---- replay

def test_a_label_that_is_not_asked_for_is_never_read():
    blind = {"task": 0, "x": E1, "draw": 0.7}  # no label at all; ask 1/(1+1) = 0.5
    rounds = replay(Perceptron(1, 2, query=common.margin(1.0)), [step(0, E1, 1, 0.0), blind])
    assert rounds[1] == {"margin": 1.0, "probability": 0.5, "asked": False, "updated": False}


def test_a_spent_budget_asks_no_more_and_the_rule_goes_on():
    steps = stream(3, K=3, n=80)
    free, capped = Cmtl(3, 5, query=common.margin(0.3)), Cmtl(3, 5, query=common.margin(0.3))
    full, rounds = replay(free, steps), replay(capped, steps, labels=10)
    assert sum(r["asked"] for r in full) > 10 == sum(r["asked"] for r in rounds)
    end = max(t for t, r in enumerate(rounds) if r["asked"]) + 1
    assert rounds[:end] == full[:end]
    for r, s in zip(rounds[end:], steps[end:]):
        assert not r["asked"] and not r["updated"]
        assert r["margin"] == capped.margin(s["task"], s["x"])
        assert r["probability"] == 0.3 / (0.3 + abs(r["margin"]))
    assert not any(r["asked"] for r in replay(Cmtl(3, 5), stream(3, 3, 9, draws=False), labels=0))


# ---- interaction matrices

@pytest.mark.parametrize("K", [1, 2, 3, 10])
def test_complete_graph_has_the_printed_inverse(K):
    assert complete(K) == pytest.approx((np.eye(K) + np.ones((K, K))) / (K + 1))
    assert (disconnected(K) == np.eye(K)).all()
    assert (cliques(["a"] * K) == complete(K)).all()
    assert (cliques(range(K)) == disconnected(K)).all()


def test_cliques_are_blocks_of_complete_graphs():
    groups = [0, 1, 0, 2, 1, 0]
    expected = np.zeros((6, 6))
    for g in range(3):
        members = [i for i in range(6) if groups[i] == g]
        expected[np.ix_(members, members)] = complete(len(members))
    assert cliques(groups) == pytest.approx(expected)


def test_edges_are_a_set_of_pairs_of_different_tasks():
    # path 0 - 1 - 2: A = [[2,-1,0],[-1,3,-1],[0,-1,2]], det 8, adjugate [[5,2,1],[2,4,2],[1,2,5]]
    assert edges(3, [(0, 1), (1, 2)]) == pytest.approx(np.array([[5, 2, 1], [2, 4, 2], [1, 2, 5]]) / 8)
    assert (edges(3, [(0, 1), (1, 0), (2, 1), (0, 1)]) == edges(3, [(0, 1), (1, 2)])).all()
    for bad in [(1, 1), (0, 3), (-1, 0)]:
        with pytest.raises(ValueError):
            edges(3, [bad])


def resistance(L, i, j):
    """Effective resistance: ground node j, send a unit current into node i, read the voltage at i."""
    if i == j:
        return 0.0
    keep = [v for v in range(len(L)) if v != j]
    voltage = np.linalg.solve(L[np.ix_(keep, keep)], np.array([float(v == i) for v in keep]))
    return voltage[keep.index(i)]


@pytest.mark.parametrize("seed", range(20))
def test_proposition_3_1_entries_of_the_inverse_from_resistances(seed):
    # Cavallanti and Cesa-Bianchi, Proposition 3.1.  G' = G plus one dummy node joined to all k tasks by
    # unit resistors, R = resistance distances in G', n = k + 1.  For every pair of tasks i, j
    #   A^-1[i,j] = -R[i,j]/2 + sum_l R[i,l]/(2n) + sum_l R[j,l]/(2n) - ||R||_1/(2 n^2) + (k+2)/n^2.
    # Two corrections to the statement in the text at hand.  It names the left side (A^-1)[i,i]; its formula and
    # its proof are about [i,j].  It prints the fourth term as ||R||_1/n^2; the proof's equations (4) and
    # (5) give half of that (the -1/2 in front of the bracket of (5) covers the last term too).  The
    # case k = 1 decides: A^-1 = 1, R = [[0,1],[1,0]], and 0 + 1/4 + 1/4 - c 2 + 3/4 = 1 needs c = 1/8.
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 9))
    n = k + 1
    pairs = random_graph(rng, k, rng.random())  # from empty to complete, not always connected
    augmented = common.laplacian(n, set(pairs) | {(k, i) for i in range(k)})
    R = np.array([[resistance(augmented, i, j) for j in range(n)] for i in range(n)])
    norm = np.sum(np.abs(R))
    Ainv = edges(k, pairs)
    for i in range(k):
        for j in range(k):
            rest = -R[i, j] / 2 + np.sum(R[i]) / (2 * n) + np.sum(R[j]) / (2 * n) + (k + 2) / n**2
            assert Ainv[i, j] == pytest.approx(rest - norm / (2 * n**2), abs=1e-12)
            assert abs(Ainv[i, j] - (rest - norm / n**2)) > 1e-3  # as printed it is false
            # The same fact without the pseudoinverse: A is the Laplacian of G' with the dummy grounded.
            assert Ainv[i, j] == pytest.approx((R[i, k] + R[j, k] - R[i, j]) / 2, abs=1e-12)
    assert np.sum(Ainv, axis=1) == pytest.approx(np.ones(k))  # A 1 = 1
    assert (Ainv > -1e-12).all() and (np.diag(Ainv) <= 1 + 1e-12).all()


# ---- identities

@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("query", [common.always, common.random(0.4), common.margin(0.5)])
def test_without_coupling_every_learner_is_the_perceptron(seed, query):
    for K in (1, 4):  # K = 1 with the default (complete) graph is uncoupled too
        Ainv = disconnected(K) if K > 1 else None
        steps = stream(seed, K, 60)
        expected = replay(Perceptron(K, 5, query), steps)
        same(replay(Cmtl(K, 5, Ainv, query), steps), expected)
        same(replay(Amtl(K, 5, Ainv, query), steps), expected)
        assert 0 < sum(r["updated"] for r in expected) < 60


def test_similarity_of_a_single_task_is_the_margin_rule_with_b_one():
    steps = stream(5, 1, 60)
    same(replay(Amtl(1, 5, query="similarity"), steps), replay(Cmtl(1, 5, query=common.margin(1.0)), steps))


def test_amtl_with_equal_weights_is_cmtl_and_with_far_weights_the_scaled_perceptron():
    W = np.tile([0.1, -0.2], (3, 1))
    near, fixed, far = Amtl(3, 2, query="similarity"), Cmtl(3, 2), Amtl(3, 2, query="similarity")
    near.W, fixed.W = W.copy(), W.copy()
    assert near.probability(1, 0.5) == pytest.approx(3 / 3.5)  # b = K
    assert near.learn(1, X2, 1) and fixed.learn(1, X2, 1)
    assert near.W == pytest.approx(fixed.W)
    far.W = np.array([[100.0, 0], [0, 0], [0, 100.0]])
    assert far.probability(1, 0.5) == pytest.approx(1 / 1.5)  # b = 1
    assert far.learn(1, X2, 1)
    assert far.W == pytest.approx(np.array([[100, 0], [0.3, 0.4], [0, 100]]))  # 2/(K+1) = 1/2


@pytest.mark.parametrize("seed", range(5))
def test_cmtl_is_the_perceptron_of_the_multitask_kernel_and_keeps_its_mistake_bound(seed):
    # Margin: sum over mistakes s of y_s A^-1[i_s, i] <x_s, x>.  On data with y <u_i, x> >= 1 the Perceptron
    # bound is M <= max_i A^-1[i,i] max||x||^2 sum_ij A[i,j] <u_i, u_j>.
    rng, K, d = np.random.default_rng(seed), 4, 5
    Ainv = edges(K, random_graph(rng, K, 0.6))
    u = 4 * rng.normal(size=d) + rng.normal(size=(K, d))
    steps = [s for s in stream(seed, K, 400) if abs(u[s["task"]] @ s["x"]) >= 1]
    for s in steps:
        s["label"] = common.predict(u[s["task"]] @ s["x"])
    learner, support = Cmtl(K, d, Ainv), []
    for s, r in zip(steps, replay(learner, steps)):
        p = sum(m["label"] * Ainv[m["task"], s["task"]] * np.dot(m["x"], s["x"]) for m in support)
        assert r["margin"] == pytest.approx(p, abs=1e-12)
        if r["updated"]:
            support.append(s)
    assert 0 < len(support) <= np.max(np.diag(Ainv)) * np.sum(np.linalg.inv(Ainv) * (u @ u.T))
