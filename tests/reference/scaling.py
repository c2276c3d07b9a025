"""Counts weighed by how much they say, before any reference learner sees them.

Source: the meanings of the parameter `scale` (weights/scaling.h), where v is a value as in the data (before unit length; the
constant feature is a feature like any other), n the number of examples seen so far, labelled or not, and df how many of
them had the feature:
    none      values unchanged (here: x, prepared by the caller)
    log       sign(v) log(1 + |v|), then unit length
    idf       v log((n + 1) / df), then unit length
    log-idf   sign(v) log(1 + |v|) log((n + 1) / df), then unit length
    auto      counts (1 + 0.3 log v) log((n + 1) / df), numbers in standard units, each of unit length times what was learned

Settled by the headers
  - The examples of a round are all counted before the first of them is predicted.
  - A value of 0 is no occurrence, and stays 0. A df of 0 is taken for 1. A zero vector stays zero.
  - auto: a feature is a count unless it is real (once a value was negative or not whole) or large (whole, mean of at least
    32 (each cut at 64) in 16 values or more, after 32 examples; of a feature in more than half of the examples, which have at most 32 words on average, a mean of 1.5, or of 32 from the first). Real or large and in nearly every example, 10 (df + 2) >= 9 n from the first: a number. Other
    real ones, and large ones in more than half of the examples: sparse, v / rms cut at 3, times the rarity.
    Values are looked at from the example on in which one is real, or large in more than half of the examples so far; then
    those that are real, and all of features in more than half of the examples.
  - Data that are whole and small in the first 32 examples, with at least an eighth of the features that came in them in an
    example on average, stay as they are.
"""
import bisect
import math

import numpy as np


Z = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
P = (0.022750131948179207, 0.15865525393145705, 0.5, 0.8413447460685429, 0.9772498680518208)
LOWEST = (-3.0, -2.373, -1.525, -0.798, -0.288, -0.055, 0.0)
MOST = 256


def level_of(n):
    """How rarely example n enters samples: trailing zeros of splitmix64(n)."""
    z = (n * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    z ^= z >> 31
    return 64 if z == 0 else (z & -z).bit_length() - 1


def short(v):
    """To 33 bits: what dividing by a length and multiplying again did does not part equal values."""
    c = v * (2.0**20 + 1)
    return c - (c - v)


class Spread:
    """A thinning sample of the values of a feature, the smallest and largest ever, mean and deviation of cut values."""

    def __init__(self):
        self.n = 0
        self.level = 0
        self.sample = []  # ascending
        self.mean = 0.0
        self.squares = 0.0

    def count(self, v, level):
        v = short(v)
        self.n += 1
        self.low, self.high = (min(self.low, v), max(self.high, v)) if self.n > 1 else (v, v)
        if level >= self.level:
            bisect.insort(self.sample, v)
            if len(self.sample) == MOST:
                self.sample = self.sample[self.level % 2::2]
                self.level += 1
        if self.n > 16:
            q = self.knots()
            width = q[4] - q[2]
            if width > 0:
                v = min(max(v, q[1] - width), q[5] + width)
        d = v - self.mean
        self.mean += d / self.n
        self.squares += d * (v - self.mean)

    def knots(self):
        return [self.low, *(self.quantile(p) for p in P), self.high]

    def quantile(self, p):
        at = p * (len(self.sample) - 1)
        k = int(at)
        if k + 1 == len(self.sample) or self.sample[k] == self.sample[k + 1]:
            return self.sample[k]
        return self.sample[k] + (at - k) * (self.sample[k + 1] - self.sample[k])

    def rank(self, v):
        q = self.knots()
        first, last = sum(k < v for k in q), sum(k <= v for k in q)
        if last > first and first == 0:
            return LOWEST[last - 1]
        if last > first and last == len(q):
            return -LOWEST[len(q) - 1 - first]
        if last > first:
            return (Z[first] + Z[last - 1]) / 2
        if first in (0, len(q)):
            return Z[0] if first == 0 else Z[-1]
        return Z[first - 1] + (Z[first] - Z[first - 1]) * ((v - q[first - 1]) / (q[first] - q[first - 1]))

    def __call__(self, v):
        v = short(v)
        if self.n < 2:
            return 0.0
        most = min(3.0, math.sqrt(2 * math.log(self.n)))
        ranked = min(max(self.rank(v), -most), most)
        deviation = math.sqrt(self.squares / self.n)
        if not deviation > 1e-9 * abs(self.mean):
            return ranked
        if len(set(self.sample)) <= 12:  # flags, small counts
            return min(max((v - self.mean) / deviation, -most), most)
        off = max(abs((q - self.mean) / deviation - z) for q, z in zip(self.knots()[1:6], Z[1:6]))
        share = min(max((off - 0.3) / 0.3, 0.0), 1.0)
        return share * ranked + (1 - share) * min(max((v - self.mean) / deviation, -most), most)


class Values:
    """What a feature's values were, as far as they were looked at."""

    def __init__(self):
        self.n, self.sum, self.squares, self.real = 0, 0.0, 0.0, False


RATIOS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)  # squared length of columns to words


class Scaling:
    def __init__(self, scale, columns=0):
        """columns: how many features, the first ones, are known to be number columns."""
        if scale not in ("none", "log", "idf", "log-idf", "auto"):
            raise ValueError("unknown scale")
        self.scale = scale
        self.n = 0
        self.df = {}
        self.words = 0       # non-zeros of counts
        self.dense = False   # auto: they stay as they are
        self.looks = False   # auto: values are looked at
        self.numbers = self.counts = False  # auto: some number, some count was seen
        self.values = {}
        self.spread = {f: Spread() for f in range(columns)}
        self.columns = columns
        self.mistakes = [0] * len(RATIOS)

    def nearly_always(self, df):
        return 10 * (df + 2) >= 9 * self.n

    def count(self, raw):
        """One more example, its values as in the data, the constant feature last."""
        if self.dense:
            return
        self.n += 1
        if self.scale == "auto":
            for f in range(self.columns):
                self.spread[f].count(float(raw[f]), level_of(self.n))
            self.numbers |= self.columns > 0
        features = [f for f in range(self.columns if self.scale == "auto" else 0, len(raw)) if raw[f] != 0.0]
        if self.scale == "auto" and self.columns > 0:
            features = [f for f in features if f != len(raw) - 1]
        for f in features:
            self.df[f] = self.df.get(f, 0) + 1
        if self.scale != "auto":
            return
        for f in features:
            v = float(raw[f])
            if v < 0 or v != math.floor(v) or (v >= 32 and 2 * self.df[f] > self.n):
                self.looks = True
        for f in features:
            if f != len(raw) - 1 and f not in self.spread and self.df[f] == 1 and self.nearly_always(1):
                self.spread[f] = Spread()
            if f in self.spread:
                if self.nearly_always(self.spread[f].n + 1):
                    self.spread[f].count(float(raw[f]), level_of(self.n))
                else:
                    del self.spread[f]
        if not self.looks:
            self.words += len(features)
            self.counts = self.words > 0
            if self.n == 32 and not self.numbers and not self.words / 32 < len(self.df) / 8:
                self.dense = True
            return
        for f in features:
            v = float(raw[f])
            if v >= 0 and v == math.floor(v) and 2 * self.df[f] <= self.n:
                continue
            values = self.values.setdefault(f, Values())
            values.n += 1
            values.sum += min(v, 64.0)
            values.squares += v * v
            values.real |= v < 0 or v != math.floor(v)
        for f in features:
            if f != len(raw) - 1:
                count = self.kind(f) == "count"
                self.words += count
                self.counts |= count
                self.numbers |= not count

    def kind(self, f):
        if f < self.columns:
            return "number" if self.spread[f].low < self.spread[f].high else "constant"
        df, values, spread = self.df.get(f, 0), self.values.get(f), self.spread.get(f)
        always = spread is not None and spread.low < spread.high and self.nearly_always(df)
        if values is None:
            return "count"
        if values.real:
            return "number" if always else "sparse"
        often = 2 * df > self.n
        likely = often and self.words <= 32 * self.n
        large = values.n > 0 and values.sum >= 32 * values.n
        known = self.n >= 32 and values.n >= 16
        if not (likely and large) and not (known and (large or (likely and values.sum >= 1.5 * values.n))):
            return "count"
        return "number" if always else "sparse" if often else "count"

    def rarity(self, f):
        return max(math.log((self.n + 1) / max(1, self.df.get(f, 0))), 0.0)

    def one(self, f, v):
        """The scaled value of what is no number, before unit length."""
        if v == 0.0:
            return 0.0
        logarithm = math.copysign(math.log(1.0 + abs(v)), v)
        if self.scale == "log":
            return logarithm
        if self.scale == "idf":
            return v * self.rarity(f)
        if self.scale == "log-idf":
            return logarithm * self.rarity(f)
        return (1.0 + 0.3 * math.log(v)) * self.rarity(f) if v > 0 else 0.0

    def blocks(self, raw):
        """Where numbers were found: they and the constant feature, and counts."""
        number, count = {}, {}
        last = len(raw) - 1
        for f in range(last):
            v = float(raw[f])
            if v == 0.0 and f >= self.columns:
                continue
            kind = self.kind(f)
            if f >= self.columns and self.df.get(f, 0) == 0 and (v < 0 or v != math.floor(v)):
                kind = "sparse"
            if kind == "count":
                count[f] = self.one(f, v)
            elif kind == "number":
                number[f] = self.spread[f](v)
            elif kind == "constant":
                number[f] = 0.0
            else:
                values = self.values.get(f)
                rms = math.sqrt(values.squares / values.n) if values else 0.0
                number[f] = min(max(v / rms, -3.0), 3.0) * math.log(1 + self.n / max(1, self.df.get(f, 0))) if rms > 0 else 0.0
        if raw[last] != 0.0:
            number[last] = min(2.0, math.sqrt(len(number) / 2))
        of_columns, of_words = self.lengths() if self.counts else (1.0, 1.0)
        out = np.zeros(len(raw))
        for block, share in ((number, of_columns), (count, of_words)):
            length = math.sqrt(sum(v * v for v in block.values()))
            for f, v in block.items():
                out[f] = v * share / length if length > 0 else 0.0
        return out

    def lengths(self):
        """Of columns and of words."""
        weights = [math.exp(-0.3 * (m - min(self.mistakes))) for m in self.mistakes]
        return tuple(sum(w * math.sqrt(part / (1 + ratio)) for w, ratio, part in parts) / sum(weights)
                     for parts in ([(w, r, r) for w, r in zip(weights, RATIOS)], [(w, r, 1.0) for w, r in zip(weights, RATIOS)]))

    def parts(self, raw):
        """The scaled columns alone and words alone, without their lengths; nothing if there are not both."""
        if self.scale != "auto" or self.dense or not (self.numbers and self.counts):
            return None
        x = self.blocks(raw)
        last = len(raw) - 1
        word = np.array([f != last and raw[f] != 0.0 and self.kind(f) == "count" for f in range(len(raw))])
        of_columns, of_words = self.lengths()
        return np.where(word, 0.0, x / of_columns), np.where(word, x / of_words, 0.0)

    def learn(self, y, of_columns, of_words):
        for j, ratio in enumerate(RATIOS):
            self.mistakes[j] += y * (math.sqrt(ratio) * of_columns + of_words) <= 0.0

    def __call__(self, x, raw):
        """x scaled: x is prepared, raw the same instance as in the data."""
        if self.scale == "none" or self.dense:
            return x
        if self.numbers:
            return self.blocks(raw)
        out = np.array([self.one(f, float(raw[f])) for f in range(len(raw))])
        length = math.sqrt(sum(float(v) * float(v) for v in out))
        return out / length if length > 0.0 else out


class Scaled:
    """A reference learner of rounds (decide, learn) whose instances are pairs (x prepared, x as in the data)."""

    def __init__(self, learner, scale, columns=0):
        self.learner = learner
        self.scaling = Scaling(scale, columns)

    def decide(self, tasks, pairs, draws):
        for _, raw in pairs:
            self.scaling.count(raw)
        return self.learner.decide(tasks, [self.scaling(*pair) for pair in pairs], draws)

    def decide_instance(self, tasks, pair, draws):
        """A round of one instance shown to many tasks: it is counted once."""
        self.scaling.count(pair[1])
        return self.learner.decide(tasks, [self.scaling(*pair)] * len(tasks), draws)

    def learn(self, task, pair, y, decision):
        parts = self.scaling.parts(pair[1])
        if parts is not None:
            self.scaling.learn(y, *(self.learner.margin(task, part) for part in parts))
        if hasattr(self.learner, "replays"):  # it learns again from kept instances, scaled by what is known then
            return self.learner.learn(task, pair, y, decision, lambda kept: self.scaling(*kept))
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

    def margin(self, task, x):
        return self.learner.margin(task, x)

    def learn(self, task, x, y, decision):
        return self.learner.learn(task, x, y)


def scaled(learner, scale, columns=0):
    """Any reference learner with scale=... before it."""
    return Scaled(learner if hasattr(learner, "decide") else OneByOne(learner), scale, columns)
