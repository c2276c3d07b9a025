"""SHAMPO: tasks that share one annotator, of first and of second order, and the rule that chooses.

Source: Cohen, Crammer, Multi-task Learning with a Shared Annotator (slides, 13.12.2015).  Per round:
    every example of the round is predicted, one of them is chosen, its label is bought.
  First order
    p_j = <w_j, x_j>
    Pr[j] proportional to a_j / (b + |p_j| - min_m |p_m|)                ("Perceptron SHAMPO", "with prior")
    on a mistake, or when right but |p| < lambda:  w += y x              ("Perceptron", "Aggressive perceptron")
  Second order, A = I and w = 0 at first
    p = x^T (A + x x^T)^-1 w,  r = x^T A^-1 x
    not aggressive: chosen as in the first order, updated on a mistake
    aggressive: F = (1+r) p^2 + 2|p| - r/(1+r);  Pr[j] proportional to 1 / (b + max(F_j, 0));
        updated if F <= 0 or on a mistake
    update: A += x x^T,  w += y x
  Adaptive b: b_j = N_j^kappa Q^eta.  A label may be 0, "neither": no update, a random one, or the weak one
    w += eta sign(p) x.  Baselines: uniform, the smallest |p|, and all labels.

Settled by the notes
  - Preprocessing is the caller's (common.prepare).  A margin of exactly 0 predicts -1; sign(p) is that
    prediction.  A mistake is y * p <= 0, so a zero margin always updates, whatever y is.
  - Adaptive: 1 is added to both counts, b_j = b (1 + N_j)^kappa (1 + Q)^eta.  N_j is the number of updates
    of task j so far, Q the number of labels bought so far for task j ("own") or for all tasks ("all").
  - Second order, diagonal: A is a diagonal D, D += x * x, and p = x^T D^-1 w / (1 + r).  That is
    x^T (D + x x^T)^-1 w with x x^T whole; with only the diagonal of x x^T it would be another number.

Settled here
  - A round is a list of examples; a task may be absent or occur more than once.  All are judged by the
    weights and the counts from before the round.  min |p_m| is over all examples of the round, and stays so
    in every draw of the round.
  - labels_per_round = n: n draws without replacement, one u in [0, 1) each.  Among the examples not yet
    chosen, in round order, with total weight W, the first whose cumulative weight exceeds u * W is chosen
    (the last of them if rounding leaves none).  A round with at most n examples asks for all of them with
    probability 1 and draws nothing; so does choose = "all".
  - probability of an example: weight / W at the draw that chose it; if none did, weight / W at the last draw.
    It is not the inclusion probability when n > 1.
  - choose = "uniform": the weight is a_j alone.  choose = "smallest": no draw; the n smallest |p| (aggressive
    second order: the n smallest F, below 0 too), ties to the earlier; probability is 1 or 0.
  - prior = "counts": a_j = (1 + M_j) / (2 + Z_j), the share of mistakes, smoothed.  M_j counts the answers +1
    and -1 of the annotator that were mistakes (y p <= 0); an answer 0 is none, also when zero = "random" makes
    a label of it.  A prior applies to the aggressive second order as well.
  - N_j counts every change of w_j: mistakes, aggressive updates, random and weak ones.  Z_j counts every
    bought label, also 0, and is counted before anything else.
  - zero = "random": y = +1 if draw < 0.5 else -1, then as if the annotator had said y.
  - Weak update of the second order: w += eta sign(p) x, A stays.
  - A right answer with |p| = lambda is not updated (strictly less).
  - learn() recomputes p from the weights of the moment.
"""
import numpy as np

from reference import common


class Chooser:
    """Which examples of a round are asked for; doubts[i] is small where example i is doubtful."""

    def __init__(self, K, b=1.0, prior="equal", adaptive=None, choose="margin", labels_per_round=1):
        if not b > 0.0:
            raise ValueError("b must be positive")
        if choose not in ("margin", "uniform", "smallest", "all"):
            raise ValueError("unknown choose")
        if isinstance(prior, str):
            if prior not in ("equal", "counts"):
                raise ValueError("unknown prior")
        elif len(prior) != K or not all(a > 0.0 for a in prior):
            raise ValueError("a prior is one positive number per task")
        if adaptive is not None and adaptive[2] not in ("own", "all"):
            raise ValueError("unknown queries")
        if labels_per_round < 1:
            raise ValueError("labels_per_round must be at least 1")
        self.K = K
        self.b = b
        self.prior = prior
        self.adaptive = adaptive
        self.mode = choose
        self.labels_per_round = labels_per_round
        self.N = [0] * K  # updates
        self.M = [0] * K  # answers +1 or -1 that were mistakes
        self.Z = [0] * K  # labels bought

    def bought(self, task):
        self.Z[task] += 1

    def mistaken(self, task):
        self.M[task] += 1

    def updated(self, task):
        self.N[task] += 1

    def prior_of(self, task):
        if self.prior == "equal":
            return 1.0
        if self.prior == "counts":
            return (1.0 + self.M[task]) / (2.0 + self.Z[task])
        return float(self.prior[task])

    def b_of(self, task):
        if self.adaptive is None:
            return self.b
        kappa, eta, queries = self.adaptive
        Q = self.Z[task] if queries == "own" else sum(self.Z)
        return self.b * (1.0 + self.N[task]) ** kappa * (1.0 + Q) ** eta

    def weights(self, tasks, doubts, shift=True):
        """shift: the smallest doubt of the round is subtracted; otherwise doubts below 0 count as 0."""
        weights = []
        for i in range(len(tasks)):
            a = self.prior_of(tasks[i])
            if self.mode == "uniform":
                weights.append(a)
                continue
            excess = doubts[i] - min(doubts) if shift else max(doubts[i], 0.0)
            weights.append(a / (self.b_of(tasks[i]) + excess))
        return weights

    def choose(self, tasks, doubts, draws, shift=True):
        """One {"probability", "asked", "draw"} per example; draws are the u's, read from the first on."""
        n = len(tasks)
        if self.mode == "all" or n <= self.labels_per_round:
            return [{"probability": 1.0, "asked": True, "draw": None} for i in range(n)]
        result = [{"probability": 0.0, "asked": False, "draw": None} for i in range(n)]
        if self.mode == "smallest":
            for _ in range(self.labels_per_round):
                best = None
                for i in range(n):
                    if not result[i]["asked"] and (best is None or doubts[i] < doubts[best]):
                        best = i
                result[best] = {"probability": 1.0, "asked": True, "draw": None}
            return result
        weights = self.weights(tasks, doubts, shift)
        for k in range(self.labels_per_round):
            u = draws[k]
            left = [i for i in range(n) if not result[i]["asked"]]
            total = 0.0
            for i in left:
                total += weights[i]
            chosen = left[-1]
            cumulative = 0.0
            for i in left:
                cumulative += weights[i]
                if cumulative > u * total:
                    chosen = i
                    break
            for i in left:
                result[i]["probability"] = weights[i] / total
            result[chosen]["asked"] = True
            result[chosen]["draw"] = u
        return result


def _check_zero(zero):
    if zero in ("ignore", "random"):
        return
    if isinstance(zero, str) or zero[0] != "weak" or not zero[1] > 0.0:
        raise ValueError("zero is \"ignore\", \"random\" or (\"weak\", eta), eta positive")


def _random_label(draw):
    if draw is None:
        raise ValueError("a random update needs a draw")
    return 1 if draw < 0.5 else -1


class Shampo:
    def __init__(self, K, d, b=1.0, aggressive=0.0, prior="equal", adaptive=None, choose="margin", zero="ignore",
                 labels_per_round=1):
        if not aggressive >= 0.0:
            raise ValueError("aggressive must not be negative")
        _check_zero(zero)
        self.K = K
        self.d = d
        self.aggressive = aggressive
        self.zero = zero
        self.chooser = Chooser(K, b, prior, adaptive, choose, labels_per_round)
        self.W = np.zeros((K, d), dtype=np.float64)

    def margin(self, task, x):
        return float(np.dot(self.W[task], np.asarray(x, dtype=np.float64)))

    def decide(self, tasks, xs, draws):
        margins = [self.margin(task, x) for task, x in zip(tasks, xs)]
        doubts = [abs(p) for p in margins]
        chosen = self.chooser.choose(tasks, doubts, draws)
        return [{"margin": p, **c} for p, c in zip(margins, chosen)]

    def learn(self, task, x, y, draw=None):
        """Learns a bought label, +1, -1 or 0 ("neither"); returns whether w moved."""
        x = np.asarray(x, dtype=np.float64)
        p = self.margin(task, x)
        self.chooser.bought(task)
        answered = y != 0
        if not answered:
            if self.zero == "ignore":
                return False
            if self.zero != "random":
                self.W[task] = self.W[task] + self.zero[1] * common.predict(p) * x
                self.chooser.updated(task)
                return True
            y = _random_label(draw)
        mistake = y * p <= 0.0
        if mistake and answered:
            self.chooser.mistaken(task)
        if not mistake and not abs(p) < self.aggressive:
            return False
        self.W[task] = self.W[task] + y * x
        self.chooser.updated(task)
        return True


class SecondOrder:
    def __init__(self, K, d, b=1.0, aggressive=False, diagonal=False, prior="equal", adaptive=None, choose="margin",
                 zero="ignore", labels_per_round=1):
        _check_zero(zero)
        self.K = K
        self.d = d
        self.aggressive = aggressive
        self.diagonal = diagonal
        self.zero = zero
        self.chooser = Chooser(K, b, prior, adaptive, choose, labels_per_round)
        self.W = np.zeros((K, d), dtype=np.float64)
        if diagonal:
            self.A = np.ones((K, d), dtype=np.float64)
        else:
            self.A = np.array([np.eye(d) for _ in range(K)])

    def confidence(self, task, x):
        """r = x^T A^-1 x."""
        x = np.asarray(x, dtype=np.float64)
        if self.diagonal:
            return float(np.sum(x * x / self.A[task]))
        return float(x @ np.linalg.inv(self.A[task]) @ x)

    def margin(self, task, x):
        x = np.asarray(x, dtype=np.float64)
        if self.diagonal:
            return float(np.sum(x * self.W[task] / self.A[task])) / (1.0 + self.confidence(task, x))
        return float(x @ np.linalg.inv(self.A[task] + np.outer(x, x)) @ self.W[task])

    def doubt(self, task, x):
        """What the choice goes by: |p|, or F."""
        p = self.margin(task, x)
        if not self.aggressive:
            return abs(p)
        r = self.confidence(task, x)
        return (1.0 + r) * p * p + 2.0 * abs(p) - r / (1.0 + r)

    def decide(self, tasks, xs, draws):
        margins = [self.margin(task, x) for task, x in zip(tasks, xs)]
        doubts = [self.doubt(task, x) for task, x in zip(tasks, xs)]
        chosen = self.chooser.choose(tasks, doubts, draws, shift=not self.aggressive)
        return [{"margin": p, **c} for p, c in zip(margins, chosen)]

    def learn(self, task, x, y, draw=None):
        """Learns a bought label, +1, -1 or 0 ("neither"); returns whether w moved."""
        x = np.asarray(x, dtype=np.float64)
        p = self.margin(task, x)
        self.chooser.bought(task)
        answered = y != 0
        if not answered:
            if self.zero == "ignore":
                return False
            if self.zero != "random":
                self.W[task] = self.W[task] + self.zero[1] * common.predict(p) * x
                self.chooser.updated(task)
                return True
            y = _random_label(draw)
        mistake = y * p <= 0.0
        if mistake and answered:
            self.chooser.mistaken(task)
        if not mistake and not (self.aggressive and self.doubt(task, x) <= 0.0):
            return False
        if self.diagonal:
            self.A[task] = self.A[task] + x * x
        else:
            self.A[task] = self.A[task] + np.outer(x, x)
        self.W[task] = self.W[task] + y * x
        self.chooser.updated(task)
        return True
