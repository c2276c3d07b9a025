"""K independent Perceptrons (the baseline "STL").

Source: Saha et al., Active Online Multitask Learning, section 5, item (e).
    p = <w_i, x>;  on a mistake  w_i += y * x.

Settled by the notes: a mistake is y * p <= 0, so a zero margin always updates, whatever y is.
learn() recomputes p from the weights of the moment; the label may arrive long after the prediction.
"""
import numpy as np

from reference import common


class Perceptron:
    def __init__(self, K, d, query=common.always):
        self.K = K
        self.d = d
        self.query = query
        self.W = np.zeros((K, d), dtype=np.float64)

    def margin(self, task, x):
        return float(np.dot(self.W[task], np.asarray(x, dtype=np.float64)))

    def ask(self, task, margin, draw):
        return self.query(margin, draw)

    def probability(self, task, margin):
        return self.ask(task, margin, 0.0)[0]

    def learn(self, task, x, y):
        x = np.asarray(x, dtype=np.float64)
        p = self.margin(task, x)
        if y * p > 0.0:
            return False
        self.W[task] = self.W[task] + y * x
        return True
