"""Why a model predicts what it predicts."""

import multitask
import numpy as np
import pandas as pd
import pytest

from quorate import Cohort, KernelPerceptron, Perceptron, Reason

DATA = multitask.binary(300, seed=31)


def test_reasons_sum_to_the_margin_and_come_in_order():
    for model in (Cohort(query="always"), Perceptron()):
        model.fit(DATA.X, DATA.y, task=DATA.task)
        margins = model.decision_function(DATA.X, task=DATA.task)
        for row, margin in zip(model.explain(DATA.X, task=DATA.task, top=99), margins, strict=True):
            assert sum(r.contribution for r in row) == pytest.approx(margin, abs=1e-9)
            assert all(r.contribution == pytest.approx(r.shared + r.own) for r in row)
            sizes = [abs(r.contribution) for r in row]
            assert sizes == sorted(sizes, reverse=True) and len({r.feature for r in row}) == len(row)
        assert [row[:2] for row in model.explain(DATA.X, task=DATA.task, top=99)] == model.explain(DATA.X, task=DATA.task, top=2)
    strangers = Cohort(query="always").fit(DATA.X, DATA.y, task=DATA.task).explain(DATA.X[:5], task="zoe")
    assert all(r.own == 0 and r.uncertainty > 0 for row in strangers for r in row)


def test_features_have_the_names_of_the_data():
    X = pd.DataFrame({"subject": ["free cash now", "team lunch notes"] * 30, "channel": ["mail", "chat"] * 30, "age": np.arange(60.0)})
    y = ["spam", "ham"] * 30
    row = Cohort(text_column="subject", query="always").fit(X, y).explain(X.iloc[:1], top=20)[0]
    assert {"subject^free", "subject^cash", "channel=mail"} <= {r.feature for r in row} and isinstance(row[0], Reason)
    ages = [r for r in Cohort(text_column="subject", query="always").fit(X, y).explain(X.iloc[7:8], top=20)[0] if r.feature == "age"]
    assert [r.value for r in ages] == [7.0]
    of_pairs = Cohort(text_column="subject", query="always", interactions="channel*age").fit(X, y)
    assert "channel=chat*age" in {r.feature for r in of_pairs.explain(X.iloc[7:8], top=20)[0]}
    dicts = [{"good": 1.0}, {"bad": 2.0}] * 30
    row = Cohort(query="always").fit(dicts, y).explain(dicts[1:2])[0]
    assert [(r.feature, r.value) for r in row if r.feature != "constant"] == [("bad", 2.0)]
    assert Cohort(query="always").fit(["free cash", "team lunch"] * 30, y).explain(["free"])[0][0].feature == "text^free"


def test_of_classes_the_predicted_one_is_explained():
    data = multitask.classes(300, seed=32)
    model = Cohort(query="always").fit(data.X, data.y)
    margins = model.decision_function(data.X[:20]).max(axis=1)
    for row, margin in zip(model.explain(data.X[:20], top=99), margins, strict=True):
        assert sum(r.contribution for r in row) == pytest.approx(margin, abs=1e-9)


def test_what_cannot_be_explained_is_refused():
    with pytest.raises(ValueError, match="kernel-perceptron.*cohort"):
        KernelPerceptron().fit(DATA.X, DATA.y).explain(DATA.X[:1])
    for top in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="top"):
            Cohort().fit(DATA.X, DATA.y).explain(DATA.X[:1], top=top)
