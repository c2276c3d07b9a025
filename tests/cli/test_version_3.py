"""A model file of format version 3 from before kept labels were packed (commit 4e13cd5) is read, has the same labels, and is rebuilt to
the model that the old program rebuilt. Made with

    train --data ../version_2/mails.csv --positive spam --learner 'cohort(query=random(p=0.4))' --bits 8 --audit 0.2 --seed 1
"""
import json
import shutil
from pathlib import Path

FOLDER = Path(__file__).parent / "version_3"
BEFORE = json.loads((FOLDER / "labels.json").read_text())


def test_kept_labels_that_are_not_packed_are_read_and_rebuilt_as_before(quorate):
    shutil.copy(FOLDER / "labels.model", quorate.folder / "m")
    labels = [BEFORE["labels"][0] + ",annotator"] + [line + "," for line in BEFORE["labels"][1:]]
    assert quorate.ok("labels", "m").out.splitlines() == labels
    for _ in range(2):  # as the file was, and as this program writes it
        quorate.ok("rebuild", "m")
        lines = quorate.ok("predict", "--model", "m", "--data", FOLDER.parent / "version_2" / "mails.csv").out.splitlines()
        assert [json.loads(line)["margin"] for line in lines] == BEFORE["rebuilt"]
    assert quorate.ok("labels", "m").out.splitlines() == labels
