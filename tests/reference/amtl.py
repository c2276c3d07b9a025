"""AMTL: the multitask Perceptron with an adaptive interaction matrix.

Source: Saha et al., Active Online Multitask Learning, equation (3.1) and section 3.1.
    U[j,i] = exp(-||w_j - w_i||^2)
    p = <w_i, x>;  on a mistake  w_j += y * A^-1[j,i] * U[j,i] * x  for every task j.
    AMTL-AL (query = "similarity"): ask with probability b / (b + |p|), b = sum_j U[i,j].

Settled by the notes: U is taken on the weights before the update, for all j at once; U[i,i] = 1 belongs
to the sum b (so 1 <= b <= K, and all K tasks count whatever the graph is); a mistake is y * p <= 0; p and
U are recomputed when the label arrives.  Distances are computed from scratch, weight by weight.
"""
import numpy as np

from reference import common


class Amtl:
    def __init__(self, K, d, Ainv=None, query=common.always):
        self.K = K
        self.d = d
        self.Ainv = common.complete(K) if Ainv is None else np.array(Ainv, dtype=np.float64)
        if self.Ainv.shape != (K, K):
            raise ValueError("Ainv must be K x K")
        self.query = query
        self.W = np.zeros((K, d), dtype=np.float64)

    def U(self):
        U = np.zeros((self.K, self.K), dtype=np.float64)
        for i in range(self.K):
            for j in range(self.K):
                U[i, j] = np.exp(-np.sum((self.W[i] - self.W[j]) ** 2))
        return U

    def margin(self, task, x):
        return float(np.dot(self.W[task], np.asarray(x, dtype=np.float64)))

    def ask(self, task, margin, draw):
        if self.query == "similarity":
            return common.margin(np.sum(self.U()[task]))(margin, draw)
        return self.query(margin, draw)

    def probability(self, task, margin):
        return self.ask(task, margin, 0.0)[0]

    def learn(self, task, x, y):
        x = np.asarray(x, dtype=np.float64)
        p = self.margin(task, x)
        if y * p > 0.0:
            return False
        U = self.U()
        for j in range(self.K):
            self.W[j] = self.W[j] + y * self.Ainv[j, task] * U[j, task] * x
        return True
