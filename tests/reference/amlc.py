"""AMLC: active multitask learning with committees.

Source: Xu, Tang, Jebara, Active Multitask Learning with Committees, Algorithm 1.  In its order:
    p_m = <w_m, x> for every task m;  p = sum over ALL m of tau[k,m] p_m                      (lines 5, 6)
    predict h = +1 if p > 0 else -1                                                           (line 7)
    buy the label with probability b / (b + |p|)                                              (line 8)
    With every bought label y, mistake or not:
      w_k += y * x if h != y                                                                  (lines 10, 11)
      tau[k,m] *= exp(-c * l_m / sum of l) for all m, k too; the row is rescaled              (line 12)
      w_m += y * x for every m != k that is wrong and has tau[k,m] >= tau[k,k]                (lines 13 to 15)
    The final model is tau W: its margin is p, and it predicts as in training.                (line 19)

Settled by the notes, where they differ from the text
  - rows = "tasks": tau starts at all ones and each row sums to K (this reproduces the published table).
    rows = "one": tau starts at 1 / K and each row sums to 1 (this is the text).  Nothing else depends on it.
  - l_m = min(cap, (1 - y p_m)_+), cap = 2.  c = ln 30.
  - Line 14, "is wrong": share = "label" compares the prediction of p_m with the label y; share =
    "prediction" compares it with h, as printed; share = "none" leaves the step out.
  - Line 14 uses tau after its update and margins from before every update of the round.
  - A margin of exactly 0 predicts -1, for the committee and for each of its members.

Settled by the text, against which something speaks
  - tau is updated with every bought label: weigh = "bought", the default.  weigh = "mistake" does it only when
    the committee was wrong, as PEER does.  With share = "label" it makes no difference (see the end); with
    share = "prediction" it comes closer to the published table: landmine 0.939 +- 0.001 with 197 labels, spam
    0.865 +- 0.016 with 297 (40 splits), against 0.939 / 210 and 0.835 / 289 with "bought".

Settled here
  - All margins are recomputed when the label arrives.
  - A sum of losses of 0 leaves the row alone.
  - One draw per round, always.  A spent budget only forces `asked` to False.
  - Margins are summed feature by feature, p task by task, in index order: equal weights give equal bits.
    Here this matters more than anywhere else.  With share = "label" and weights that start equal, all tasks
    agree on x, all are right or wrong together, lose alike and so stay tied in tau; tau[k,m] >= tau[k,k] is an
    equality in every round, and each update reaches every task.  So, in exact arithmetic, AMLC is ONE
    perceptron trained on all tasks, asking with probability b / (b + K |p|) for rows = "tasks".  An
    implementation in which equal weights give margins that differ in the last bit breaks these ties at
    random, shares each label with a random part of the tasks, and measures differently.
    `slack` > 0 replaces the test by tau[k,m] >= (1 - slack) tau[k,k]; 0 is the text.
"""
import math

import numpy as np

from reference import common


class Amlc:
    def __init__(self, K, d, b=1.0, c=math.log(30), rows="tasks", share="label", cap=2.0, slack=0.0,
                 weigh="bought"):
        if not (b > 0.0 and c >= 0.0 and cap > 0.0):
            raise ValueError("b and cap must be positive, c must not be negative")
        if rows not in ("tasks", "one") or share not in ("label", "prediction", "none"):
            raise ValueError("unknown rows or share")
        if weigh not in ("bought", "mistake"):
            raise ValueError("unknown weigh")
        self.K = K
        self.d = d
        self.b = b
        self.c = c
        self.total = float(K) if rows == "tasks" else 1.0  # what a row of tau sums to
        self.share = share
        self.cap = cap
        self.slack = slack
        self.weigh = weigh
        self.W = np.zeros((K, d), dtype=np.float64)
        self.tau = np.full((K, K), self.total / K, dtype=np.float64)
        self.shared = []  # the tasks the latest label was shared with

    def margins(self, x):
        p = []
        for m in range(self.K):
            total = 0.0
            for f in range(self.d):
                total += float(self.W[m, f]) * float(x[f])
            p.append(total)
        return p

    def committee(self, task, p):
        total = 0.0
        for m in range(self.K):
            total += float(self.tau[task, m]) * p[m]
        return total

    def score(self, task, x):
        return self.committee(task, self.margins(x))

    def decide(self, task, x, draws):
        margin = self.score(task, x)
        probability = self.b / (self.b + abs(margin))
        return {
            "margin": margin,
            "probability": probability,
            "asked": bool(draws[0] < probability),
            "prediction": common.predict(margin),
            "draws": 1,  # read
        }

    def learn(self, task, x, y):
        """Learns a bought label; returns whether the committee was wrong, so that w_k moved."""
        k = task
        p = self.margins(x)
        h = common.predict(self.committee(k, p))
        x = np.asarray(x, dtype=np.float64)
        mistake = h != y
        if mistake:
            self.W[k] = self.W[k] + y * x
        if mistake or self.weigh == "bought":
            self.trust(k, p, y)
        self.shared = []
        for m in range(self.K):
            if m == k or self.share == "none":
                continue
            reference = y if self.share == "label" else h
            if common.predict(p[m]) == reference:
                continue
            if self.tau[k, m] >= (1.0 - self.slack) * self.tau[k, k]:
                self.W[m] = self.W[m] + y * x
                self.shared.append(m)
        return mistake

    def trust(self, k, p, y):
        loss = [min(self.cap, max(0.0, 1.0 - y * p[m])) for m in range(self.K)]
        total = sum(loss)
        if total == 0.0:
            return
        for m in range(self.K):
            self.tau[k, m] *= math.exp(-self.c * loss[m] / total)
        weight = sum(float(self.tau[k, m]) for m in range(self.K))
        for m in range(self.K):
            self.tau[k, m] *= self.total / weight


def replay(learner, steps, labels=None):
    """A step is {"task", "x", "label", "draws"}; one draw per round, further ones are ignored."""
    bought = 0
    rounds = []
    for step in steps:
        task, x = step["task"], step["x"]
        decision = learner.decide(task, x, step["draws"])
        if labels is not None and bought >= labels:
            decision["asked"] = False
        updated = False
        shared = []
        if decision["asked"]:
            bought += 1
            updated = learner.learn(task, x, step["label"])
            shared = learner.shared
        rounds.append({**decision, "updated": updated, "shared": shared})
    return rounds
