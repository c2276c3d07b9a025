"""Sanity of the reference cohort, its calibration and the scales: hand-worked rounds, identities."""
import math
import os
import sys

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reference import common  # noqa: E402
from reference.cohort import Calibration, Cohort, by_margin, confidence  # noqa: E402
from reference.perceptron import Perceptron  # noqa: E402
from reference.scaling import Scaling, scaled  # noqa: E402


def one(model, task, x, y):
    x = np.array(x, dtype=np.float64)
    (d,) = model.decide([task], [x], [None])
    return d["margin"], model.learn(task, x, y, d)


def test_cohort_three_rounds_by_hand():
    # The numbers of tests/algorithms/cohort_test.cc: E = 0.800709, O = 0.623104, noise 0.5.
    model = Cohort(2, 2, query=by_margin(common.always), noise=0.5, eta=0.0, replays=0)
    assert model.lean() == pytest.approx((0.800709, 0.623104), abs=1e-6)
    assert one(model, 0, [1, 0], 1) == (0.0, True)
    assert model.w[:, 0].ravel() == pytest.approx([0.428120, 0, 0.044864, 0], abs=1e-6)
    assert model.s[0] == pytest.approx([0.763522, 1], abs=1e-6)
    assert one(model, 1, [1, 1], -1)[0] == pytest.approx(0.189362, abs=1e-6)
    assert model.w[:, 0].ravel() == pytest.approx([0.087084, -0.446662, -0.008324, -0.069662], abs=1e-6)
    assert model.t[1] == pytest.approx([0.866448, 0.866448], abs=1e-6)
    assert one(model, 0, [0, 1], 1)[0] == pytest.approx(-0.206713, abs=1e-6)
    assert model.v[:, 0].ravel() == pytest.approx([0.333159, 0.540304, 0.034913, 0.045552], abs=1e-6)
    assert model.m == [3] * 5 and model.m_second == [3, 6, 9, 12, 15] and model.labels == [2, 1]


def test_tasks_of_another_group_share_nothing():
    model = Cohort(4, 2, query=by_margin(common.always), noise=0.5, eta=0.0, replays=0, groups=2)
    assert one(model, 0, [1, 0], 1) == (0.0, True)
    assert model.w[0].tolist() == [[pytest.approx(0.428120, abs=1e-6), 0.0], [0.0, 0.0]] and (model.s[1] == 1).all()
    x = np.array([1.0, 0.0])
    assert model.judge(2, x)[0] == pytest.approx(0.800709 * (0.428120 + 0.044864) / 2, abs=1e-6)
    assert model.judge(1, x) == model.judge(3, x) == (0.0, pytest.approx(1.029394, abs=1e-6))


def test_a_guess_by_hand():
    # After the first round above: x = (1, 0), p_0 = E 0.428120 + O 0.333159 = 0.550393, p_1 = 0.057677, p = 0.304035,
    # r = E^2 0.763522 + O^2 0.856794 = 0.822178, sure = p / sqrt(p^2 + r) = 0.317903; the calibration's only label had
    # the margin 0, so slope 3, offset 0.5 / 1.25 = 0.4: weight = 1/61 sqrt(sure) tanh((3 p + 0.4) / 2) = 0.005322;
    # a_0 = weight (1 - p_0) / (r + 0.5) = 0.001810; w_00 += a_0 s_0 E = 0.001106, v_000 += a_0 t_00 O = 0.000966
    model = Cohort(2, 2, query=by_margin(common.random(0.0)), noise=0.5, eta=0.0, replays=0)
    x = np.array([1.0, 0.0])
    model.learn(0, x, 1, {"probability": 1.0})
    s, t = model.s.copy(), model.t.copy()
    model.decide([0, 1], [x, x], [0.5, 0.5])
    assert model.w[0][0][0] == pytest.approx(0.428120 + 0.001106, abs=2e-6)
    assert model.v[0][0][0] == pytest.approx(0.333159 + 0.000966, abs=2e-6)
    assert model.g == [{1: pytest.approx(0.005322, abs=1e-6), -1: 0.0}, {1: 0.0, -1: 0.0}]  # task 1 has no label
    assert (model.s == s).all() and (model.t == t).all() and model.left == 63
    # Balance: the next guess of +1 counts ((0 + 0.1) / (0.005322 + 0.1))^3 = 0.855949 times.
    before = model.g[0][1]
    p, r = model.judge(0, x)
    model.decide([0], [x], [0.5])
    assert model.g[0][1] - before == pytest.approx(0.855949 / 61 * math.tanh(model.calibration.log_odds(p) / 2) * math.sqrt(p / math.sqrt(p * p + r)), rel=1e-4)


def test_confidence_asks_half_at_a_doubt_of_b():
    rule = confidence(0.5)
    assert rule(7.0, 0.5, 0.49) == (0.5, True) and rule(7.0, 0.5, 0.5) == (0.5, False)
    assert rule(7.0, 0.0, 0.999) == (1.0, True) and rule(7.0, 1.0, 0.5)[0] == pytest.approx(1 / 9)


def test_calibration_finds_the_logistic_that_made_the_labels():
    rng = np.random.default_rng(1)
    c = Calibration()
    for m in rng.uniform(-2, 2, size=5000):
        c.add(m, 1 if rng.random() < 1 / (1 + math.exp(-(1.5 * m + 0.4))) else -1, 1.0)
    assert c.theta == pytest.approx([1.5, 0.4], abs=0.35)


def test_scales_by_hand():
    # Two examples, (3, 0, 1) and (1, 2, 0): n = 2, df = 2, 1, 1
    x = np.array([3.0, 0.0, 1.0])
    expected = {"log": [math.log(4), 0, math.log(2)], "idf": [3 * math.log(3 / 2), 0, math.log(3)],
                "log-idf": [math.log(4) * math.log(3 / 2), 0, math.log(2) * math.log(3)],
                "auto": [(1 + 0.3 * math.log(3)) * math.log(3 / 2), 0, math.log(3)]}
    for scale, values in expected.items():
        scaling = Scaling(scale)
        scaling.count(x)
        scaling.count(np.array([1.0, 2.0, 0.0]))
        assert scaling(None, x) == pytest.approx(np.array(values) / np.linalg.norm(values)), scale
    assert Scaling("log")(None, -x) == pytest.approx(-Scaling("log")(None, x))
    with pytest.raises(ValueError):
        Scaling("tf")


def test_auto_looks_at_thirty_two_instances():
    # 16 features; each instance has 2 of them, an eighth: not less. With 17 it is less.
    for features, real in ((16, True), (17, False)):
        scaling = Scaling("auto")
        for i in range(32):
            assert not scaling.dense
            x = np.zeros(20)
            x[[(2 * i) % features, (2 * i + 1) % features]] = 1.0
            scaling.count(x)
        assert len(scaling.df) == features and scaling.dense == real


def test_a_scaled_learner_sees_scaled_instances_of_a_round_counted_first():
    model = scaled(Perceptron(2, 2), "idf")
    pairs = [("unused", np.array([1.0, 1.0])), ("unused", np.array([0.0, 1.0]))]
    decisions = model.decide([0, 1], pairs, [None, None])
    assert [d["asked"] for d in decisions] == [True, True] and model.scaling.n == 2
    assert model.learn(0, pairs[0], 1, decisions[0])
    values = np.array([math.log(3), math.log(3 / 2)])
    assert model.learner.learner.W[0] == pytest.approx(values / np.linalg.norm(values))


def test_parameters_are_checked():
    for bad in [dict(noise=0.0), dict(guess=1.5), dict(eta=-1.0), dict(eta=101.0)]:
        with pytest.raises(ValueError):
            Cohort(2, 2, **bad)
    with pytest.raises(ValueError):
        confidence(0.0)
