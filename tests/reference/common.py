"""Shared parts of the slow reference learners: instances, interaction matrices, query rules.

Sources
  Cavallanti, Cesa-Bianchi, memory-constrained online multitask learning, section 3: L_G[i,i] = degree of
      task i, L_G[i,j] = -1 on an edge, 0 elsewhere; A_G = I + L_G.  A^-1 is inverted numerically here,
      never by a closed form, so that closed forms can be tested against it.
  Saha et al., Active Online Multitask Learning, section 3.1: ask with probability b / (b + |margin|).

Settled by the notes, not by the papers
  - An instance gets a constant feature 1 first and is scaled to unit L2 norm second (so the constant
    feature takes part in the norm).  Both can be switched off.  A zero vector stays zero.
  - A margin of exactly 0 predicts -1.
  - The edges of a graph are a set: (i, j), (j, i) and repetitions are one edge; loops are refused.
  - A rule that draws asks when draw < probability, draw in [0, 1); "always" consumes no draw.
"""
import numpy as np


def prepare(x, bias=True, normalize=True):
    x = np.array(x, dtype=np.float64)
    if bias:
        x = np.append(x, 1.0)
    if normalize:
        norm = np.sqrt(np.sum(x * x))
        if norm > 0.0:
            x = x / norm
    return x


def predict(margin):
    return 1 if margin > 0.0 else -1


def laplacian(K, pairs):
    L = np.zeros((K, K), dtype=np.float64)
    for i in range(K):
        for j in range(K):
            if (i, j) in pairs or (j, i) in pairs:
                L[i, j] = -1.0
                L[i, i] += 1.0
    return L


def edges(K, pairs):
    pairs = {(int(i), int(j)) for i, j in pairs}
    for i, j in pairs:
        if i == j or not (0 <= i < K and 0 <= j < K):
            raise ValueError(f"not an edge between two of {K} tasks: ({i}, {j})")
    return np.linalg.inv(np.eye(K) + laplacian(K, pairs))


def complete(K):
    return edges(K, [(i, j) for i in range(K) for j in range(i)])


def disconnected(K):
    return edges(K, [])


def cliques(groups):
    K = len(groups)
    return edges(K, [(i, j) for i in range(K) for j in range(i) if groups[i] == groups[j]])


def always(margin, draw):
    return 1.0, True


def random(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError("p must lie in [0, 1]")
    return lambda margin, draw: _flip(p, draw)


def margin(b):
    if not b > 0.0:
        raise ValueError("b must be positive")
    return lambda margin, draw: _flip(b / (b + abs(margin)), draw)


def _flip(probability, draw):
    if draw is None:
        raise ValueError("this query rule needs a draw")
    return float(probability), bool(draw < probability)
