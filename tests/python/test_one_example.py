"""What `task_column` means for one example at a time, and what dicts and frames may hold."""
import numpy as np
import pandas as pd
import pytest

import quorate


def test_task_column_of_a_dict_is_no_feature_of_one_example():
    learner, named = quorate.Cohort(task_column="user").start([0, 1]), quorate.Cohort().start([0, 1])
    rows = np.random.default_rng(0).normal(size=(60, 3))
    for n, row in enumerate(rows):
        x = dict(zip("abc", row.tolist(), strict=True))
        y = int(row[0] > 0) ^ n % 2
        learner.learn_one({"user": n % 2, **x}, y)
        named.learn_one(x, y, n % 2)
    assert learner.tasks_ == ["0", "1"]
    assert learner.to_bytes() == named.to_bytes()
    assert learner.score_one({**x, "user": 1}) == named.score_one(x, 1)
    assert learner.predict([{**x, "user": 1}])[0] == learner.predict_one({**x, "user": 1}) == named.predict_one(x, 1)


def test_task_column_that_is_missing_or_told_twice():
    learner = quorate.Cohort(task_column="user").start([0, 1])
    for x in ({"a": 1.0}, np.ones(2)):
        with pytest.raises(ValueError, match="no 'user', which task_column names"):
            learner.learn_one(x, 1)
    with pytest.raises(ValueError, match="given twice"):
        learner.learn_one({"user": 1}, 1, task=2)
    assert learner.info_["examples"] == 0


@pytest.mark.parametrize(("x", "what"), [
    ({("a",): 1.0}, "expected a name or a whole number, not tuple"),
    ({"a": [1]}, "feature 'a': expected a list of words, not of int"),
    ({-1: 1.0}, "feature -1: expected a name, or a whole number from 0"),
    ({7: float("inf")}, "feature '7': infinity; expected a finite number"),
])
def test_what_a_dict_may_not_hold_is_named(x, what):
    learner = quorate.Cohort().start([0, 1])
    with pytest.raises(ValueError, match=what):
        learner.learn_one(x, 1)
    with pytest.raises(ValueError, match=what):
        quorate.Cohort().fit([{"a": 1.0}, x], [0, 1])


def test_frame_with_words():
    frame = pd.DataFrame({"color": ["red", "blue"] * 20, "size": np.ones(40)})
    learner = quorate.Cohort(query="always").fit(frame, ["x", "y"] * 20)
    assert learner.predict(frame).tolist() == ["x", "y"] * 20
