"""cohort: shared and own weights that know how sure they are.

Source: the header comments of algorithms/cohort.cc and weights/calibration.h. d features, K tasks; w and s (mean and variance
of the shared weights), v_i and t_i (of task i's own); w = v = 0 and s = t = 1 at first. Of an instance x of task i:
    p = E <w, x> + O <v_i, x>,   r = E^2 sum_f s_f x_f^2 + O^2 sum_f t_if x_f^2
  Leaning j = 1 .. 5: E_j^2 + O_j^2 = 1.2, O_j^2 / E_j^2 = 1/32, 1/8, 1/2, 2, 8; m_j counts the labels bought so far that
    p_j = E_j <w, x> + O_j <v_i, x> would have got wrong; E and O are the means of E_j and O_j weighted by exp(-eta m_j).
  Decide, a round: margin p; doubt = slope of the calibration times |p|; the query rule. Then, in the round's order, every
    example that the rule does not ask about is guessed.
  Learn, a bought label y: labels of the task + 1; 64 guesses left; m_j, E, O anew; p, r anew; calibration.add(p, y,
    probability of asking); if y p < 1: beta = 1 / (r + noise), alpha = (1 - y p) beta y, and with z = E x
      w += alpha s z,  s -= beta (s z)^2    (s on the right is the old one),
    and with z = O x the same in v_i and t_i.
  Guess, while guesses are left: y = sign(p); if y p < 1 the same without the variances, alpha times
      guess * n / (n + 60) * sqrt(|p| / sqrt(p^2 + r)) * min(1, (g_-y + 0.1) / (g_y + 0.1))^3,
    n the labels bought for the task, g_y the sum of these weights of the task's guesses y so far. One guess less is left.
  Query "confidence": ask with probability 1 / (1 + (doubt / b)^3).  A shared annotator goes by doubt, all else by |p|.
  Calibration: Pr[y = +1 | m] = 1 / (1 + exp(-(a m + c))). Each label is one Newton step of logistic regression, weighted by
    1 / (probability of asking), what is known before fading.

Settled beforehand
  - p_j counts as wrong if y p_j <= 0. It is taken with the weights of the moment the label arrives.
  - A guess uses p and r of the prediction, and the variances as they are when it is made.
Settled here
  - A shared annotator is asked by SHAMPO's rule, on |p|: the smallest of the round is subtracted.
  - "Not asked about" is what the rule says: an example that it asks about while no label is left is not guessed.
  - A guess of p = 0 is none (sign 0), and so is one of a task without labels. g counts every other guess, also one that
    taught nothing because y p >= 1; of the 64 only those count that taught something.
  - The calibration's numbers are those of calibration.cc: slope 3 and curvature I / 10 at first, which does not fade; all else
    fades by 0.998 at each label; a label counts at most 20 times; p (1 - p) is at least 0.001; margins are cut at 10^6;
    a stays from 0 to 10^6.
"""
import math

import numpy as np

from reference import common

RATIOS = [1 / 32, 1 / 8, 1 / 2, 2.0, 8.0]
TOTAL = 1.2


class Calibration:
    def __init__(self):
        self.theta = np.array([3.0, 0.0])  # a, c
        self.curvature = np.zeros((2, 2))  # without the prior, I / 10

    def slope(self):
        return float(self.theta[0])

    def probability(self, m):
        z = float(self.theta[0] * m + self.theta[1])
        return 1.0 / (1.0 + math.exp(-z)) if z >= 0.0 else math.exp(z) / (1.0 + math.exp(z))

    def add(self, margin, y, asked):
        m = min(max(margin, -1e6), 1e6)
        features = np.array([m, 1.0])
        weight = min(1.0 / max(asked, 1e-12), 20.0)
        p = self.probability(m)
        self.curvature = 0.998 * self.curvature + weight * max(p * (1.0 - p), 1e-3) * np.outer(features, features)
        gradient = weight * ((1.0 if y > 0 else 0.0) - p) * features
        self.theta = self.theta + np.linalg.solve(0.1 * np.eye(2) + self.curvature, gradient)
        self.theta[0] = min(max(self.theta[0], 0.0), 1e6)


def by_margin(rule):
    """A rule of common.py (always, random, margin), which reads |p| and no doubt."""
    return lambda margin, doubt, draw: rule(margin, draw)


def confidence(b=0.5):
    if not b > 0.0:
        raise ValueError("b must be positive")
    return lambda margin, doubt, draw: common.random(1.0 / (1.0 + (doubt / b) ** 3))(margin, draw)


class Cohort:
    def __init__(self, K, d, query=None, noise=0.1, guess=1.0, eta=0.3, chooser=None):
        """query(margin, doubt, draw) gives (probability, asked); chooser, of shampo.py, instead if one annotator is shared."""
        if not (noise > 0.0 and 0.0 <= guess <= 1.0 and 0.0 <= eta <= 100.0):
            raise ValueError("noise must be positive, guess lie in [0, 1], eta in [0, 100]")
        self.query = confidence() if query is None else query
        self.chooser = chooser
        self.noise = noise
        self.guess = guess
        self.eta = eta
        self.w, self.s = np.zeros(d), np.ones(d)
        self.v, self.t = np.zeros((K, d)), np.ones((K, d))
        self.m = [0] * len(RATIOS)
        self.labels = [0] * K
        self.g = [{+1: 0.0, -1: 0.0} for _ in range(K)]
        self.left = 0  # guesses until the next label
        self.calibration = Calibration()
        self.taught = 0  # guesses that moved weights, for tests
        self.compared = []  # numbers whose sign decided something in the latest call, for tests

    def leanings(self):
        """The pairs (E_j, O_j)."""
        return [(math.sqrt(TOTAL / (1.0 + ratio)), math.sqrt(TOTAL * ratio / (1.0 + ratio))) for ratio in RATIOS]

    def lean(self):
        """(E, O), now."""
        weights = [math.exp(-self.eta * (m - min(self.m))) for m in self.m]
        pairs = self.leanings()
        E = sum(share * pair[0] for share, pair in zip(weights, pairs)) / sum(weights)
        O = sum(share * pair[1] for share, pair in zip(weights, pairs)) / sum(weights)
        return E, O

    def judge(self, task, x):
        """(p, r), now."""
        E, O = self.lean()
        p = E * np.sum(self.w * x) + O * np.sum(self.v[task] * x)
        r = E * E * np.sum(self.s * x * x) + O * O * np.sum(self.t[task] * x * x)
        return float(p), float(r)

    def decide(self, tasks, xs, draws):
        self.compared = []
        judged = [self.judge(task, x) for task, x in zip(tasks, xs)]
        doubts = [self.calibration.slope() * abs(p) for p, r in judged]
        if self.chooser is not None:
            margins = [abs(p) for p, r in judged]
            decisions = self.chooser.choose(tasks, margins, [draw for draw in draws if draw is not None])
        else:
            decisions = []
            for (p, r), doubt, draw in zip(judged, doubts, draws):
                probability, asked = self.query(p, doubt, draw)
                decisions.append({"probability": probability, "asked": asked, "draw": draw})
        for decision, (p, r) in zip(decisions, judged):
            decision["margin"] = p
        for task, x, (p, r), decision in zip(tasks, xs, judged, decisions):
            if not decision["asked"]:
                self.make_guess(task, x, p, r)
        return decisions

    def make_guess(self, task, x, p, r):
        n = self.labels[task]
        if self.guess == 0.0 or self.left == 0 or n == 0 or p == 0.0:
            return
        y = +1 if p > 0.0 else -1
        sure = abs(p) / math.sqrt(p * p + r)
        balance = min(1.0, (self.g[task][-y] + 0.1) / (self.g[task][y] + 0.1))
        weight = self.guess * n / (n + 60) * math.sqrt(sure) * balance ** 3
        self.g[task][y] += weight
        self.compared.append(y * p - 1.0)
        if y * p < 1.0:
            alpha = (1.0 - y * p) / (r + self.noise) * y * weight
            self.move(task, x, alpha, 0.0)
            self.left -= 1
            self.taught += 1

    def learn(self, task, x, y, decision):
        self.labels[task] += 1
        self.left = 64
        self.compared = []
        shared, own = float(np.sum(self.w * x)), float(np.sum(self.v[task] * x))
        for j, (E_j, O_j) in enumerate(self.leanings()):
            p_j = E_j * shared + O_j * own
            self.compared.append(p_j)
            if y * p_j <= 0.0:
                self.m[j] += 1
        p, r = self.judge(task, x)
        self.calibration.add(p, y, decision["probability"])
        self.compared.append(y * p - 1.0)
        if not y * p < 1.0:
            return False
        beta = 1.0 / (r + self.noise)
        self.move(task, x, (1.0 - y * p) * beta * y, beta)
        return True

    def move(self, task, x, alpha, beta):
        E, O = self.lean()
        x = np.asarray(x, dtype=np.float64)
        z = E * x
        old = self.s
        self.w = self.w + alpha * old * z
        self.s = old - beta * (old * z) ** 2
        z = O * x
        old = self.t[task].copy()
        self.v[task] = self.v[task] + alpha * old * z
        self.t[task] = old - beta * (old * z) ** 2
