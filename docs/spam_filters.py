"""Spam filters for 15 users from 200 labels in total.

    python docs/spam_filters.py data/spam-b/all.svm

Users receive different emails and disagree about spam. Learned independently, each filter needs about a hundred labels.
`Cohort` learns all filters together, asks only about uncertain emails, and never exceeds its label budget.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

import quorate


def read(path: Path) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64], npt.NDArray[np.str_]]:
    """Word counts, label (1 is spam) and user of each email, from lines such as `1 task:user03 17:2 42:1`."""
    labels, users, ends, words, counts = [], [], [0], [], []
    for line in path.read_text().splitlines():
        label, user, *entries = line.split("#")[0].split()
        labels.append(int(float(label) > 0))
        users.append(user.removeprefix("task:"))
        for entry in entries:
            word, count = entry.split(":")
            words.append(int(word))
            counts.append(float(count))
        ends.append(len(words))
    return sparse.csr_matrix((counts, words, ends)), np.array(labels), np.array(users)


def main(path: Path) -> dict[str, float]:
    X, y, user = read(path)
    order = np.random.default_rng(1).permutation(len(y))
    learn, test = order[:1500], order[1500:]  # about 100 emails of each user to learn from
    found = {}

    print(f"{len(set(user))} users, {len(learn):,} emails to learn from, {len(test):,} to test on\n")
    for name, filters in {
        "independent, every label": quorate.Perceptron(),
        "independent, 200 labels": quorate.Perceptron(query="random(p=0.14)", labels=200),
        "together, 200 labels": quorate.Cohort(labels=200, pace="even"),
    }.items():
        filters.fit(X[learn], y[learn], task=user[learn])
        found[name] = filters.score(X[test], y[test], task=user[test])
        print(f"{name:24} {found[name]:6.1%} right, {filters.n_labels_:5,} labels bought")

    # The same with a person: emails arrive, the learner asks about some of them, and the labels come later.
    filters = quorate.Cohort(labels=200, pace=len(learn))
    pending: list[tuple[int, int]] = []
    for email in learn:
        decisions = filters.decide(X[email], task=user[email], classes=[0, 1])
        if decisions.ask[0]:
            pending.append((int(decisions.ids[0]), int(y[email])))
        if len(pending) == 10:  # a person labels ten at a time
            filters.learn([id for id, _ in pending], [label for _, label in pending])
            pending.clear()
    filters.withdraw([id for id, _ in pending])
    found["labelled ten at a time"] = filters.score(X[test], y[test], task=user[test])
    print(f"{'labelled ten at a time':24} {found['labelled ten at a time']:6.1%} right, {filters.n_labels_:5,} labels bought")

    probability = filters.predict_proba(X[test], task=user[test])[:, 1]
    print(f"\nof emails with a predicted probability of spam of at least 99 %, {y[test][probability >= 0.99].mean():.1%} are spam")
    influence = filters.influence()
    print(f"an update for one user changes another user's filter {influence[0, 1]:.2f} times as much")
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/spam-b/all.svm"))
