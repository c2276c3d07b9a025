"""Sanity of the reference PEER and AMLC: hand-worked rounds, identities, invariants."""
import math
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reference import amlc, common, peer  # noqa: E402
from reference.amlc import Amlc  # noqa: E402
from reference.common import prepare  # noqa: E402
from reference.peer import Peer  # noqa: E402

E1, X2, X3 = [1.0, 0.0], [0.6, 0.8], [0.8, 0.6]


def step(task, x, label, *draws):
    return {"task": task, "x": x, "label": label, "draws": list(draws)}


def stream(seed, K, n, d=4):
    rng = np.random.default_rng(seed)
    target = rng.normal(size=d) + 0.7 * rng.normal(size=(K, d))
    steps = []
    for _ in range(n):
        task, x = int(rng.integers(K)), rng.normal(size=d)
        label = common.predict(target[task] @ x + 0.3 * rng.normal())
        steps.append(step(task, prepare(x).tolist(), label, float(rng.random()), float(rng.random())))
    return steps


def column(rounds, key):
    return [r[key] for r in rounds]


def selective_sampling(steps, b, zero, multiple=1.0):
    """One perceptron over all the steps, the tasks ignored: rounds and the final weights.

    It asks with probability b / (b + multiple |p|) and updates when its label, `zero` at 0, is wrong.
    """
    w, rounds = np.zeros(len(steps[0]["x"])), []
    for s in steps:
        p = sum(float(w[f]) * s["x"][f] for f in range(len(w)))
        probability = b / (b + multiple * abs(p))
        asked = s["draws"][0] < probability
        updated = asked and (1 if p > 0 else -1 if p < 0 else zero) != s["label"]
        if updated:
            w = w + s["label"] * np.array(s["x"])
        rounds.append({"margin": p, "probability": probability, "asked": asked, "updated": updated})
    return rounds, w


def same(rounds, expected, multiple=1.0):
    assert len(rounds) == len(expected) > 0
    for r, e in zip(rounds, expected):
        assert (r["asked"], r["updated"]) == (e["asked"], e["updated"])
        assert r["margin"] == pytest.approx(multiple * e["margin"], abs=1e-12)
        assert r["probability"] == pytest.approx(e["probability"], abs=1e-12)


# ---- PEER by hand; K = 3, d = 2

def peer_start(**options):
    learner = Peer(3, 2, bq=1.0, **options)
    learner.W = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    return learner


PEER_STEPS = [
    step(0, X2, -1, 0.6, 0.9),
    step(0, E1, -1, 0.7, 0.5),
    step(1, X3, 1, 0.9, 0.0),
]


def test_peer_three_rounds_by_hand():
    # 1: task 0, p = (0.6, 0.8, -0.6); own says +1; P: 1/1.6 = 0.625 > 0.6, unsure;
    #    q = (0.8 - 0.6)/2 = 0.1, Q: 1/1.1 = 0.909091 > 0.9: bought, y = -1, a mistake:
    #    w0 = (1 - 0.6, -0.8) = (0.4, -0.8)
    #    losses of the others: 1 + 0.8 = 1.8 and 1 - 0.6 = 0.4, sum 2.2; factors e^-(0.818182) = 0.441233 and
    #    e^-(0.181818) = 0.833753; row: 0.441233/1.274986 = 0.346069 and 0.653931
    # 2: task 0, x = E1, p = (0.4, 0, -1); own says +1; P: 1/1.4 = 0.714286 > 0.7, unsure;
    #    q = -0.653931, Q: 1/1.653931 = 0.604620 > 0.5: bought, y = -1, a mistake: w0 = (-0.6, -0.8)
    #    losses: 1 - 0 = 1 and (1 - 1)_+ = 0, sum 1; factors e^-1 = 0.367879 and 1;
    #    0.346069 * 0.367879 = 0.127312; sum 0.781243; row 0.162960, 0.837040
    # 3: task 1, x = (0.8, 0.6), p = (-0.48 - 0.48, 0.6, -0.8); P: 1/1.6 = 0.625 < 0.9: sure, +1; nothing else
    learner = peer_start()
    rounds = peer.replay(learner, PEER_STEPS)
    assert column(rounds, "margin") == pytest.approx([0.6, 0.4, 0.6])
    assert column(rounds, "probability") == pytest.approx([0.625, 0.714286, 0.625], abs=1e-6)
    assert column(rounds[:2], "peer_margin") == pytest.approx([0.1, -0.653931], abs=1e-6)
    assert column(rounds[:2], "peer_probability") == pytest.approx([0.909091, 0.604620], abs=1e-6)
    assert column(rounds, "unsure") == [True, True, False]
    assert column(rounds, "asked") == [True, True, False]
    assert column(rounds, "updated") == [True, True, False]
    assert column(rounds, "prediction") == [1, 1, 1]
    assert column(rounds, "draws") == [2, 2, 1]
    assert rounds[2]["peer_margin"] is None and rounds[2]["peer_probability"] is None
    assert learner.W == pytest.approx(np.array([[-0.6, -0.8], [0, 1], [-1, 0]]))
    tau = np.array([[0, 0.162960, 0.837040], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    assert learner.tau == pytest.approx(tau, abs=1e-6)


def test_peer_shares_with_every_wrong_task_or_with_the_trusted_ones():
    # Round 1 above: y = -1, p = (0.6, 0.8, -0.6).  Task 1 is wrong, task 2 is right.  After the update
    # tau[0] = (0, 0.346, 0.654): task 1 is below the average trust of 1/2.
    everyone, trusted = peer_start(share="all"), peer_start(share="peers")
    assert column(peer.replay(everyone, PEER_STEPS[:1]), "shared") == [[1]]
    assert everyone.W == pytest.approx(np.array([[0.4, -0.8], [-0.6, 0.2], [-1, 0]]))
    assert column(peer.replay(trusted, PEER_STEPS[:1]), "shared") == [[]]
    # x = E1, y = +1, p = (1, 0, -1): no mistake, so no change of tau; both others are wrong, both average
    for share in ("all", "peers"):
        learner = peer_start(share=share)
        assert learner.learn(0, E1, 1) is False and learner.shared == [1, 2]
        assert learner.W == pytest.approx(np.array([[1, 0], [1, 1], [0, 0]]))
        assert (learner.tau == Peer(3, 2).tau).all()


@pytest.mark.parametrize("K", range(2, 40))
def test_a_row_of_equal_trust_counts_as_average_whatever_its_rounding(K):
    learner = Peer(K, 1, share="peers")
    assert learner.learn(0, [1.0], -1) is True  # +1 at margin 0; all losses are 1
    assert learner.shared == []  # -1 at margin 0: nobody else is wrong
    assert learner.learn(0, [-1.0], -1) is True
    learner.W[1:] = 1.0
    learner.learn(0, [1.0], -1)
    assert learner.shared == list(range(1, K))


@pytest.mark.parametrize("pseudo", ["always", "mistake"])
def test_peer_learns_the_answer_of_its_peers(pseudo):
    # task 0, x = E1, p = (1, 0, -1); P: 1/2 > 0.4; q = -1/2, Q: 1/1.5 = 0.667 < 0.7: the answer is -1, the own
    # prediction was +1: w0 = (1, 0) - (1, 0), both rules.  The label is not there to be read.
    learner = peer_start(pseudo=pseudo)
    blind = {"task": 0, "x": E1, "draws": [0.4, 0.7]}
    (r,) = peer.replay(learner, [blind])
    assert (r["asked"], r["answer"], r["prediction"], r["updated"]) == (False, -1, -1, True)
    assert learner.W[0].tolist() == [0.0, 0.0]
    # Again: p = (0, 0, -1), P: 1; the same answer; at margin 0 the own prediction is +1: w0 = (-1, 0)
    (r,) = peer.replay(learner, [blind])
    assert (r["probability"], r["answer"], r["updated"]) == (1.0, -1, True)
    assert learner.W[0].tolist() == [-1.0, 0.0]
    # Again: p = (-1, 0, -1): own and answer agree; only "always" moves
    (r,) = peer.replay(learner, [blind])
    assert (r["answer"], r["updated"]) == (-1, pseudo == "always")
    assert learner.W[0].tolist() == [-2.0 if pseudo == "always" else -1.0, 0.0]
    assert (learner.tau == Peer(3, 2).tau).all()  # and trust does not change


def test_peer_says_plus_one_at_an_own_margin_of_zero():
    learner = Peer(2, 2)
    decision = learner.decide(0, X2, [0.999, 0.999])
    assert decision["asked"] and decision["prediction"] == 1  # both probabilities are 1
    assert learner.learn(0, X2, 1) is False and learner.learn(0, X2, -1) is True


def test_peer_without_losses_keeps_its_trust():
    learner = Peer(3, 1)
    learner.W = np.array([[1.0], [-1.0], [-2.0]])
    assert learner.learn(0, [1.0], -1) is True
    assert (learner.tau == Peer(3, 1).tau).all()


# ---- AMLC by hand; K = 2, d = 2

def amlc_start(**options):
    learner = Amlc(2, 2, **options)
    learner.W = np.array([[1.0, 0.0], [0.0, -1.0]])
    return learner


AMLC_STEPS = [step(0, X2, -1, 0.8), step(0, X3, 1, 0.5), step(1, E1, -1, 0.9)]


def test_amlc_three_rounds_by_hand():
    # c = ln 30, rows sum to 2
    # 1: task 0, p = (0.6, -0.8), margin -0.2, says -1; 1/1.2 = 0.833333 > 0.8: bought, y = -1: right, w0 stays.
    #    losses 1.6 and 0.2, sum 1.8, exponents 8/9 and 1/9: factors 30^(-8/9) = 0.048641 and
    #    30^(-1/9) = 0.685289; row 2 (0.048641, 0.685289)/0.733930 = (0.132549, 1.867451)
    #    task 1 is trusted more than task 0 but is right: not shared
    # 2: task 0, x = X3, p = (0.8, -0.6), margin 0.106039 - 1.120471 = -1.014432, says -1;
    #    1/2.014432 = 0.496418 < 0.5: not asked
    # 3: task 1, x = E1, p = (1, 0), margin 1, says +1; 1/2 < 0.9: not asked
    learner = amlc_start()
    rounds = amlc.replay(learner, AMLC_STEPS)
    assert column(rounds, "margin") == pytest.approx([-0.2, -1.014432, 1], abs=2e-6)
    assert column(rounds, "probability") == pytest.approx([0.833333, 0.496418, 0.5], abs=2e-6)
    assert column(rounds, "asked") == [True, False, False]
    assert column(rounds, "updated") == [False, False, False]
    assert column(rounds, "prediction") == [-1, -1, 1]
    assert column(rounds, "shared") == [[], [], []]
    assert learner.W.tolist() == [[1.0, 0.0], [0.0, -1.0]]
    assert learner.tau == pytest.approx(np.array([[0.132549, 1.867451], [1, 1]]), abs=2e-6)


def test_amlc_rounds_with_a_mistake_and_with_sharing_by_hand():
    # 1: as above, row (0.132549, 1.867451)
    # 2: task 0, x = (0, 1), p = (0, -1), margin -1.867451, says -1; 1/2.867451 = 0.348742 > 0.3: bought, y = +1,
    #   a mistake: w0 = (1, 1).  losses 1 and 2, factors 30^(-1/3) = 0.321830 and 30^(-2/3) = 0.103574:
    #   (0.042658, 0.193419), sum 0.236077, row 2/sum times that = (0.361391, 1.638609).
    #   task 1 is trusted more than task 0.  It said -1: it differs from the label: w1 = (0, -1) + (0, 1) = 0.
    #   By the printed rule it is compared with the prediction -1: no difference, no sharing.
    steps = AMLC_STEPS[:1] + [step(0, [0.0, 1.0], 1, 0.3)]
    for share, shared, w1 in [("label", [1], 0.0), ("prediction", [], -1.0), ("none", [], -1.0)]:
        learner = amlc_start(share=share)
        rounds = amlc.replay(learner, steps)
        assert rounds[1]["margin"] == pytest.approx(-1.867451, abs=2e-6)
        assert rounds[1]["probability"] == pytest.approx(0.348742, abs=2e-6)
        assert column(rounds, "updated") == [False, True]
        assert column(rounds, "shared") == [[], shared]
        assert learner.W.tolist() == [[1.0, 1.0], [0.0, w1]]
        assert learner.tau == pytest.approx(np.array([[0.361391, 1.638609], [1, 1]]), abs=2e-6)


def test_amlc_printed_rule_shares_with_members_that_contradict_the_committee():
    # task 0, x = E1, W = ((-1, 0), (0.5, 0)): p = (-1, 0.5), margin -0.5, says -1, y = -1 is right.
    # losses 0 and 1.5: task 1 is trusted less, nothing is shared.  With y = +1: losses 2 and 0.5, task 1 is
    # trusted more and is right: share "label" leaves it alone, the printed rule gives it the label, for it
    # said +1, not -1.
    for y, share, w1 in [(-1, "label", 0.5), (-1, "prediction", 0.5), (1, "label", 0.5), (1, "prediction", 1.5)]:
        learner = Amlc(2, 2, share=share)
        learner.W = np.array([[-1.0, 0.0], [0.5, 0.0]])
        assert learner.learn(0, E1, y) is (y == 1)
        assert learner.W.tolist() == [[0.0 if y == 1 else -1.0, 0.0], [w1, 0.0]]


def test_amlc_may_weigh_on_mistakes_only():
    # Round 1 of the first example is right, y = -1; with y = +1 it is a mistake.
    for y, weigh in [(-1, "bought"), (-1, "mistake"), (1, "bought"), (1, "mistake")]:
        learner = amlc_start(weigh=weigh)
        assert learner.learn(0, X2, y) is (y == 1)
        assert (learner.tau[0] != 1.0).all() == (weigh == "bought" or y == 1)


def test_amlc_caps_the_losses():
    # p = (5, 0), y = -1: hinge 6 and 1, factors 30^(-6/7), 30^(-1/7); capped 2 and 1: 30^(-2/3), 30^(-1/3)
    for cap, a, b in [(2.0, 2 / 3, 1 / 3), (math.inf, 6 / 7, 1 / 7)]:
        learner = Amlc(2, 1, rows="one", cap=cap)
        learner.W = np.array([[5.0], [0.0]])
        learner.learn(0, [1.0], -1)
        row = np.array([30**-a, 30**-b])
        assert learner.tau[0] == pytest.approx(row / sum(row))
        assert learner.tau[1].tolist() == [0.5, 0.5]


def test_amlc_predicts_minus_one_at_zero_and_without_losses_keeps_its_trust():
    learner = Amlc(2, 2)
    assert learner.decide(0, X2, [0.999]) == {
        "margin": 0.0, "probability": 1.0, "asked": True, "prediction": -1, "draws": 1}
    assert learner.learn(0, X2, -1) is False and learner.learn(0, X2, 1) is True
    learner = Amlc(2, 1)
    learner.W = np.array([[-1.0], [-3.0]])
    learner.learn(0, [1.0], -1)
    assert (learner.tau == 1.0).all()


# ---- budget

@pytest.mark.parametrize("module, make", [
    (peer, lambda: Peer(3, 5, b=0.5, bq=0.5, share="all")),
    (amlc, lambda: Amlc(3, 5, share="prediction")),
])
def test_a_spent_budget_asks_no_more(module, make):
    steps = stream(3, 3, 120)
    free, capped = make(), make()
    full, rounds = module.replay(free, steps), module.replay(capped, steps, labels=10)
    assert sum(column(full, "asked")) > 10 == sum(column(rounds, "asked"))
    end = max(t for t, r in enumerate(rounds) if r["asked"]) + 1
    assert rounds[:end] == full[:end]
    for r in rounds[end:]:
        assert not r["asked"] and r["shared"] == []
        assert r["updated"] == (r.get("answer") is not None)  # the peers' answers are free
    if module is peer:
        assert any(r["updated"] for r in rounds[end:])


# ---- identities

@pytest.mark.parametrize("seed", range(5))
def test_a_single_task_is_the_selective_sampling_perceptron(seed):
    steps = stream(seed, 1, 80)
    for share in ("none", "peers", "all"):
        learner = Peer(1, 5, b=0.5, share=share)
        expected, w = selective_sampling(steps, 0.5, zero=1)
        first = [{**s, "draws": s["draws"][:1]} for s in steps]  # no second draw is read
        rounds = peer.replay(learner, first)
        same(rounds, expected)
        assert learner.W[0] == pytest.approx(w) and set(column(rounds, "draws")) == {1}
    for share in ("label", "prediction", "none"):
        for rows in ("tasks", "one"):
            learner = Amlc(1, 5, b=0.5, rows=rows, share=share)
            expected, w = selective_sampling(steps, 0.5, zero=-1)
            same(amlc.replay(learner, steps), expected)
            assert learner.W[0] == pytest.approx(w) and learner.tau == pytest.approx(np.ones((1, 1)))
    assert 0 < sum(column(expected, "updated")) < 80


@pytest.mark.parametrize("seed", range(5))
def test_amlc_that_neither_weighs_nor_shares_is_the_average_committee(seed):
    K, steps = 4, stream(seed, 4, 120)
    mean, total = Amlc(K, 5, c=0.0, rows="one", share="none"), Amlc(K, 5, c=0.0, share="none")
    for learner, n in [(mean, K), (total, 1)]:
        W = np.zeros((K, 5))
        for s, r in zip(steps, amlc.replay(learner, steps)):
            margin = np.sum(W @ s["x"]) / n
            assert r["margin"] == pytest.approx(margin, abs=1e-12)
            if r["updated"]:
                assert common.predict(margin) != s["label"]
                W[s["task"]] += s["label"] * np.array(s["x"])
        assert learner.W == pytest.approx(W)
        assert (learner.tau == (1.0 if n == 1 else 1.0 / K)).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rows", ["tasks", "one"])
@pytest.mark.parametrize("weigh", ["bought", "mistake"])
def test_amlc_that_shares_by_the_label_is_one_perceptron_for_all_tasks(seed, rows, weigh):
    # All weights start equal.  If they are equal before a round, all p_m are, so the committee and its members
    # predict alike; all losses are equal, so the row stays uniform and every tau[k,m] >= tau[k,k] holds as an
    # equality; either nobody is wrong, or everybody is and gets y x.  So they are equal after it.
    K = 7
    steps, learner = stream(seed, K, 150), Amlc(K, 5, rows=rows, weigh=weigh)
    expected, w = selective_sampling(steps, 1.0, zero=-1, multiple=K if rows == "tasks" else 1)
    rounds = amlc.replay(learner, steps)
    same(rounds, expected, multiple=K if rows == "tasks" else 1)
    assert (learner.W == learner.W[0]).all() and learner.W[0] == pytest.approx(w)
    assert learner.tau == pytest.approx(np.full((K, K), learner.total / K))
    for s, r in zip(steps, rounds):
        assert r["shared"] == ([m for m in range(K) if m != s["task"]] if r["updated"] else [])
    assert 0 < sum(column(rounds, "updated"))


@pytest.mark.parametrize("seed", range(5))
def test_peer_that_always_buys_is_k_perceptrons_and_with_share_all_none_is_left_wrong_alone(seed):
    K, steps = 4, stream(seed, 4, 120)
    learner = Peer(K, 5, b=1e300, bq=1e300)
    rounds = peer.replay(learner, steps)
    assert all(column(rounds, "asked"))
    for k in range(K):
        w = selective_sampling([s for s in steps if s["task"] == k], 1e300, zero=1)[1]
        assert learner.W[k] == pytest.approx(w)
    learner = Peer(K, 5, b=1e300, bq=1e300, share="all")
    for s in steps:
        p, before = learner.margins(s["x"]), learner.W.copy()
        learner.learn(s["task"], s["x"], s["label"])
        for m in range(K):
            said = learner.own(p[m]) if m == s["task"] else common.predict(p[m])
            moved = s["label"] * np.array(s["x"]) if said != s["label"] else 0.0
            assert learner.W[m] == pytest.approx(before[m] + moved)


# ---- invariants

@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", ["none", "peers", "all"])
def test_peer_rows_sum_to_one_over_the_others(seed, share):
    K = 5
    learner = Peer(K, 5, b=0.5, bq=0.5, c=math.log(30), share=share)
    rounds = peer.replay(learner, stream(seed, K, 300))
    assert np.sum(learner.tau, axis=1) == pytest.approx(np.ones(K))
    assert (np.diag(learner.tau) == 0.0).all() and (learner.tau >= 0.0).all()
    assert {r["draws"] for r in rounds} == {1, 2}
    assert any(r["answer"] is not None for r in rounds) and any(r["asked"] for r in rounds)
    for r in rounds:
        assert r["draws"] == (2 if r["unsure"] else 1)
        assert not (r["asked"] and r["answer"] is not None)
        assert 0.0 < r["probability"] <= 1.0 and (r["updated"] <= r["unsure"])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", ["tasks", "one"])
@pytest.mark.parametrize("share", ["label", "prediction", "none"])
def test_amlc_rows_keep_their_sum_and_only_asked_rounds_change_anything(seed, rows, share):
    K = 5
    learner = Amlc(K, 5, rows=rows, share=share)
    learner.W = np.random.default_rng(seed).normal(size=(K, 5))  # apart, so that there is something to weigh
    for s in stream(seed, K, 200):
        W, tau = learner.W.copy(), learner.tau.copy()
        (r,) = amlc.replay(learner, [s])
        assert np.sum(learner.tau, axis=1) == pytest.approx(np.full(K, K if rows == "tasks" else 1.0))
        assert (learner.tau >= 0.0).all()
        others = [k for k in range(K) if k != s["task"]]
        assert (learner.tau[others] == tau[others]).all()
        if not r["asked"]:
            assert (learner.W == W).all() and (learner.tau == tau).all()
        for m in others:
            assert (learner.W[m] != W[m]).any() == (m in r["shared"])
            assert m not in r["shared"] or learner.tau[s["task"], m] >= learner.tau[s["task"], s["task"]]
    assert np.ptp(learner.tau) > 0.0
    x = np.array([0.6, 0.8, -0.2, 0.1, 0.3])
    assert learner.score(2, x) == pytest.approx((learner.tau @ learner.W)[2] @ x)


def test_parameters_are_checked():
    for bad in [dict(b=0.0), dict(bq=-1.0), dict(c=-1.0), dict(share="label"), dict(pseudo="never")]:
        with pytest.raises(ValueError):
            Peer(2, 2, **bad)
    for bad in [dict(b=0.0), dict(c=-1.0), dict(cap=0.0), dict(share="all"), dict(rows="two"), dict(weigh="")]:
        with pytest.raises(ValueError):
            Amlc(2, 2, **bad)
