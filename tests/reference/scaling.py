"""Counts weighed by how much they say, before any reference learner sees them.

Source: the meanings of the parameter `scale` (weights/scaling.h), where v is a value as in the data (before unit length; the
constant feature is a feature like any other), n the number of examples seen so far, labelled or not, and df how many of
them had the feature:
    none      instances as they come (here: x, prepared by the caller)
    log       sign(v) log(1 + |v|), then unit length
    idf       v log((n + 1) / df), then unit length
    log-idf   sign(v) log(1 + |v|) log((n + 1) / df), then unit length
    auto      (1 + 0.3 log v) log((n + 1) / df), then unit length, for counts, else none: counts are whole, not below 0,
              and the first 32 instances have less than an eighth of the features that came in them

Settled by the headers
  - The examples of a round are all counted before the first of them is predicted.
  - A value of 0 is no occurrence, and stays 0. A df of 0 is taken for 1. A zero vector stays zero.
  - auto: once not counts, never counts again. Until 32 instances came only their values decide. "Less than an eighth": the
    mean number of non-zeros of an instance, and the number of features that were not 0 in one of the 32.
"""
import math

import numpy as np


class Scaling:
    def __init__(self, scale):
        if scale not in ("none", "log", "idf", "log-idf", "auto"):
            raise ValueError("unknown scale")
        self.scale = scale
        self.n = 0
        self.df = {}
        self.nonzeros = 0
        self.real = False  # auto: they are no counts

    def count(self, raw):
        """One more example, its values as in the data."""
        for v in raw:
            if not (v >= 0.0 and v == math.floor(v)):
                self.real = True
        self.n += 1
        for f in range(len(raw)):
            if raw[f] != 0.0:
                self.df[f] = self.df.get(f, 0) + 1
                self.nonzeros += 1
        if self.n == 32 and not self.nonzeros / 32 < len(self.df) / 8:
            self.real = True

    def rarity(self, f):
        return math.log((self.n + 1) / max(1, self.df.get(f, 0)))

    def one(self, f, v):
        """The scaled value, before unit length."""
        if v == 0.0:
            return 0.0
        logarithm = math.copysign(math.log(1.0 + abs(v)), v)
        if self.scale == "log":
            return logarithm
        if self.scale == "idf":
            return v * self.rarity(f)
        if self.scale == "log-idf":
            return logarithm * self.rarity(f)
        return (1.0 + 0.3 * math.log(v)) * self.rarity(f)

    def __call__(self, x, raw):
        """x scaled: x is prepared, raw the same instance as in the data."""
        if self.scale == "none" or (self.scale == "auto" and self.real):
            return x
        out = np.array([self.one(f, float(raw[f])) for f in range(len(raw))])
        length = math.sqrt(sum(float(v) * float(v) for v in out))
        return out / length if length > 0.0 else out


class Scaled:
    """A reference learner of rounds (decide, learn) whose instances are pairs (x prepared, x as in the data)."""

    def __init__(self, learner, scale):
        self.learner = learner
        self.scaling = Scaling(scale)

    def decide(self, tasks, pairs, draws):
        for _, raw in pairs:
            self.scaling.count(raw)
        return self.learner.decide(tasks, [self.scaling(*pair) for pair in pairs], draws)

    def learn(self, task, pair, y, decision):
        return self.learner.learn(task, self.scaling(*pair), y, decision)


class OneByOne:
    """A reference learner that judges an example by itself (margin, ask, learn) as one of rounds."""

    def __init__(self, learner):
        self.learner = learner

    def decide(self, tasks, xs, draws):
        out = []
        for task, x, draw in zip(tasks, xs, draws):
            margin = self.learner.margin(task, x)
            probability, asked = self.learner.ask(task, margin, draw)
            out.append({"margin": margin, "probability": probability, "asked": asked, "draw": draw})
        return out

    def learn(self, task, x, y, decision):
        return self.learner.learn(task, x, y)


def scaled(learner, scale):
    """Any reference learner with scale=... before it."""
    return Scaled(learner if hasattr(learner, "decide") else OneByOne(learner), scale)
