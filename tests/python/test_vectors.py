"""Vectors (embeddings) in a frame's column are the columns key.0, key.1, .., from whatever package the frame is."""
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate

RNG = np.random.default_rng(3)
E = RNG.normal(size=(80, 5))
Y = E[:, 0] + 0.3 * E[:, 1] > 0
AGE = RNG.integers(20, 60, 80)
FRAMES = {
    "pandas lists": pd.DataFrame({"age": AGE, "e": E.tolist()}),
    "pandas arrays": pd.DataFrame({"age": AGE, "e": list(E)}, index=range(7, 87)),
    "polars lists": pl.DataFrame({"age": AGE, "e": E.tolist()}),
    "polars arrays": pl.DataFrame({"age": AGE, "e": E}),
    "arrow": pa.table({"age": AGE, "e": pa.FixedSizeListArray.from_arrays(E.ravel(), 5)}),
}


def flat():
    return pd.DataFrame({"age": AGE} | {f"e.{i}": E[:, i] for i in range(5)})


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_of_vectors_is_its_numbers(name):
    plain = quorate.Cohort(query="always").fit(flat(), Y)
    model = quorate.Cohort(query="always").fit(FRAMES[name], Y)
    assert model.decision_function(FRAMES[name]).tolist() == plain.decision_function(flat()).tolist()
    assert plain.decision_function(FRAMES[name]).tolist() == plain.decision_function(flat()).tolist()
    assert list(model.feature_names_in_) == ["age", "e.0", "e.1", "e.2", "e.3", "e.4"]


def test_a_missing_vector_is_missing():
    frame = FRAMES["pandas lists"].copy()
    frame.loc[3, "e"] = None
    model = quorate.Cohort(query="always").fit(frame, Y)
    assert np.isfinite(model.decision_function(frame)).all()


@pytest.mark.parametrize(("value", "says"), [([1.0, 2.0], "row 3: 2 values; expected a vector of 5 numbers"), (["a"] * 5, "row 3: .*expected numbers"),
                                             ("a", "row 3: 'a'; expected a vector")])
def test_what_is_no_vector_is_refused(value, says):
    frame = FRAMES["pandas lists"].copy()
    frame.at[3, "e"] = value
    with pytest.raises(ValueError, match=f"column 'e', {says}"):
        quorate.Cohort().fit(frame, Y)


def test_missing_values_of_every_dtype_are_missing():
    frame = pd.DataFrame({"n": [1.5, None, 3] * 20, "i": [1, None, 2] * 20, "s": ["a", "b", None] * 20, "b": [True, None, False] * 20})
    y = np.arange(60) % 3 == 0
    found = [quorate.Cohort(query="always").fit(f, y).decision_function(f) for f in (frame, frame.convert_dtypes(), frame.astype(object))]
    for other in found[1:]:
        assert other.tolist() == pytest.approx(found[0].tolist())
