"""A problem of C classes as binary tasks on the same x, and how its predictions are judged.

Source: Cohen, Crammer, Multi-task Learning with a Shared Annotator (slides, 13.12.2015), "Contextual Bandits".
  One vs. rest: K = C tasks, the prediction is argmax p, the question to the annotator "is it class j?".
  One vs. one: K = C (C - 1) / 2 tasks, the prediction is by tournament, the question "i or j?", and the
      answer may be 0: neither.

Settled by the notes
  - One vs. one predicts by votes, ties go to the larger sum of margins.
  - A margin of exactly 0 predicts -1: it is a vote for the second class of the pair.

Settled here
  - Pairs are in lexicographic order, (0, 1), (0, 2), ..., (0, C-1), (1, 2), ...; + is the first class.
  - The sum of margins of a class: p of every pair where it is first, -p where it is second, in pair order.
  - What is still tied goes to the first class.  So does a tie of the argmax.
  - Probabilities, of log-odds of all tasks.  One vs. rest: the odds of each class, divided by their sum.  One vs. one
    (Price et al. 1995): 1 / (sum of 1 / r_cj over all j other than c, minus (C - 2)), r_cj the probability of c against j,
    divided by their sum.  If the predicted class has not the largest, it and the first that has exchange theirs.
  - With users, user u has the tasks u K, u K + 1, .., in the order of the tasks above.
"""
import numpy as np

from reference import common


class OneVsRest:
    def __init__(self, C):
        self.C = C
        self.K = C

    def feedback(self, task, truth):
        return 1 if truth == task else -1

    def predict(self, margins):
        best = 0
        for j in range(self.C):
            if margins[j] > margins[best]:
                best = j
        return best


class OneVsOne:
    def __init__(self, C):
        self.C = C
        self.pairs = [(i, j) for i in range(C) for j in range(i + 1, C)]
        self.K = len(self.pairs)

    def feedback(self, task, truth):
        i, j = self.pairs[task]
        if truth == i:
            return 1
        if truth == j:
            return -1
        return 0

    def predict(self, margins):
        votes = [0] * self.C
        sums = [0.0] * self.C
        for task in range(self.K):
            i, j = self.pairs[task]
            p = float(margins[task])
            votes[i if common.predict(p) == 1 else j] += 1
            sums[i] += p
            sums[j] -= p
        best = 0
        for c in range(self.C):
            if votes[c] > votes[best] or (votes[c] == votes[best] and sums[c] > sums[best]):
                best = c
        return best


def probabilities(scheme, log_odds, predicted):
    odds = np.exp(np.asarray(log_odds, dtype=np.float64))
    if isinstance(scheme, OneVsRest):
        p = np.exp(np.asarray(log_odds) - np.max(log_odds))
        p = p / np.sum(p)
    else:
        r = np.zeros((scheme.C, scheme.C))
        for task, (i, j) in enumerate(scheme.pairs):
            r[i, j] = odds[task] / (1.0 + odds[task])
            r[j, i] = 1.0 / (1.0 + odds[task])
        p = np.zeros(scheme.C)
        for c in range(scheme.C):
            p[c] = 1.0 / (sum(1.0 / r[c, j] for j in range(scheme.C) if j != c) - (scheme.C - 2))
        p = p / np.sum(p)
    largest = int(np.argmax(p))
    p[predicted], p[largest] = p[largest], p[predicted]
    return p


one_vs_rest = OneVsRest
one_vs_one = OneVsOne


def confusion(truths, predictions, C):
    """Counts, C x C: rows are the truth, columns the prediction."""
    table = np.zeros((C, C), dtype=np.int64)
    for truth, prediction in zip(truths, predictions):
        table[truth, prediction] += 1
    return table


def error(truths, predictions):
    """Share of wrong predictions; nan of none at all."""
    if len(truths) == 0:
        return float("nan")
    wrong = 0
    for truth, prediction in zip(truths, predictions):
        if truth != prediction:
            wrong += 1
    return wrong / len(truths)


def recalls(truths, predictions, C):
    """Per class, the share of its examples that were predicted so; nan for a class that never occurs."""
    table = confusion(truths, predictions, C)
    result = []
    for c in range(C):
        total = int(sum(table[c]))
        result.append(int(table[c, c]) / total if total > 0 else float("nan"))
    return result
