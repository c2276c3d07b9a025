"""Model files of format version 2, written by the last program that wrote it (commit 67af218), are read, predict as they did, and learn
on. `version_2/` has them, with the margins that the old program gave. Made with

    train --data numbers.csv --learner NAME --labels 25           (of 40 other examples)
    train --data mails.csv --positive spam --learner cohort --bigrams --bits 8 --labels 5/20 --audit 0.2
"""
import json
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "version_2"
MARGINS = json.loads((FOLDER / "margins.json").read_text())


@pytest.mark.parametrize("name", MARGINS)
def test_a_model_of_version_2_predicts_to_the_bit_as_it_did_and_learns_on(quorate, name):
    data = FOLDER / ("mails.csv" if name == "text" else "numbers.csv")
    model = quorate.folder / "m"
    shutil.copy(FOLDER / f"{name}.model", model)
    assert b'"format_version":"2"' in model.read_bytes()[:2000]

    def margins():
        lines = quorate.ok("predict", "--model", "m", "--data", data).out.splitlines()
        return [json.loads(line)["margin"] for line in lines]

    assert margins() == MARGINS[name]
    assert "40 examples" in quorate.ok("inspect", "m").out
    quorate.ok("train", "--data", data, "--model", "m")
    assert b'"format_version":"3"' in model.read_bytes()[:8000]
    assert "60 examples" in quorate.ok("inspect", "m").out
    assert len(margins()) == 20
