"""cohort: shared and own weights, each with a variance.

Source: the header comments of algorithms/cohort/*.h and weights/calibration.h. d features, K tasks; w_k and s (two means k = 0, 1,
and the variance of the shared weights), v_ki and t_i (of task i's own); w = v = 0 and s = t = 1 at first. With users and classes, tasks are in
G groups, a group for each class: user u has the tasks u G, u G + 1, .., u G + G - 1, task i is of group i mod G, and each group
has a w and s of its own; below w and s are those of the task's group. Of an instance x of task i:
    p_k = E <w_k, x> + O <v_ki, x>,   p = (1 - u) p_0 + u p_1,   r = E^2 sum_f s_f x_f^2 + O^2 sum_f t_if x_f^2
  Leaning j = 1 .. 5: E_j^2 + O_j^2 = 1.2, O_j^2 / E_j^2 = 1/32, 1/8, 1/2, 2, 8; m_j counts the labels bought so far that
    p_j = E_j <w, x> + O_j <v_i, x>, w = (1 - u) w_0 + u w_1 and v_i likewise, would have got wrong; E and O are the means of E_j
    and O_j weighted by exp(-eta m_j).
  Second mean: u is the mean of u_j = 0, 1/4, 1/2, 3/4, 1 weighted by exp(-eta m'_j), m'_j the labels bought so far that
    (1 - u_j) p_0 + u_j p_1 would have got wrong, and 0, 3, 6, 9, 12 more.
  Decide, a round: margin p, plus (ln cost + c') / a, at most 100, a and c of the calibration. l = ln((n_+ + 1) / (n_- + 1)), v = 1 /
    (n_+ + 1) + 1 / (n_- + 1), n of all groups; c' = 0 if c l <= 0, else c max(0, 1 - v / l^2), times
    k / (k + 30) if the cost is equal, k the smaller of n_+ and n_-.
    With cost "balanced" it is instead t / (t + 200) (c - ln(q / (1 - q))) / a, at most 100 either way, 0 while t = 0: q the mean of
    the calibration's probabilities (from 10^-6 to 1 - 10^-6) of the p of examples not asked about, and of labelled ones before they
    are learned, since labels of 5 positives and 5 negatives were bought, t their number, at most 2000; each is counted as 1 / t, itself among the t.
    doubt = slope of the calibration times |p|; the query rule. Then, in the round's order, every
    example that the rule does not ask about is guessed.
  Learn, a bought label y: labels of the task + 1; 64 guesses left; m_j, m'_j, E, O, u anew; p_k, p, r anew; calibration.add(p, y,
    probability of asking); n_y of the task's group + 1; q = (n_y + 1) / (n_-y + 1), nu = noise q^(3/4 if q > 1 else 1/4);
    nu_0 = nu, nu_1 = 20 nu, a_k = max(0, 1 - y p_k) / (r + nu_k), and with z = E x
      w_k += a_k y s z,  if a_0 > 0 s -= (s z)^2 / (r + 2 nu)    (s on the right is the old one),
    and with z = O x the same in v_ki and t_i.
  Replay, before the example is kept with its a_k: that many of the kept ones, in turn, scaled anew, with p_k, r and nu of
    now: a_k' = max(0, a_k + (1 - y p_k - nu_k a_k) / (r + nu_k)), at most 1 / noise for k = 0 and 1 / (20 noise) for k = 1,
    w_k and v_ki moved by (a_k' - a_k) y s z, s and t not; a_k = a_k'.
    The latest 512 are kept; instead of being dropped the oldest becomes the newest while its class has less than a
    quarter of them and of their non-zeros; if it was next in turn, it still is. Label n replays `replays` of them, from
    the 512th on replays * (512 / n) ** (3 / 4) on average.
  Guess, while guesses are left: y = sign(p); the same with nu = noise and without the variances, a_k times
      guess * n / (n + 60) * tanh(|D| / 2) * sqrt(|p| / sqrt(p^2 + r)) * min(1, (g_-y + 0.1) / (g_y + 0.1))^3,
    n the labels bought for the task, D the log-odds of p by the calibration, g_y the sum of these weights of the task's guesses y so far. One guess less is left.
  Query "confidence": ask with probability 1 / (1 + (doubt / b)^3), and at least 2 / (1 + h), h = 4 (n_+ + 0.01 n) (n_- + 0.01
    n) / n, n = n_+ + n_- the labels bought in the group, 1 without any. Then, where 4 n_y < n, doubt is at most
    exp(2 - z) / 2, z = y (p - mean) / sqrt(variance) of the margins p decided on in the group before; with f = max(0.01,
    1 / (2 + their number)) then mean += f (p - mean) [p cut at 10^6], variance = (1 - f) (variance + f (p - old mean)^2), 0 and 1 at first. Where 4 n_y < n for y = sign(p), doubt is at most
    |log-odds of the calibration|.  A shared annotator and the rule `margin` go by |p + shift|.
  Calibration: Pr[y = +1 | m] = 1 / (1 + exp(-(a m + c))). Each label is one Newton step of logistic regression, weighted by
    1 / (probability of asking), what is known before fading.

Settled beforehand
  - p_j counts as wrong if y p_j <= 0. It is taken with the weights of the moment the label arrives.
  - A guess uses p and r of the prediction, and the variances as they are when it is made.
Settled here
  - A shared annotator is asked by SHAMPO's rule, on |p|: the smallest of the round is subtracted.
  - "Not asked about" is what the rule says: an example that it asks about while no label is left is not guessed.
  - A guess of p = 0 is none (sign 0), and so is one of a task without labels. g counts every other guess, also one that
    taught nothing because y p_k >= 1 for both k; of the 64 only those count that taught something.
  - The calibration's numbers are those of calibration.cc: slope 3 and curvature diag(0.1, 1) at first, which does not fade; all else
    fades by 0.998 at each label; a label counts at most 3 times; p (1 - p) is at least 0.001; margins are cut at 10^6;
    a stays from 0 to 10^6.
"""
import math

import numpy as np

from reference import common

RATIOS = [1 / 32, 1 / 8, 1 / 2, 2.0, 8.0]
TOTAL = 1.2
SECONDS = [0.0, 0.25, 0.5, 0.75, 1.0]
NOISES = [1.0, 20.0]


class Calibration:
    def __init__(self):
        self.theta = np.array([3.0, 0.0])  # a, c
        self.curvature = np.zeros((2, 2))  # without the prior, diag(0.1, 1)

    def slope(self):
        return float(self.theta[0])

    def probability(self, m):
        z = float(self.theta[0] * m + self.theta[1])
        return 1.0 / (1.0 + math.exp(-z)) if z >= 0.0 else math.exp(z) / (1.0 + math.exp(z))

    def log_odds(self, m):
        return float(self.theta[0] * min(max(m, -1e6), 1e6) + self.theta[1])

    def add(self, margin, y, asked):
        m = min(max(margin, -1e6), 1e6)
        features = np.array([m, 1.0])
        weight = min(1.0 / max(asked, 1e-12), 3.0)
        p = self.probability(m)
        self.curvature = 0.998 * self.curvature + weight * max(p * (1.0 - p), 1e-3) * np.outer(features, features)
        gradient = weight * ((1.0 if y > 0 else 0.0) - p) * features
        self.theta = self.theta + np.linalg.solve(np.diag([0.1, 1.0]) + self.curvature, gradient)
        self.theta[0] = min(max(self.theta[0], 0.0), 1e6)


def by_margin(rule):
    """A rule of common.py (always, random, margin), which reads |p| and no doubt."""
    return lambda margin, doubt, draw: rule(margin, draw)


def confidence(b=0.5):
    if not b > 0.0:
        raise ValueError("b must be positive")

    def rule(margin, doubt, draw):
        return common.random(1.0 / (1.0 + (doubt / b) ** 3))(margin, draw)

    rule.floor = True
    return rule


class Cohort:
    def __init__(self, K, d, query=None, noise=0.1, guess=1.0, eta=0.3, chooser=None, groups=1, replays=10, cost="equal"):
        """query(margin, doubt, draw) gives (probability, asked); chooser, of shampo.py, instead if one annotator is shared."""
        if not (noise > 0.0 and 0.0 <= guess <= 1.0 and 0.0 <= eta <= 100.0):
            raise ValueError("noise must be positive, guess lie in [0, 1], eta in [0, 100]")
        self.query = confidence() if query is None else query
        self.floor = query is None or getattr(query, "floor", False)
        self.replays = replays
        self.cost = cost  # "equal", "balanced", or what a missed positive costs
        self.n = [{+1: 0, -1: 0} for _ in range(groups)]
        self.margins = [(0.0, 1.0, 0)] * groups  # mean, variance, how many
        self.decided = (0.5, 0)  # with cost "balanced": mean probability, how many
        self.kept = []  # [task, x, y, [a_0, a_1]], at most 512, the oldest first
        self.turn = self.due = 0
        self.chooser = chooser
        self.noise = noise
        self.guess = guess
        self.eta = eta
        self.groups = groups
        self.w, self.s = np.zeros((2, groups, d)), np.ones((groups, d))
        self.v, self.t = np.zeros((2, K, d)), np.ones((K, d))
        self.m = [0] * len(RATIOS)
        self.m_second = [3 * j for j in range(len(SECONDS))]
        self.labels = [0] * K
        self.g = [{+1: 0.0, -1: 0.0} for _ in range(K)]
        self.left = 0  # guesses until the next label
        self.calibration = Calibration()
        self.taught = 0  # guesses that moved weights, for tests
        self.most = []  # bounds of the doubt where a class is rare, for tests
        self.compared = []  # numbers whose sign decided something in the latest call, for tests

    def leanings(self):
        """The pairs (E_j, O_j)."""
        return [(math.sqrt(TOTAL / (1.0 + ratio)), math.sqrt(TOTAL * ratio / (1.0 + ratio))) for ratio in RATIOS]

    def lean(self):
        """(E, O), now."""
        weights = [math.exp(-self.eta * (m - min(self.m))) for m in self.m]
        pairs = self.leanings()
        E = sum(share * pair[0] for share, pair in zip(weights, pairs)) / sum(weights)
        O = sum(share * pair[1] for share, pair in zip(weights, pairs)) / sum(weights)
        return E, O

    def second(self):
        """u, now."""
        weights = [math.exp(-self.eta * (m - min(self.m_second))) for m in self.m_second]
        return sum(weight * u for weight, u in zip(weights, SECONDS)) / sum(weights)

    def by_mean(self, task, x):
        """([p_0, p_1], r), now."""
        E, O = self.lean()
        group = task % self.groups
        p = [float(E * np.sum(self.w[k][group] * x) + O * np.sum(self.v[k][task] * x)) for k in (0, 1)]
        r = E * E * np.sum(self.s[group] * x * x) + O * O * np.sum(self.t[task] * x * x)
        return p, float(r)

    def judge(self, task, x):
        """(p, r), now."""
        (p0, p1), r = self.by_mean(task, x)
        u = self.second()
        return (1.0 - u) * p0 + u * p1, r

    def margin(self, task, x):
        return self.judge(task, x)[0]

    def decide(self, tasks, xs, draws):
        self.compared = []
        judged = [self.judge(task, x) for task, x in zip(tasks, xs)]
        by_means = [self.by_mean(task, x)[0] for task, x in zip(tasks, xs)]
        shift = self.shift()
        doubts = []
        for task, (p, r) in zip(tasks, judged):
            doubt, n = self.calibration.slope() * abs(p), self.n[task % self.groups]
            if 4 * n[self.sign(p)] < n[+1] + n[-1]:
                doubt = min(doubt, abs(self.calibration.log_odds(p)))
            if self.floor:
                doubt = min(doubt, self.most_doubt(task, p))
            doubts.append(doubt)
        if self.chooser is not None:
            margins = [abs(p + shift) for p, r in judged]
            decisions = self.chooser.choose(tasks, margins, [draw for draw in draws if draw is not None])
        else:
            decisions = []
            for task, (p, r), doubt, draw in zip(tasks, judged, doubts, draws):
                probability, asked = self.query(p + shift, doubt, draw)
                least = self.least(task) if self.floor else 0.0
                if probability < least:
                    probability = least
                    asked = draw < probability
                decisions.append({"probability": probability, "asked": asked, "draw": draw})
        for decision, (p, r) in zip(decisions, judged):
            decision["margin"] = p + shift
            if not decision["asked"]:
                self.count_share(p)
        for task, x, (p, r), by_mean, decision in zip(tasks, xs, judged, by_means, decisions):
            if not decision["asked"]:
                self.make_guess(task, x, p, by_mean, r)
        return decisions

    def shift(self):
        if self.cost == "balanced":
            q, t = self.decided
            odds = t / (t + 200) * (float(self.calibration.theta[1]) - math.log(q / (1.0 - q)))
            return min(max(odds / max(self.calibration.slope(), 1e-3), -100.0), 100.0)
        odds = 0.0 if self.cost == "equal" else math.log(self.cost)
        positive, negative = (sum(n[y] for n in self.n) + 1 for y in (+1, -1))
        offset, share = float(self.calibration.theta[1]), math.log(positive / negative)
        if share * offset > 0.0:
            k = min(positive, negative) - 1
            supported = k / (k + 30.0) if self.cost == "equal" else 1.0
            odds += supported * offset * max(0.0, 1.0 - (1.0 / positive + 1.0 / negative) / share ** 2)
        return min(max(odds / max(self.calibration.slope(), 1e-3), -100.0), 100.0)

    def count_share(self, p):
        if self.cost == "balanced" and all(sum(n[y] for n in self.n) >= 5 for y in (+1, -1)):
            q, t = self.decided
            t = min(t + 1, 2000)
            self.decided = (q + (min(max(self.calibration.probability(p), 1e-6), 1.0 - 1e-6) - q) / t, t)

    @staticmethod
    def sign(p):
        return +1 if p > 0.0 else -1

    def least(self, task):
        group = task % self.groups
        positive, negative = self.n[group][+1], self.n[group][-1]
        n = positive + negative
        return min(1.0, 2.0 / (1.0 + 4.0 * (positive + 0.01 * n) * (negative + 0.01 * n) / n)) if n > 0 else 1.0

    def most_doubt(self, task, p):
        group = task % self.groups
        positive, negative = self.n[group][+1], self.n[group][-1]
        z = self.deviations(group, p)
        if 4 * min(positive, negative) >= positive + negative:
            return math.inf
        most = math.exp(min(2.0 - (z if positive < negative else -z), 700.0)) / 2.0
        self.most.append(most)
        return most

    def deviations(self, group, p):
        """How many standard deviations p is from the mean of the group's margins before; then p counts."""
        p = min(max(p, -1e6), 1e6)
        mean, variance, count = self.margins[group]
        z = (p - mean) / math.sqrt(variance) if math.sqrt(variance) > 1e-9 else 0.0
        share = max(0.01, 1.0 / (count + 2))
        self.margins[group] = (mean + share * (p - mean), (1.0 - share) * (variance + share * (p - mean) ** 2), count + 1)
        return z

    def nu(self, group, y):
        q = (self.n[group][y] + 1) / (self.n[group][-y] + 1)
        return self.noise * q ** (0.75 if q > 1 else 0.25)

    def make_guess(self, task, x, p, by_mean, r):
        n = self.labels[task]
        if self.guess == 0.0 or self.left == 0 or n == 0 or p == 0.0:
            return
        y = +1 if p > 0.0 else -1
        sure = abs(p) / math.sqrt(p * p + r)
        balance = min(1.0, (self.g[task][-y] + 0.1) / (self.g[task][y] + 0.1))
        certain = math.tanh(abs(self.calibration.log_odds(p)) / 2.0)
        weight = self.guess * n / (n + 60) * certain * math.sqrt(sure) * balance ** 3
        self.g[task][y] += weight
        a = [weight * a_k for a_k in self.steps(by_mean, r, y, self.noise)]
        if max(a) > 0.0:
            self.move(task, x, y, a, 0.0)
            self.left -= 1
            self.taught += 1

    def steps(self, p, r, y, nu):
        """[a_0, a_1] of a label y; p: [p_0, p_1]."""
        self.compared += [y * p_k - 1.0 for p_k in p]
        return [max(0.0, 1.0 - y * p_k) / (r + noise * nu) for p_k, noise in zip(p, NOISES)]

    def learn(self, task, kept, y, decision, scale=np.asarray):
        """kept: the instance, before scale(kept)."""
        x = scale(kept)
        self.labels[task] += 1
        self.left = 64
        self.compared = []
        self.count_share(self.judge(task, x)[0])
        u = self.second()
        w, v = ((1.0 - u) * means[0] + u * means[1] for means in (self.w[:, task % self.groups], self.v[:, task]))
        shared, own = float(np.sum(w * x)), float(np.sum(v * x))
        p, r = self.by_mean(task, x)
        for j, (E_j, O_j) in enumerate(self.leanings()):
            p_j = E_j * shared + O_j * own
            self.compared.append(p_j)
            if y * p_j <= 0.0:
                self.m[j] += 1
        for j, u_j in enumerate(SECONDS):
            p_j = (1.0 - u_j) * p[0] + u_j * p[1]
            self.compared.append(p_j)
            if y * p_j <= 0.0:
                self.m_second[j] += 1
        p, r = self.judge(task, x)
        by_mean, r = self.by_mean(task, x)
        self.calibration.add(p, y, decision["probability"])
        self.n[task % self.groups][y] += 1
        nu = self.nu(task % self.groups, y)
        a = self.steps(by_mean, r, y, nu)
        if max(a) > 0.0:
            self.move(task, x, y, a, 1.0 / (r + 2.0 * nu) if a[0] > 0.0 else 0.0)
        self.replay(scale)
        self.keep(task, kept, y, a)
        return max(a) > 0.0

    def keep(self, task, kept, y, a):
        while len(self.kept) == 512:
            oldest = self.kept[0]
            same = [other for other in self.kept if other[2] == oldest[2]]
            values, of_class = (sum(np.count_nonzero(x) for _, x, _, _ in labels) for labels in (self.kept, same))
            stays = 4 * len(same) < 512 and 4 * of_class < values
            self.turn = self.turn - 1 if self.turn > 0 else 511 if stays else 0
            self.kept.pop(0)
            if stays:
                self.kept.append(oldest)
        self.kept.append([task, kept, y, a])

    def replay(self, scale):
        bought = sum(n[+1] + n[-1] for n in self.n)
        root = math.sqrt(min(1, 512 / bought))
        self.due += int(self.replays * 512 * (root * math.sqrt(root)))
        for _ in range(min(self.due // 512, len(self.kept))):
            if self.turn >= len(self.kept):
                self.turn = 0
            self.turn += 1
            self.replay_one(self.kept[self.turn - 1], scale)
        self.due %= 512

    def replay_one(self, kept, scale):
        task, instance, y, a = kept
        x = scale(instance)
        p, r = self.by_mean(task, x)
        kept[3] = []
        for p_k, a_k, noise in zip(p, a, NOISES):
            nu = noise * self.nu(task % self.groups, y)
            new = max(0.0, a_k + (1.0 - y * p_k - nu * a_k) / (r + nu))
            kept[3].append(min(new, 1.0 / (noise * self.noise)))
        self.move(task, x, y, [new - old for new, old in zip(kept[3], a)], 0.0)

    def move(self, task, x, y, a, beta):
        E, O = self.lean()
        x = np.asarray(x, dtype=np.float64)
        group = task % self.groups
        z = E * x
        old = self.s[group].copy()
        for k in (0, 1):
            self.w[k][group] = self.w[k][group] + a[k] * y * old * z
        self.s[group] = old - beta * (old * z) ** 2
        z = O * x
        old = self.t[task].copy()
        for k in (0, 1):
            self.v[k][task] = self.v[k][task] + a[k] * y * old * z
        self.t[task] = old - beta * (old * z) ** 2


class CohortOfClasses(Cohort):
    """Classes against the rest: docs/cohort.md, "Classes against the rest".

    A round is one instance x of a user, shown as C examples, one of each class k, in order: task user * C + k, group k. Without users
    E = 0, O = sqrt(1.2), and m_j stay 0. A label is the class c of the instance: it is learned once, as +1 of c's task. p_mk: margin of
    class k by mean m; p_k, of both means; r_k its variance.
      Decide: top c, the first of the largest p_k; h, the first of the largest of the others; l = p_c - p_h. The rule's margin is l for
        c, else l + p_c - p_k, its doubt a times that. Only c may be asked about, for the others asked is False and the
        probability 0. Draws are taken for every example; a shared annotator is shown c alone. Where none is asked about: a guess.
      Learn, a label: labels of the user + 1; 64 guesses left; m_j, m'_j, E, O, u anew, wrong is where another class has a margin
        not below that of c; p_k, r_k anew; calibration; n_c + 1; the step of the page; replays; it is kept with its a_mk.
    """

    def __init__(self, C, d, users=None, **options):
        super().__init__(C * (users or 1), d, groups=C, **options)
        self.alone = users is None
        self.slope, self.curvature = 3.0, 0.1
        self.G = [0.0] * (C * (users or 1))

    def lean(self):
        return (0.0, math.sqrt(TOTAL)) if self.alone else super().lean()

    def others(self, c):
        return [k for k in range(self.groups) if k != c]

    def leaders(self, p):
        top = min(range(self.groups), key=lambda k: (-p[k], k))
        second = min(self.others(top), key=lambda k: (-p[k], k))
        self.compared += [p[i] - p[j] for i in (top, second) for j in range(self.groups) if j != i]
        return top, second

    def decide(self, tasks, xs, draws):
        self.compared = []
        x = xs[0]
        p, r = zip(*[self.judge(task, x) for task in tasks])
        top, second = self.leaders(p)
        lead = p[top] - p[second]
        leads = [lead if k == top else lead + p[top] - p[k] for k in range(self.groups)]
        if self.chooser is not None:
            decisions = [{"probability": 0.0, "asked": False, "draw": 0.0} for _ in tasks]
            decisions[top] = self.chooser.choose([tasks[top]], [lead], [draw for draw in draws if draw is not None])[0]
        else:
            decisions = []
            for k, draw in enumerate(draws):
                probability, asked = self.query(leads[k], self.slope * leads[k], draw)
                if self.floor and probability < self.least(tasks[k]):
                    probability = self.least(tasks[k])
                    asked = draw < probability
                if k != top:
                    probability, asked = 0.0, False
                decisions.append({"probability": probability, "asked": asked, "draw": draw})
        for k, decision in enumerate(decisions):
            decision["margin"] = p[k]
        if not any(decision["asked"] for decision in decisions):
            self.make_guess(tasks, x, p, r, top, second)
        return decisions

    def least(self, task):
        n = sum(of_class[+1] for of_class in self.n)
        if n == 0:
            return 1.0
        n_c = self.n[task % self.groups][+1]
        return min(1.0, 2.0 / (1.0 + 4.0 * (n_c + 0.01 * n) * (n - n_c + 0.01 * n) / n))

    def make_guess(self, tasks, x, p, r, c, h):
        n = self.labels[tasks[0] // self.groups]
        lead = p[c] - p[h]
        D = sum(math.exp(self.slope * (p[k] - p[c])) for k in self.others(c))
        certain = (1.0 - D) / (1.0 + D)
        self.compared.append(certain)
        if self.guess == 0.0 or self.left == 0 or n == 0 or not lead > 0.0 or not certain > 0.0:
            return
        sure = lead / math.sqrt(lead * lead + r[c] + r[h])
        G = sum(self.G[tasks[k]] for k in self.others(c)) / len(self.others(c))
        balance = min(1.0, (G + 0.1) / (self.G[tasks[c]] + 0.1))
        g = self.guess * n / (n + 60) * certain * math.sqrt(sure) * balance ** 3
        self.G[tasks[c]] += g
        A = []
        for m, noise in enumerate(NOISES):
            p = [self.by_mean(task, x)[0][m] for task in tasks]
            A.append([0.0] * self.groups)
            for k in sorted(self.others(c), key=lambda k: (-p[k], k)):
                self.compared.append(p[c] - p[k] - 1.0)
                A[m][k] = g * max(0.0, 1.0 - (p[c] - p[k])) / (r[c] + r[k] + noise * self.noise)
                p[c] += A[m][k] * r[c]
                p[k] -= A[m][k] * r[k]
        if self.move_all(tasks, x, c, A, r):
            self.left -= 1
            self.taught += 1

    def wrong(self, p, c):
        self.compared += [p[c] - p[k] for k in self.others(c)]
        return any(p[k] >= p[c] for k in self.others(c))

    def learn(self, task, kept, y, decision, scale=np.asarray):
        """The class of the instance is that of the task, y is +1."""
        assert y == +1
        x = scale(kept)
        c, user = task % self.groups, task // self.groups
        tasks = [user * self.groups + k for k in range(self.groups)]
        self.labels[user] += 1
        self.left = 64
        self.compared = []
        u = self.second()
        w, v = ((1.0 - u) * means[0] + u * means[1] for means in (self.w, self.v))
        p = [self.by_mean(task, x)[0] for task in tasks]
        if not self.alone:
            for j, (E_j, O_j) in enumerate(self.leanings()):
                p_j = [float(E_j * np.sum(w[k] * x) + O_j * np.sum(v[task] * x)) for k, task in enumerate(tasks)]
                self.m[j] += self.wrong(p_j, c)
        for j, u_j in enumerate(SECONDS):
            self.m_second[j] += self.wrong([(1.0 - u_j) * p_0 + u_j * p_1 for p_0, p_1 in p], c)
        self.calibrate([self.margin(task, x) for task in tasks], c, decision["probability"])
        self.n[c][+1] += 1
        a = [[0.0] * self.groups for _ in NOISES]
        A, r = self.climb(tasks, x, c, a)
        updated = self.move_all(tasks, x, c, A, r, variances=True)
        self.replay(scale)
        self.keep(task, kept, y, a)
        return updated

    def calibrate(self, p, c, asked):
        o = min(3.0, 1.0 / max(asked, 1e-12))
        odds = [math.exp(self.slope * (p_k - max(p))) for p_k in p]
        pi = [odds_k / sum(odds) for odds_k in odds]
        mean = sum(pi_k * p_k for pi_k, p_k in zip(pi, p))
        V = sum(pi_k * (p_k - mean) ** 2 for pi_k, p_k in zip(pi, p))
        self.curvature = 0.1 + 0.998 * (self.curvature - 0.1) + o * max(V, 0.001 * (p[c] - max(p)) ** 2)
        self.slope = min(max(self.slope + o * (p[c] - mean) / self.curvature, 0.0), 1e6)

    def climb(self, tasks, x, c, a):
        """Changes a[m][k]; returns the changes A[m][k] and r."""
        by_mean, r = zip(*[self.by_mean(task, x) for task in tasks])
        A = []
        for m, noise in enumerate(NOISES):
            nu = noise * self.noise
            p = [of_class[m] for of_class in by_mean]
            A.append([0.0] * self.groups)
            falling = sorted(self.others(c), key=lambda k: (-p[k], k))
            self.compared += [p[k] - p[l] for k, l in zip(falling, falling[1:])]
            for k in falling:
                b = a[m][k]
                new = b + (1.0 - (p[c] - p[k]) - nu * b) / (r[c] + r[k] + nu)
                self.compared.append(new)
                a[m][k] = max(0.0, new)
                A[m][k] = a[m][k] - b
                p[c] += A[m][k] * r[c]
                p[k] -= A[m][k] * r[k]
        return A, r

    def move_all(self, tasks, x, c, A, r, variances=False):
        """Whether a weight moved."""
        for k, task in enumerate(tasks):
            by = [-sum(A_m) if k == c else A_m[k] for A_m in A]
            self.move(task, x, -1, by, 1.0 / (r[k] + 2.0 * self.noise) if variances and by[0] != 0.0 else 0.0)
        return any(any(A_m) for A_m in A)

    def replay_one(self, kept, scale):
        task, instance, _, a = kept
        x = scale(instance)
        tasks = [task - task % self.groups + k for k in range(self.groups)]
        A, r = self.climb(tasks, x, task % self.groups, a)
        self.move_all(tasks, x, task % self.groups, A, r)
