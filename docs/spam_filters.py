"""Spam filters for 15 people from 200 labels in all.

    python docs/spam_filters.py data/spam-b/all.svm

Each person has mails of her own and her own idea of spam. A filter for each, learned alone, would want a hundred labels of
everybody. `Cohort` learns them together, asks only where it is unsure, and never for more labels than it is given.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

import quorate


def read(path: Path) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64], npt.NDArray[np.str_]]:
    """Words of each mail, 1 for spam and 0 for others, whose mail it is: lines as `1 task:user03 17:2 42:1`."""
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
    learn, test = order[:1500], order[1500:]  # about 100 mails of each person to learn from
    found = {}

    print(f"{len(set(user))} people, {len(learn):,} mails to learn from, {len(test):,} to test on\n")
    for name, filters in {
        "each alone, every label": quorate.Perceptron(),
        "each alone, 200 labels": quorate.Perceptron(query="random(p=0.14)", labels=200),
        "together, 200 labels": quorate.Cohort(labels=200, pace="even"),
    }.items():
        filters.fit(X[learn], y[learn], task=user[learn])
        found[name] = filters.score(X[test], y[test], task=user[test])
        print(f"{name:24} {found[name]:6.1%} right, {filters.n_labels_:5,} labels bought")

    # The same in the open: mails arrive, the learner says which it wants labelled, labels come when they come.
    filters = quorate.Cohort(labels=200, pace=len(learn))
    waiting: list[tuple[int, int]] = []
    for mail in learn:
        said = filters.decide(X[mail], task=user[mail], classes=[0, 1])
        if said.ask[0]:
            waiting.append((int(said.ids[0]), int(y[mail])))
        if len(waiting) == 10:  # a person labels ten at a time
            filters.learn([id for id, _ in waiting], [label for _, label in waiting])
            waiting.clear()
    filters.withdraw([id for id, _ in waiting])
    found["labelled ten at a time"] = filters.score(X[test], y[test], task=user[test])
    print(f"{'labelled ten at a time':24} {found['labelled ten at a time']:6.1%} right, {filters.n_labels_:5,} labels bought")

    chance = filters.predict_proba(X[test], task=user[test])[:, 1]
    print(f"\nof mails called spam with a chance of 99 % and more, {y[test][chance >= 0.99].mean():.1%} are")
    alike = filters.influence()
    print(f"a mistake on one person's mail moves another's filter {alike[0, 1]:.2f} times as much as her own")
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/spam-b/all.svm"))
