"""Kernel learners for many tasks in bounded memory.

Source: Cavallanti, Cesa-Bianchi, Memory Constraint Online Multitask Classification.
    K([x,s],[z,t]) = A^-1[s,t] K'(x,z),  A = I + L_G                                         (section 3)
    f_i(x) = sum over the active set of beta_j A^-1[i_j,i] K'(x_j,x);  a mistake is y f <= 0
    MTRBP  (Algorithm 3): beta_t = y;  when B are active, a random one of them leaves.
    MTFORG (section 4.3): the oldest leaves, and all weights shrink.
    MTBPRJ (Algorithm 1): a mistake is projected on the active set when nearer to it than eta, else added;
        when B are active, the one that costs least leaves, and it is projected on the others.
    MTBPRJ-2 (Algorithm 2): the same with projections of K' alone and one weight per instance and task.
KernelPerceptron is the Perceptron with this kernel and no budget; on a graph without edges it is the battery
of independent Perceptrons that the paper compares with.

Settled by the notes, not by the paper
  - MTFORG: the paper prints Psi(beta_r y_r phi, beta_r phi f(x_r)).  Used is Psi(|beta_r| phi, phi y_r f'(x_r)), f'
    the hypothesis with the new instance in it, before shrinking and removal; M counts all mistakes from the
    first on, this one included.  Then Q += Psi, all weights *= phi (the new one too), and the oldest leaves.
  - c_G = max_i sqrt(A^-1[i,i]).  (The paper prints (I + L)_{i,i}^{-1/2}; its sqrt(2/(k+1)) for the complete
    graph says that the inverse comes first.)
  - MTBPRJ: the score that chooses the evicted instance is |beta_j| ||P_perp k_j||; the paper lacks the
    absolute value.  With H the Gram matrix of the active set and the new instance,
    ||P_perp k_j||^2 = 1 / (H^-1)_jj and gamma_j = -(H^-1)_jr / (H^-1)_rr.  The newest is no candidate, but
    it takes part in the projection: its weight changes as well.
  - MTBPRJ-2, line 14: beta_l[j] += gamma_j beta_l[r], without the factor A^-1.
  - Squared distances are clamped at 0.

Settled here
  - Kernels are taken of prepared instances; preparing (or not) is the caller's.
  - Algorithm 1, line 5, prints ||P_perp K|| <= eta: the distance is compared, not its square, and equality
    projects.  eta = 0 is allowed; the paper wants eta > 0, and a Gram matrix may be singular without it.
  - Empty active set: the span is {0} and the distance is sqrt(K([x,i],[x,i])).  If that is <= eta, the
    instance is projected on nothing: a mistake, and no change.  So a vector of zeros is never added by the
    projecting learners.
  - Both compare with half the length of the instance where eta is larger: otherwise every instance of a large clique,
    or of small values, is projected on nothing.
  - learn() returns True on every mistake, also when it changed nothing.
  - Ties of the score go to the oldest.  Active instances are kept in order of arrival.
  - Algorithm 2, line 8, prints |S| <= B, which would let B + 1 in; Algorithms 1 and 3 print |S| < B, used here.
  - Algorithm 2 stores (beta_l)_j with A^-1 already in it (lines 6 and 10).  Here b_j[t] is the weight that
    mistakes of task t gave to instance j, and (beta_l)_j = sum_t A^-1[l,t] b_j[t].  Both steps of the
    algorithm are linear and do not touch the task, so the two are the same learner.
  - MTBPRJ-2 evicts the smallest ||d_j||, d_j[l] = (beta_l)_j ||P'_perp k_j|| (below Algorithm 2), and the paper
    says why: d_j[l] is the damage to the l-th prediction function.  That needs beta, not b: b has a single
    entry for an instance that erred once, while all related functions use it.  So the score is
    sqrt(sum_l (beta_l)_j^2) ||P'_perp k_j||, with l over all tasks, and not sqrt(b_j^T A^-1 b_j) ||..||, which
    would be the norm lost in the space of the multitask kernel.
  - MTFORG when K'(x,x) is not 1.  The paper assumes K'(x,x) = 1 (section 3).  Dividing a kernel by a constant
    changes no prediction of a Perceptron, so the paper's learner is run on K'/scale, which its analysis covers,
    and everything is written in the units of K':
        Psi(a, m) = scale (c_G^2 a^2 + 2 c_G a) - 2 a m,    bound = (15/32) scale c_G^2 M.
    (c_G sqrt(scale) in place of c_G would not do: the term 2 c_G a would then grow as sqrt(scale), the others
    as scale, and the bound rests on 2 c_G - c_G^2 >= c_G^2, which holds for c_G <= 1 only.)
    scale = "seen": the largest K'(x,x) among the mistakes so far, this one included; what Q has gathered
    stays as it is.  A number: that number ("1" is the formula as printed).  Both are 1 for the Gaussian
    kernel, and for the linear one on unit-norm instances up to rounding.
  - Psi is a quadratic in phi; it is solved in closed form.  Q <= bound always holds before, as M has grown.
  - MTRBP: draw u in [0, 1) evicts the instance number floor(u B), the oldest being 0.  A learner that need not
    evict does not look at the draw.
"""
import math

import numpy as np

from reference import common


# ---- kernels of instances, K'

def linear():
    def kernel(x, z):
        return float(np.dot(x, z))
    return kernel


def polynomial(degree, offset=1.0):
    if degree < 1 or degree != int(degree):
        raise ValueError("degree must be a whole number from 1 on")
    if offset < 0.0:
        raise ValueError("offset must not be negative")

    def kernel(x, z):
        return (offset + float(np.dot(x, z))) ** int(degree)
    return kernel


def gaussian(gamma):
    if not gamma > 0.0:
        raise ValueError("gamma must be positive")

    def kernel(x, z):
        difference = np.asarray(x) - np.asarray(z)
        return math.exp(-gamma * float(np.sum(difference * difference)))
    return kernel


# ---- projections

def project(H, k, kk):
    """The coefficients of the projection on the span whose Gram matrix is H, and the distance to it.

    k: inner products with those that span; kk: squared norm of the projected vector.
    """
    if len(H) == 0:
        return np.zeros(0), math.sqrt(max(kk, 0.0))
    k = np.asarray(k, dtype=np.float64)
    alpha = np.dot(np.linalg.inv(H), k)
    return alpha, math.sqrt(max(kk - float(np.dot(k, alpha)), 0.0))


def distances(H):
    """Of each vector from the span of all the others; H is the Gram matrix of them all."""
    inverse = np.linalg.inv(H)
    return [math.sqrt(max(1.0 / inverse[j, j], 0.0)) for j in range(len(H))]


def coefficients(H, r):
    """gamma: the projection of vector r on the span of all the others; gamma[r] = 0."""
    inverse = np.linalg.inv(H)
    gamma = np.zeros(len(H), dtype=np.float64)
    for j in range(len(H)):
        if j != r:
            gamma[j] = -inverse[j, r] / inverse[r, r]
    return gamma


# ---- learners

def _check_budget(B):
    if not B >= 1 or (B != math.inf and B != int(B)):
        raise ValueError("B must be a whole number from 1 on, or infinite")
    return B


class KernelPerceptron:
    """No budget.  The same instance met twice is two support vectors."""

    def __init__(self, K, kernel, Ainv, query=common.always):
        self.K = K
        self.kernel = kernel
        self.Ainv = np.array(Ainv, dtype=np.float64)
        if self.Ainv.shape != (K, K):
            raise ValueError("Ainv must be K x K")
        self.query = query
        self.X = []  # the active set: instances, tasks and weights, oldest first
        self.tasks = []
        self.beta = []

    def multitask(self, x, s, z, t):
        return float(self.Ainv[s, t]) * self.kernel(x, z)

    def margin(self, task, x):
        x = np.asarray(x, dtype=np.float64)
        p = 0.0
        for j in range(len(self.X)):
            p += self.beta[j] * self.multitask(self.X[j], self.tasks[j], x, task)
        return p

    def ask(self, task, margin, draw):
        return self.query(margin, draw)

    def probability(self, task, margin):
        return self.ask(task, margin, 0.0)[0]

    def learn(self, task, x, y, draw=None):
        x = np.array(x, dtype=np.float64)
        if y * self.margin(task, x) > 0.0:
            return False
        self.mistake(task, x, y, draw)
        return True

    def mistake(self, task, x, y, draw):
        self.add(task, x, y)

    def add(self, task, x, y):
        self.X.append(x)
        self.tasks.append(task)
        self.beta.append(float(y))

    def remove(self, r):
        del self.X[r]
        del self.tasks[r]
        del self.beta[r]


class BudgetRandom(KernelPerceptron):
    """MTRBP."""

    def __init__(self, K, kernel, Ainv, B, query=common.always):
        super().__init__(K, kernel, Ainv, query)
        self.B = _check_budget(B)

    def mistake(self, task, x, y, draw):
        if len(self.X) >= self.B:
            if draw is None:
                raise ValueError("an eviction needs a draw")
            self.remove(min(int(math.floor(draw * self.B)), self.B - 1))
        self.add(task, x, y)


class BudgetForgetron(KernelPerceptron):
    """MTFORG, self-tuned."""

    def __init__(self, K, kernel, Ainv, B, query=common.always, scale="seen"):
        super().__init__(K, kernel, Ainv, query)
        self.B = _check_budget(B)
        if scale != "seen" and not scale > 0.0:
            raise ValueError('scale must be positive or "seen"')
        self.seen = scale == "seen"
        self.scale = 0.0 if self.seen else float(scale)
        self.c = max(math.sqrt(self.Ainv[i, i]) for i in range(K))
        self.M = 0
        self.Q = 0.0
        self.phi = 1.0  # of the last mistake

    def psi(self, a, m):
        return self.scale * (self.c ** 2 * a ** 2 + 2.0 * self.c * a) - 2.0 * a * m

    def bound(self):
        return 15.0 / 32.0 * self.scale * self.c ** 2 * self.M

    def shrinkage(self, a, m):
        """The largest phi in (0, 1] with psi(a phi, phi m) + Q <= bound."""
        if self.psi(a, m) + self.Q <= self.bound():
            return 1.0
        # p phi^2 + q phi + s crosses 0 once between phi = 0, where it is s < 0, and phi = 1, where it is
        # positive: whatever the sign of p, at the root (-q + sqrt(q^2 - 4 p s)) / (2 p), written so that p may be 0
        p = self.scale * self.c ** 2 * a ** 2 - 2.0 * a * m
        q = self.scale * 2.0 * self.c * a
        s = self.Q - self.bound()
        return -2.0 * s / (q + math.sqrt(max(q * q - 4.0 * p * s, 0.0)))

    def mistake(self, task, x, y, draw):
        self.M += 1
        if self.seen:
            self.scale = max(self.scale, self.kernel(x, x))
        full = len(self.X) >= self.B
        self.add(task, x, y)
        self.phi = 1.0
        if not full:
            return
        a = abs(self.beta[0])
        sign = 1.0 if self.beta[0] > 0.0 else -1.0
        m = sign * self.margin(self.tasks[0], self.X[0])  # y_r f'(x_r)
        self.phi = self.shrinkage(a, m)
        self.Q += self.psi(a * self.phi, self.phi * m)
        for j in range(len(self.beta)):
            self.beta[j] *= self.phi
        self.remove(0)


class BudgetProjectron(KernelPerceptron):
    """MTBPRJ."""

    def __init__(self, K, kernel, Ainv, B, eta=0.01, query=common.always):
        super().__init__(K, kernel, Ainv, query)
        self.B = _check_budget(B)
        if not eta >= 0.0:
            raise ValueError("eta must not be negative")
        self.eta = eta

    def gram(self):
        n = len(self.X)
        H = np.zeros((n, n), dtype=np.float64)
        for i in range(n):
            for j in range(n):
                H[i, j] = self.multitask(self.X[i], self.tasks[i], self.X[j], self.tasks[j])
        return H

    def mistake(self, task, x, y, draw):
        k = [self.multitask(self.X[j], self.tasks[j], x, task) for j in range(len(self.X))]
        length = math.sqrt(self.multitask(x, task, x, task))
        alpha, distance = project(self.gram(), k, length * length)
        if distance <= min(self.eta, length / 2):
            for j in range(len(self.X)):
                self.beta[j] += y * alpha[j]
            return
        self.add(task, x, y)
        if len(self.X) <= self.B:
            return
        H = self.gram()  # the new instance is the last
        lost = distances(H)
        r = 0
        for j in range(len(self.X) - 1):
            if abs(self.beta[j]) * lost[j] < abs(self.beta[r]) * lost[r]:
                r = j
        gamma = coefficients(H, r)
        for j in range(len(self.X)):
            if j != r:
                self.beta[j] += self.beta[r] * gamma[j]
        self.remove(r)


class BudgetProjectronShared(BudgetProjectron):
    """MTBPRJ-2.  beta[j] is a vector, the b_j of above: one weight per task.  tasks[j] is of no use here."""

    def margin(self, task, x):
        x = np.asarray(x, dtype=np.float64)
        p = 0.0
        for j in range(len(self.X)):
            for t in range(self.K):
                if self.beta[j][t] != 0.0:
                    p += self.beta[j][t] * self.multitask(self.X[j], t, x, task)
        return p

    def weights(self, j):
        """(beta_l)_j of the paper, for l = 0 .. K-1."""
        return [sum(float(self.Ainv[l, t]) * self.beta[j][t] for t in range(self.K)) for l in range(self.K)]

    def add(self, task, x, y):
        self.X.append(x)
        self.tasks.append(task)
        b = np.zeros(self.K, dtype=np.float64)
        b[task] = float(y)
        self.beta.append(b)

    def gram(self):
        n = len(self.X)
        H = np.zeros((n, n), dtype=np.float64)
        for i in range(n):
            for j in range(n):
                H[i, j] = self.kernel(self.X[i], self.X[j])
        return H

    def mistake(self, task, x, y, draw):
        k = [self.kernel(self.X[j], x) for j in range(len(self.X))]
        length = math.sqrt(self.kernel(x, x))
        alpha, distance = project(self.gram(), k, length * length)
        if distance <= min(self.eta, length / 2):
            for j in range(len(self.X)):
                self.beta[j][task] += y * alpha[j]
            return
        self.add(task, x, y)
        if len(self.X) <= self.B:
            return
        H = self.gram()  # the new instance is the last
        lost = distances(H)
        norm = [math.sqrt(sum(w * w for w in self.weights(j))) for j in range(len(self.X))]
        r = 0
        for j in range(len(self.X) - 1):
            if norm[j] * lost[j] < norm[r] * lost[r]:
                r = j
        gamma = coefficients(H, r)
        for j in range(len(self.X)):
            if j != r:
                self.beta[j] = self.beta[j] + gamma[j] * self.beta[r]
        self.remove(r)
