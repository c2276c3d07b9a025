"""CMTL: the multitask Perceptron with a fixed interaction matrix.

Source: Saha et al., Active Online Multitask Learning, equation (2.1), after Cavallanti et al. 2008.
    p = <w_i, x>;  on a mistake  w_j += y * A^-1[j,i] * x  for every task j.
With query = margin(b), b fixed, this is CMTL-AL (section 3.1).

Settled by the notes: A = I + L for any graph (the paper prints the complete graph only, where
A^-1 = (I + 11^T) / (K + 1)); a mistake is y * p <= 0; p is recomputed when the label arrives.
"""
import numpy as np

from reference import common


class Cmtl:
    def __init__(self, K, d, Ainv=None, query=common.always):
        self.K = K
        self.d = d
        self.Ainv = common.complete(K) if Ainv is None else np.array(Ainv, dtype=np.float64)
        if self.Ainv.shape != (K, K):
            raise ValueError("Ainv must be K x K")
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
        for j in range(self.K):
            self.W[j] = self.W[j] + y * self.Ainv[j, task] * x
        return True
