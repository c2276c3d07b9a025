"""What has the Arrow C stream interface, read batch by batch."""

import multitask
import numpy as np
import pyarrow as pa
import pytest

from quorate import Cohort

DATA = multitask.binary(400, seed=41)
COLUMNS = [f"f{j}" for j in range(DATA.X.shape[1])]
TABLE = pa.table({name: DATA.X[:, j] for j, name in enumerate(COLUMNS)} | {"user": DATA.task, "label": DATA.y})


class Stream:
    """As DuckDB's relations: the interface and nothing else."""

    def __init__(self, table, rows):
        self.table, self.rows = table, rows

    def __arrow_c_stream__(self, requested_schema=None):
        batches = self.table.to_batches(max_chunksize=self.rows)
        return pa.RecordBatchReader.from_batches(self.table.schema, batches).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_stream_in_batches_is_the_whole_table(rows):
    whole = Cohort(task_column="user").fit(TABLE, "label")
    parts = Cohort(task_column="user").fit(Stream(TABLE, rows), "label", classes=[-1, 1])
    reader = Cohort(task_column="user").fit(pa.RecordBatchReader.from_stream(Stream(TABLE, rows)), "label", classes=[-1, 1])
    assert whole.to_bytes() == parts.to_bytes() == reader.to_bytes()
    new = TABLE.drop(["label"])
    assert (parts.predict(Stream(new, rows)) == whole.predict(new)).all()
    assert np.array_equal(parts.predict_proba(Stream(new, rows)), whole.predict_proba(new))


def test_a_record_batch_is_a_table():
    batch = TABLE.to_batches()[0]
    model = Cohort(task_column="user").fit(batch, "label")
    assert model.to_bytes() == Cohort(task_column="user").fit(TABLE, "label").to_bytes()


def test_labels_may_be_the_name_of_a_frames_column():
    pandas = TABLE.to_pandas()
    assert Cohort(task_column="user").fit(pandas, "label").to_bytes() == Cohort(task_column="user").fit(
        pandas.drop(columns="label"), pandas["label"]).to_bytes()  # fmt: skip
    with pytest.raises(ValueError, match="no column 'lable'"):
        Cohort().fit(pandas, "lable")


def test_an_iterator_of_frames_or_batches_is_the_whole_table():
    whole = Cohort(task_column="user").fit(TABLE, "label")
    pandas = TABLE.to_pandas()
    for parts in (lambda of: iter(TABLE.drop([] if of == "fit" else ["label"]).to_batches(max_chunksize=7)),
                  lambda of: (pandas.iloc[at : at + 7].drop(columns=[] if of == "fit" else "label") for at in range(0, 400, 7))):
        model = Cohort(task_column="user").fit(parts("fit"), "label", classes=[-1, 1])
        assert model.to_bytes() == whole.to_bytes()
        assert (model.predict(parts("predict")) == whole.predict(TABLE.drop(["label"]))).all()
    with pytest.raises(ValueError, match="an iterator of list beside a column of labels; expected frames"):
        Cohort().fit(iter([[1, 2]]), "label", classes=[0, 1])


def test_a_stream_without_the_name_of_its_labels_is_refused():
    with pytest.raises(ValueError, match="name of the column"):
        Cohort().fit(Stream(TABLE, 10), DATA.y)
    with pytest.raises(ValueError, match="no column 'lable'"):
        Cohort().fit(Stream(TABLE, 10), "lable")
    with pytest.raises(ValueError, match="without any"):
        Cohort().fit(Stream(TABLE.slice(0, 0), 10), "label")
