"""Ten digit tasks, one annotator.

    python docs/one_annotator.py

"Is it a 3?" is one of ten tasks on the same handwritten digits (those of scikit-learn). One person answers one question a
round: `Shampo` (Cohen and Crammer) selects the task by the margins. The baseline asks about a random task.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import quorate


def main(questions: int = 1000) -> dict[str, float]:
    digits, truth = load_digits(return_X_y=True)
    digits, unseen, truth, unseen_truth = train_test_split(digits, truth, test_size=0.3, random_state=0, stratify=truth)
    found = {}

    # A round shows the annotator one digit, drawn from all of them.
    rng = np.random.default_rng(0)
    for name, learner in {
        "a question of small margin": quorate.Shampo(b=0.1),
        "a random question": quorate.Shampo(choose="uniform"),
    }.items():
        for _ in range(questions):
            shown = rng.choice(len(truth), size=1)
            asked = learner.ask_next(digits[shown], classes=range(10))
            learner.learn(asked.ids, truth[shown[asked.index]])
        found[name] = learner.score(unseen, unseen_truth)
        print(f"{name:30} {found[name]:6.1%} of unseen digits right after {learner.n_labels_:,} answers")

    # One more question, as text.
    asked = learner.ask_next(digits[:1], classes=range(10))
    print(f"\nnext: {asked.task[0]} (it is a {truth[0]})")
    learner.withdraw(asked.ids)
    return found


if __name__ == "__main__":
    main()
