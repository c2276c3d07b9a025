"""cost=balanced: where the stream has few positives, the threshold is their share, with few labels as with all."""
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

from quorate import Cohort

SEEDS = range(3)
LABELS = {"few": {"labels": 300, "pace": 5000}, "all": {"query": "always"}}


def best(y, p):
    """The balanced accuracy of the best threshold."""
    y = y[np.argsort(-p)]
    return ((np.cumsum(y) / y.sum() + 1 - np.cumsum(1 - y) / (1 - y).sum()) / 2).max()


@pytest.fixture(scope="module")
def figures():
    out = {}
    for share in (0.02, 0.08, 0.3):
        for seed in SEEDS:
            X, y = make_classification(9000, 20, n_informative=8, n_redundant=2, weights=[1 - share], flip_y=0.01, class_sep=0.8, random_state=seed + 50)
            for name, labels in LABELS.items():
                model = Cohort(cost="balanced", seed=seed, **labels).fit(X[:5000], y[:5000])
                p = model.predict_proba(X[5000:])[:, 1]
                out.setdefault((share, name), []).append(
                    (model.threshold_, balanced_accuracy_score(y[5000:], model.predict(X[5000:])), best(y[5000:], p), y[:5000].mean()))
    return {key: np.mean(rows, axis=0) for key, rows in out.items()}


@pytest.mark.parametrize("share", [0.02, 0.08, 0.3])
def test_the_threshold_is_the_share_of_positives_with_few_labels_as_with_all(figures, share):
    few, every = figures[share, "few"], figures[share, "all"]
    assert abs(few[0] - every[0]) < max(few[0], every[0]) / 3
    for threshold, _, _, positives in (few, every):
        assert abs(threshold - positives) < positives / 3


@pytest.mark.parametrize("share, name", [(0.02, "few"), (0.08, "few"), (0.08, "all"), (0.3, "few"), (0.3, "all")])
def test_it_is_near_the_best_threshold(figures, share, name):
    _, balanced, most, _ = figures[share, name]
    assert balanced > most - 0.03
