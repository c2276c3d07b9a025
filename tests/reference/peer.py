"""PEER: ask yourself, then the other tasks, then the annotator; and PEER + Share.

Sources
  Murugesan, Carbonell, Active Learning from Peers (the learner), as described and run in
  Xu, Tang, Jebara, Active Multitask Learning with Committees, sections 1, 3.2, 3.3 and 4.2
  (PEER+Share: the same with a bought label handed on to other tasks).

    p_m = <w_m, x> for every task m;  own prediction h = +1 if p_k >= 0 else -1
    P = 1 with probability b / (b + |p_k|)                                   (first draw)
    P = 0: the prediction is h; nothing is learned.
    P = 1: q = sum_{m != k} tau[k,m] p_m;
           Q = 1 with probability bq / (bq + |q|)                            (second draw)
    Q = 0: the prediction is the peers' answer, +1 if q > 0 else -1, and the learner learns it:
           w_k += answer * x
    Q = 1: the prediction is h; the label y is bought, then
           on a mistake (h != y):  w_k += y * x,
               tau[k,m] *= exp(-c * l_m / sum of l) for m != k, l_m = (1 - y p_m)_+, the row rescaled to sum 1;
           mistake or not, sharing:  w_m += y * x for the chosen tasks m != k that are wrong on x.

Settled by the notes
  - The own prediction at margin 0 is +1 (it decides between mistake and no mistake); this holds for the own
    task only.  Everywhere else (the peers' answer, "a task is wrong") a zero margin predicts -1.  So does
    the final model, whose margin score() is the own p_k.
  - tau is K x K with a zero diagonal; each row starts at 1 / (K - 1) and always sums to 1 over m != k.
  - b = 1 and bq = 5 by default.  The exponent has the factor 1: that is c = 1, the default here.

Settled by measurement, where the sources are silent
  - pseudo = "always": the update on the peers' answer takes place whether or not the own prediction agrees.
    pseudo = "mistake" updates only when h differs from the answer.  Landmine needs about 1,245 labels with
    the first and 2,430 with the second (published: 1,206).
  - The prediction that counts for a mistake is h, not the peers'.
  - Sharing follows every bought label, not only those that uncovered a mistake; share = "all" (every task
    m != k that is wrong) is the published PEER+Share.

Settled here
  - share = "peers": only the tasks of at least average trust, tau[k,m] >= 1 / (K - 1), tau after its update.
    A row of equal entries must count as average whatever its rounding, so the test is
    tau[k,m] (K - 1) >= 1 - slack with slack = 1e-9.
  - Every margin within learn() is from before the update, and recomputed when the label arrives.
  - A sum of losses of 0 leaves the row alone.  A single task has no peers: P = 1 buys, without a second draw.
  - The second draw is read only if P = 1.  The peers' answer is learned in the round itself.
  - Once the budget is spent, Q = 1 buys nothing: h stands and nothing is learned.  The peers go on being
    asked, and their answers, which are free, go on being learned.
  - Margins are summed feature by feature, q task by task, in index order: equal weights give equal bits.
"""
import math

import numpy as np

from reference import common


class Peer:
    def __init__(self, K, d, b=1.0, bq=5.0, c=1.0, share="none", pseudo="always", slack=1e-9):
        if not (b > 0.0 and bq > 0.0 and c >= 0.0):
            raise ValueError("b and bq must be positive, c must not be negative")
        if share not in ("none", "peers", "all") or pseudo not in ("always", "mistake"):
            raise ValueError("unknown share or pseudo")
        self.K = K
        self.d = d
        self.b = b
        self.bq = bq
        self.c = c
        self.share = share
        self.pseudo = pseudo
        self.slack = slack
        self.W = np.zeros((K, d), dtype=np.float64)
        self.tau = np.zeros((K, K), dtype=np.float64)
        for k in range(K):
            for m in range(K):
                if m != k:
                    self.tau[k, m] = 1.0 / (K - 1)
        self.shared = []  # the tasks the latest label was shared with

    def margins(self, x):
        p = []
        for m in range(self.K):
            total = 0.0
            for f in range(self.d):
                total += float(self.W[m, f]) * float(x[f])
            p.append(total)
        return p

    def own(self, p_k):
        return 1 if p_k >= 0.0 else -1

    def score(self, task, x):
        return self.margins(x)[task]

    def decide(self, task, x, draws):
        p = self.margins(x)
        probability = self.b / (self.b + abs(p[task]))
        unsure = bool(draws[0] < probability)
        decision = {
            "margin": p[task],
            "probability": probability,
            "unsure": unsure,  # P
            "peer_margin": None,  # q
            "peer_probability": None,
            "asked": False,  # P and Q
            "answer": None,  # the peers' answer if they replace the annotator
            "prediction": self.own(p[task]),
            "draws": 1,  # read so far
        }
        if not unsure:
            return decision
        if self.K == 1:
            decision["asked"] = True
            return decision
        q = 0.0
        for m in range(self.K):
            if m != task:
                q += float(self.tau[task, m]) * p[m]
        decision["peer_margin"] = q
        decision["peer_probability"] = self.bq / (self.bq + abs(q))
        decision["draws"] = 2
        if draws[1] < decision["peer_probability"]:
            decision["asked"] = True
        else:
            decision["answer"] = common.predict(q)
            decision["prediction"] = decision["answer"]
        return decision

    def follow(self, task, x, answer):
        """Learns the peers' answer; returns whether w_k moved."""
        if self.pseudo == "mistake" and self.own(self.margins(x)[task]) == answer:
            return False
        self.W[task] = self.W[task] + answer * np.asarray(x, dtype=np.float64)
        return True

    def learn(self, task, x, y):
        """Learns a bought label; returns whether w_k moved."""
        k = task
        p = self.margins(x)
        x = np.asarray(x, dtype=np.float64)
        mistake = self.own(p[k]) != y
        if mistake:
            self.W[k] = self.W[k] + y * x
            self.trust(k, p, y)
        self.shared = []
        for m in range(self.K):
            if m == k or common.predict(p[m]) == y:
                continue
            if self.share == "all" or (
                self.share == "peers" and self.tau[k, m] * (self.K - 1) >= 1.0 - self.slack
            ):
                self.W[m] = self.W[m] + y * x
                self.shared.append(m)
        return mistake

    def trust(self, k, p, y):
        others = [m for m in range(self.K) if m != k]
        loss = {m: max(0.0, 1.0 - y * p[m]) for m in others}
        total = sum(loss.values())
        if total == 0.0:
            return
        for m in others:
            self.tau[k, m] *= math.exp(-self.c * loss[m] / total)
        weight = sum(float(self.tau[k, m]) for m in others)
        for m in others:
            self.tau[k, m] /= weight


def replay(learner, steps, labels=None):
    """A step is {"task", "x", "label", "draws"}; two draws always suffice, unread ones are ignored."""
    bought = 0
    rounds = []
    for step in steps:
        task, x = step["task"], step["x"]
        decision = learner.decide(task, x, step["draws"])
        updated = False
        shared = []
        if decision["asked"] and labels is not None and bought >= labels:
            decision["asked"] = False
        if decision["asked"]:
            bought += 1
            updated = learner.learn(task, x, step["label"])
            shared = learner.shared
        elif decision["answer"] is not None:
            updated = learner.follow(task, x, decision["answer"])
        rounds.append({**decision, "updated": updated, "shared": shared})
    return rounds
