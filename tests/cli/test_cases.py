"""Files as people have them, each of a kind that was read wrongly once: tests/cases/, with the right reading in readings.json.

kinds: of columns; mistakes: at most so many while all labels are learned from; labels: how many there are; says: on standard error;
refused: with this message; options: of every command."""
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
READINGS = json.loads((CASES / "readings.json").read_text())
ALWAYS = ("--learner", "cohort(query=always)", "--in-order")


@pytest.fixture
def case(quorate):
    for file in CASES.iterdir():
        shutil.copy(file, quorate.folder)
    return quorate


def test_every_case_has_a_reading():
    assert {file.name for file in CASES.iterdir()} == {*READINGS, "readings.json"}


@pytest.mark.parametrize("name", READINGS)
def test_a_case_is_read_rightly(case, name):
    right = READINGS[name]
    options = right.get("options", [])
    run = case("simulate", "--data", name, *options, *ALWAYS, "--json")
    if "refused" in right:
        assert run.code == 1 and right["refused"] in run.err, run.err
        return
    assert run.code == 0, run.err
    mean = json.loads(run.out)["mean"]
    assert mean["mistakes"] <= right.get("mistakes", float("inf"))
    assert mean["labels"] == right.get("labels", mean["labels"])
    assert right.get("says", "") in run.err
    if "kinds" in right:
        kinds = {c["name"]: c["kind"] for c in json.loads(case.ok("look", name, *options, "--json").out)["columns"]}
        assert {column: kinds.get(column) for column in right["kinds"]} == right["kinds"]


def test_a_look_at_an_export_of_prodigy_says_what_to_type(case):
    command = json.loads(case.ok("look", "K13-prodigy.jsonl", "--json").out)["command"]
    options = READINGS["K13-prodigy.jsonl"]["options"]
    said = dict(zip(shlex.split(command)[::2], shlex.split(command)[1::2]))
    assert {o: said.get(o) for o in options[::2]} == dict(zip(options[::2], options[1::2])), command
    case.ok(*shlex.split(command)[1:])


def test_a_task_of_label_studio_becomes_an_example_as_its_message_says(case):
    refused = case("look", "K13-label-studio.jsonl")
    program = re.search(r"jq -c '(.*?)' FILE", refused.err)[1]
    assert program == ".data + {label: .annotations[0].result[0].value.choices[0]}"
    tasks = [json.loads(line) for line in (CASES / "K13-label-studio.jsonl").read_text().splitlines()]
    examples = [t["data"] | {"label": t["annotations"][0]["result"][0]["value"]["choices"][0]} for t in tasks]
    (case.folder / "examples.jsonl").write_text("".join(json.dumps(e) + "\n" for e in examples))
    assert json.loads(case.ok("look", "examples.jsonl", "--json").out)["labels"] == {"ham": 2, "spam": 3}


def test_a_vector_is_one_row_of_a_look(case):
    table = case.ok("look", "K3-vector.jsonl").out
    assert re.search(r"^emb +number .* 6 columns of numbers, emb.0 to emb.5", table, re.M) and "emb.1 " not in table, table


def test_a_column_that_is_empty_at_first_is_the_same_from_a_pipe_and_a_file(case):
    data = (CASES / "K7-late-column.csv").read_bytes()
    case.ok("train", "--data", "K7-late-column.csv", "--model", "file", "--learner", "cohort(query=always)")
    case.ok("train", "--data", "-", "--format", "csv", "--model", "pipe", "--learner", "cohort(query=always)", stdin=data)
    margins = [case.ok("predict", "--data", "K7-late-column.csv", "--model", model).out for model in ("file", "pipe")]
    assert margins[0] == margins[1]


def test_a_backslash_before_a_quote_is_told_from_a_quote_that_is_text(case):
    refused = case("train", "--data", "K12-backslash-quotes.csv", "--model", "m")
    assert refused.code == 1 and "--escape '\\'" in refused.err
    (case.folder / "a.csv").write_text('text,label\n"a "b,1\n')
    assert "--quote none" in case("train", "--data", "a.csv", "--model", "m").err


def test_classes_are_equal_as_numbers(case):
    text = (CASES / "K8-class-1.0.csv").read_text()
    (case.folder / "ints.csv").write_text(text.replace("1.0,", "1,").replace("2.0,", "2,").replace("3.0,", "3,"))
    case.ok("train", "--data", "ints.csv", "--model", "m", "--classes", "one-vs-rest")
    assert json.loads(case.ok("evaluate", "--data", "K8-class-1.0.csv", "--model", "m", "--json").out)["examples"] == 60


def test_labels_as_written_are_labels_to_the_byte(case):
    run = case.ok("simulate", "--data", "K6-class-NA.jsonl", "--classes", "one-vs-rest", "--labels-as-written", "--json", *ALWAYS)
    assert json.loads(run.out)["examples"] == 90 and "taken for none" not in run.err
    case.ok("simulate", "--data", "K8-two-labels.csv", "--positive", "A", "--labels-as-written", *ALWAYS)
    case.ok("simulate", "--data", "K8-classes-in-two-ways.csv", "--classes", "one-vs-rest", "--labels-as-written", *ALWAYS)


def test_true_and_false_are_1_and_0(case):
    rows = "label,a\n" + "".join(f"{i % 2},{3 * (i % 2) + i % 3}\n" for i in range(60))
    (case.folder / "numbers.csv").write_text(rows)
    (case.folder / "words.csv").write_text(rows.replace("\n1,", "\ntrue,").replace("\n0,", "\nfalse,"))
    for first, second in (("numbers", "words"), ("words", "numbers")):
        case.ok("train", "--data", f"{first}.csv", "--model", first)
        assert json.loads(case.ok("evaluate", "--data", f"{second}.csv", "--model", first, "--json").out)["measures"]["accuracy"]["value"] > 0.9
