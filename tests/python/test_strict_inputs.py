"""What is no name, index or time is refused alike wherever it comes from, and names do not depend on their container."""

import datetime
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import quorate
from quorate import Cohort, Perceptron

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 1.0], [-2.0, 0.1], [1.5, 1.0], [-1.5, 2.0]])
Y = [1, 0, 1, 0, 1, 0]


def containers(values):
    yield "list", list(values)
    yield "tuple", tuple(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    yield "array of objects", array
    yield "series", pd.Series(values, dtype=object)


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")], ids=repr)
def test_a_missing_task_is_refused_in_every_container(missing):
    for kind, task in containers(["ann", "bob", missing] * 2):
        with pytest.raises(ValueError, match="task: row 2 has none; expected a name or whole number"):
            Cohort().fit(X, Y, task=task)
            pytest.fail(kind)
    with pytest.raises(ValueError, match="task"):
        Cohort().start([0, 1]).learn_one(X[0], 1, task=missing) if missing is not None else Cohort().fit(X, Y, task=[None] * 6)


@pytest.mark.parametrize("missing", [float("nan"), pd.NA, pd.NaT, ["x"], {"a": 1}, object(), 1j, float("inf"), b"\xff"], ids=lambda value: type(value).__name__)
def test_what_is_no_name_is_refused_one_by_one_too(missing):
    model = Cohort().start([0, 1])
    for call in (lambda: model.learn_one(X[0], 1, task=missing), lambda: model.predict_one(X[0], task=missing),
                 lambda: Cohort(tasks=[missing]).start([0, 1])):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("tasks, expected", [
    (["a", 1.0, 2] * 2, ["a", "1", "2"]), ([True, "a", False] * 2, ["1", "a", "0"]), ([True, False] * 3, ["1", "0"]),
    ([2**63, 2**63 + 1, -1] * 2, [str(2**63), str(2**63 + 1), "-1"]),
    ([2**53, 2**53 + 1, 0.5] * 2, [str(2**53), str(2**53 + 1), "0.5"]),
    (["a\0", "a"] * 3, ["a\0", "a"])])
def test_names_of_tasks_do_not_depend_on_their_container(tasks, expected):
    for kind, task in containers(tasks):
        assert Cohort().fit(X, Y, task=task).tasks_ == expected, kind
    one = Cohort().start([0, 1])
    for x, y, task in zip(X, Y, tasks):
        one.learn_one(x, y, task=task)
    assert one.tasks_ == expected


def test_columns_name_tasks_as_lists_do():
    for task in (pd.Series([1, 2] * 3), pd.Series([1, 2] * 3, dtype="Int64"), pl.Series([1, 2] * 3), np.array([1, 2] * 3), np.array([1.0, 2.0] * 3)):
        assert Cohort().fit(X, Y, task=task).tasks_ == ["1", "2"]
    with pytest.raises(ValueError, match="row 1 has none"):
        Cohort().fit(X, Y, task=pd.Series([1, None] * 3, dtype="Int64"))
    with pytest.raises(ValueError, match="row 1 has none"):
        Cohort().fit(X, Y, task=pl.Series(["a", None] * 3))
    frame = pd.DataFrame({"who": ["a", None] * 3, "x": X[:, 0]})
    with pytest.raises(ValueError, match="row 1 has none"):
        Cohort(task_column="who").fit(frame, Y)


def test_the_empty_class_survives_a_file_or_is_refused():
    with pytest.raises(ValueError, match="class ''; expected a name, for model files of two classes cannot hold it"):
        Cohort().fit(X, ["", "b"] * 3)
    model = Cohort().fit(X, ["", "b", "c"] * 2)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.classes_.tolist() == ["", "b", "c"] and (loaded.predict(X) == model.predict(X)).all()


def test_lone_surrogates_are_value_errors():
    bad = "a\ud800"
    for call in (lambda: Cohort().fit(X, Y, task=[bad] * 6), lambda: Cohort().fit(X, [bad, "b"] * 3),
                 lambda: Cohort().start([0, 1]).learn_one(X[0], 1, task=bad), lambda: quorate.simulate((X, Y, [bad] * 6)),
                 lambda: Cohort().fit([{bad: 1.0}] * 6, Y), lambda: Cohort().fit([bad] * 6, Y),
                 lambda: quorate.simulate((X, Y), learner=f"cohort({bad})"), lambda: Perceptron(query=f"margin({bad})").fit(X, Y)):
        with pytest.raises(ValueError):
            call()


def test_a_path_need_not_be_utf8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.model")
    model = Cohort().fit(X, Y)
    model.save(path)
    assert quorate.learners.load(path).tasks_ == model.tasks_
    with pytest.raises(OSError, match=r"\\xff"):
        quorate.learners.load(path + "x")


def test_whole_numbers_of_numpy_are_keys():
    a = Perceptron().fit([{np.int64(3): v, np.uint8(1): 1.0} for v in X[:, 0]], Y)
    b = Perceptron().fit([{3: v, 1: 1.0} for v in X[:, 0]], Y)
    assert a.to_bytes() == b.to_bytes()
    with pytest.raises(ValueError, match="whole number"):
        Perceptron().fit([{2.5: 1.0}] * 6, Y)


def test_a_sparse_frame_is_refused_with_the_way_out():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray(X[:, 0])})
    with pytest.raises(ValueError, match=r"column 'a': Sparse.*expected dense columns \(X.sparse.to_dense\(\)\)"):
        Cohort().fit(frame, Y)


def test_an_index_beyond_the_shape_of_a_sparse_matrix_is_refused():
    matrix = sparse.csr_matrix(X)
    matrix.indices[3] = 100
    for call in (lambda: Cohort().fit(matrix, Y), lambda: quorate.simulate((matrix, Y))):
        with pytest.raises(ValueError, match="row 1, column 100: expected an index from 0 to 1"):
            call()


@pytest.mark.parametrize("matrix", [
    sparse.csc_matrix((np.ones(2), [0, 100], [0, 1, 2]), (6, 2)), sparse.csc_matrix((np.ones(2), [0, -3], [0, 1, 2]), (6, 2)),
    sparse.coo_matrix((np.ones(2), ([0, 1], [0, 1])), (6, 2))], ids=["csc", "csc below", "coo"])
def test_a_conversion_of_a_broken_sparse_matrix_is_not_tried(matrix):
    if matrix.format == "coo":
        matrix.coords[0][1] = 100
    for call in (lambda: Cohort().fit(matrix, Y), lambda: quorate.simulate((matrix, Y))):
        with pytest.raises(ValueError, match="100|indices|index"):
            call()


@pytest.mark.parametrize("time", [np.ones(6) * 1j, [1j] * 6, [datetime.timedelta(1)] * 6, np.array([1] * 6, "timedelta64[s]"), [True] * 6], ids=str)
def test_what_is_no_time_is_refused(time):
    with pytest.raises(ValueError, match="time: "):
        Cohort().fit(X, Y, time=time)
    with pytest.raises(ValueError, match="time: "):
        Cohort().start([0, 1]).learn_one(X[0], 1, time=time[0])


@pytest.mark.parametrize("name", quorate.learners.LEARNERS)
def test_a_learner_that_ran_out_of_memory_stays_usable(name):
    rng = np.random.default_rng(1)
    model = quorate.learners.LEARNERS[name](memory=20_000).start([0, 1])
    rows, tasks = rng.normal(size=(400, 40)), np.arange(400)
    try:
        model.partial_fit(rows, (rows[:, 0] > 0).astype(int), task=tasks)
    except MemoryError:
        pass
    else:
        assert name == "cohort", "it stays within the limit"
        return
    margins = model.decision_function(rows, task=tasks)
    with pytest.raises(MemoryError, match="limit of 20000 bytes"):
        model.partial_fit(rows, (rows[:, 0] > 0).astype(int), task=[f"another task {n}" for n in tasks])
    assert model.info_["peak_bytes"] <= 20_000
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(rows, task=tasks) == model.predict(rows, task=tasks)).all() and np.isfinite(margins).all()


def test_what_has_no_effect_on_dicts_or_a_frame_is_refused():
    rows = [{"s": f"free money {i}", "n": i % 3} for i in range(20)]
    y = np.arange(20) % 2
    for name in ("text_column", "categorical_columns"):
        value = "s" if name == "text_column" else ["s"]
        with pytest.raises(ValueError, match=f"{name}=.*expected a frame"):
            quorate.Cohort(**{name: value}).fit(rows, y)
    with pytest.raises(ValueError, match="no column 'm'"):
        quorate.Cohort(interactions="n*m").fit(pd.DataFrame({"n": np.arange(20), "k": np.arange(20) % 3}), y)
