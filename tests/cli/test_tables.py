"""Tables as they come: kinds of columns are inferred, shown by `quorate look`, and kept in the model."""
import json
import random
import shlex

import pytest

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(n):
    """Of letters alone: runs of two and more are words."""
    return LETTERS[n // 676 % 26] + LETTERS[n // 26 % 26] + LETTERS[n % 26]


WORDS = [word(7 * i) for i in range(400)]


def mails(n, seed):
    """Mails as (user, subject, folder, links, age, spam): words say most, the category and the two numbers the rest."""
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        spam = rng.random() < 0.4
        said = spam != (rng.random() < 0.15)
        words = rng.choices(WORDS, k=5) + rng.choices(["free", "win", "money", "offer"] if said else ["meeting", "report", "lunch"], k=2)
        rng.shuffle(words)
        folder = rng.choice(["inbox", "promo", "social"]) if rng.random() < 0.5 else "promo" if spam else "inbox"
        age = rng.randint(1, 3000) if rng.random() < 0.6 else rng.randint(1, 400) if spam else rng.randint(1000, 3000)
        out.append((f"u{rng.randrange(20)}", " ".join(words), folder, min(8, int(rng.expovariate(1 / (3 if spam else 1)))), age, int(spam)))
    return out


def text_of(rows, delimiter=",", columns=("user", "subject", "folder", "links", "age", "spam")):
    return "".join(delimiter.join(map(str, row[: len(columns)])) + "\n" for row in [columns, *rows])


@pytest.fixture
def table(quorate):
    rows = mails(3000, 7)
    (quorate.folder / "mails.csv").write_text(text_of(rows[:2000]))
    (quorate.folder / "new.csv").write_text(text_of(rows[2000:], columns=("user", "subject", "folder", "links", "age")))
    return rows


def fails(quorate, code, *args, **more):
    """What the program says, which must end with this code."""
    done = quorate(*args, **more)
    assert done.code == code, done
    return done.err


def kinds(quorate, *args):
    document = quorate.ok("look", *args, "--json").json()
    return {c["name"]: c["kind"] for c in document["columns"]}, document


def test_look_says_what_the_columns_hold_and_its_command_works(quorate, table):
    found, document = kinds(quorate, "mails.csv")
    assert found == {"user": "task", "subject": "text", "folder": "category", "links": "count", "age": "count", "spam": "label"}
    assert document["labels"] == {"0": sum(not r[-1] for r in table[:2000]), "1": sum(r[-1] for r in table[:2000])}
    shown = quorate.ok("look", "mails.csv").out
    command = document["command"]
    assert command == "quorate train --data mails.csv --model mails.model --task-column user --label-column spam"
    assert command in shown
    quorate.ok(*shlex.split(command)[1:])
    assert len(quorate.ok("inspect", "mails.model", "--json").json()["tasks"]) == 20


def test_look_takes_the_likelier_name_for_the_label_wherever_its_column_is(quorate):
    rows = [f"{'abc'[i % 3]},word{i} and more words,{'yes' if i % 5 < 2 else 'no'},{i % 7}" for i in range(90)]
    (quorate.folder / "order.csv").write_text("\n".join(["category,subject,spam,n", *rows]) + "\n")
    assert "--label-column spam" in quorate.ok("look", "order.csv", "--json").json()["command"]


def test_look_proposes_to_ask_people_where_no_row_has_a_label(quorate):
    rows = [f"{'ab'[i % 2]},word{i} and more words,{i * 0.37:.2f}" for i in range(60)]
    (quorate.folder / "unlabelled.csv").write_text("\n".join(["user,subject,price", *rows]) + "\n")
    command = quorate.ok("look", "unlabelled.csv", "--json").json()["command"]
    assert command == "quorate label --dir unlabelled --data unlabelled.csv --task-column user --positive yes --negative no"
    assert "60 examples of unlabelled.csv" in quorate.ok(*shlex.split(command)[1:]).err


def accuracy(quorate, rows, train=2000):
    """Of a model that was told the names of the label and the task, nothing else; and how many labels it bought."""
    (quorate.folder / "a.csv").write_text(text_of(rows[:train]))
    (quorate.folder / "b.csv").write_text(text_of(rows[train:], columns=("user", "subject", "folder", "links", "age")))
    said = quorate.ok("train", "--data", "a.csv", "--label-column", "spam", "--task-column", "user", "--model", "m", "--json").json()
    lines = quorate.ok("predict", "--data", "b.csv", "--model", "m").lines()
    return sum(line["label"] == str(row[-1]) for line, row in zip(lines, rows[train:], strict=True)) / len(lines), said["report"]["labels"]["answered"]


def test_mails_with_nothing_but_the_names_of_label_and_task(quorate, table):
    """What several columns say together is found; Vowpal Wabbit is measured beside it in research/tables.py."""
    right, labels = accuracy(quorate, table)
    assert right > 0.86 and labels < 400, (right, labels)


@pytest.mark.parametrize("words", [9, 134])
@pytest.mark.parametrize("decides", ["subject", "folder", "links", "age"])
def test_whatever_column_decides_the_others_do_not_drown_it(quorate, decides, words):
    rng = random.Random(f"{decides} {words}")
    rows = []
    for _ in range(2500):
        spam = rng.random() < 0.4
        subject = rng.choices(WORDS, k=words)
        if decides == "subject":
            subject += rng.choices(["free", "win", "money", "offer"] if spam else ["meeting", "report", "lunch", "notes"], k=3)
        rng.shuffle(subject)
        folder = rng.choice(["inbox", "social"]) if decides != "folder" else rng.choice(["promo", "lists"]) if spam else "inbox"
        links = rng.randint(4, 8) if decides == "links" and spam else rng.randint(0, 3 if decides == "links" else 8)
        age = rng.randint(1, 400) if decides == "age" and spam else rng.randint(500 if decides == "age" else 1, 3000)
        label = int(spam != (rng.random() < 0.05))
        rows.append((f"u{rng.randrange(20)}", " ".join(subject), folder, links, age, label))
    right, labels = accuracy(quorate, rows)
    assert right > 0.9, (right, labels)  # 0.95 is all there is


def test_predictions_without_a_task_column_are_warned_of(quorate, table):
    quorate.ok("train", "--data", "mails.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    (quorate.folder / "no.jsonl").write_text(jsonl([row[1:5] for row in table[:5]], ("subject", "folder", "links", "age")))
    assert "no example says its task (the model has it in 'user')" in quorate.ok("predict", "--data", "no.jsonl", "--model", "m").err
    assert quorate.ok("predict", "--data", "new.csv", "--model", "m").err == ""


def test_tasks_that_the_model_does_not_know_are_warned_of(quorate):
    rows = [(int(user[1:]), *rest) for user, *rest in mails(600, 3)]
    (quorate.folder / "a.csv").write_text(text_of(rows[:500]))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    known = {row[0] for row in rows[:500]}
    as_pandas = [(f"{user}.0", *rest) for user, *rest in rows[500:] if user in known]  # as it writes numbers beside a missing one
    for strangers in (0, 2):
        (quorate.folder / "b.csv").write_text(text_of([(f"new {i}" if i < strangers else user, *rest) for i, (user, *rest) in enumerate(as_pandas)]))
        said = f"quorate: b.csv: 2 of {len(as_pandas)} examples are of tasks that the model does not know, as 'new 0'; they are predicted with what all tasks share\n"
        for command in ("predict", "evaluate"):
            found = quorate.ok(command, "--data", "b.csv", "--model", "m")
            assert found.err == (said if strangers else "") and "does not know" not in found.out


def test_inspect_says_what_each_column_got(quorate, table):
    quorate.ok("train", "--data", "mails.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    columns = {c["name"]: (c["kind"], c["scale"]) for c in quorate.ok("inspect", "m", "--json").json()["columns"]}
    mean = sum(row[3] for row in table[:2000]) / 2000
    assert columns["links"][0] == "count" and columns["links"][1].startswith(f"(v - {mean:.2f}"[:7]), columns
    assert columns["subject"] == ("text", "log-idf") and columns["folder"] == ("category", "1") and columns["user"] == ("task", "")
    assert columns["age"][1] != ""
    assert "column   kind      scale" in quorate.ok("inspect", "m").out


def test_the_model_keeps_the_columns(quorate, table):
    train = ("train", "--data", "mails.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    quorate.ok(*train)
    first = quorate.ok("predict", "--data", "new.csv", "--model", "m").lines()
    assert {line["task"] for line in first} == {row[0] for row in table[2000:]}
    quorate.ok(*train)  # the same line again
    quorate.ok("train", "--data", "mails.csv", "--model", "m")  # or nothing of it
    columns = ("age", "links", "subject", "folder", "user")
    moved = [tuple(row[("user", "subject", "folder", "links", "age").index(c)] for c in columns) for row in table[2000:2010]]
    (quorate.folder / "moved.csv").write_text(text_of(moved, columns=columns))
    again = quorate.ok("predict", "--data", "moved.csv", "--model", "m").lines()
    expected = quorate.ok("predict", "--data", "new.csv", "--model", "m").lines()[:10]
    assert again == expected


@pytest.mark.parametrize("options, says", [
    (["--label-column", "links"], ["--label-column links", "'spam'"]),
    (["--task-column", "folder"], ["--task-column folder", "'user'"]),
    (["--categorical-column", "age"], ["'age'", "category", "count"]),
])
def test_other_columns_than_those_of_the_model_are_named(quorate, table, options, says):
    quorate.ok("train", "--data", "mails.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    err = fails(quorate, 2, "train", "--data", "mails.csv", "--model", "m", *options)
    assert all(word in err for word in says), err


def test_a_column_that_is_missing_or_new_is_named(quorate, table):
    quorate.ok("train", "--data", "mails.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    (quorate.folder / "few.csv").write_text("user,subject,links,age\nu1,hi there,1,2\n")
    assert "'folder'" in fails(quorate, 1, "predict", "--data", "few.csv", "--model", "m")
    (quorate.folder / "more.csv").write_text("user,subject,folder,links,age,size\nu1,hi there,inbox,1,2,3\n")
    assert "--ignore-column size" in fails(quorate, 1, "predict", "--data", "more.csv", "--model", "m")
    quorate.ok("predict", "--data", "more.csv", "--model", "m", "--ignore-column", "size")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_give_the_same_model(quorate, table, delimiter):
    (quorate.folder / "other.csv").write_text(text_of(table[:2000], delimiter))
    for name in ("mails", "other"):
        quorate.ok("train", "--data", f"{name}.csv", "--model", name, "--label-column", "spam", "--task-column", "user")
    assert (quorate.folder / "mails").read_bytes() == (quorate.folder / "other").read_bytes()


def test_numbers_between_semicolons_may_have_a_decimal_comma(quorate, table):
    rows = [(user, subject, folder, links, str(age + 0.5), spam) for user, subject, folder, links, age, spam in table[:600]]
    (quorate.folder / "point.csv").write_text(text_of(rows, ";"))
    (quorate.folder / "comma.csv").write_text(text_of([(*row[:4], row[4].replace(".", ","), row[5]) for row in rows], ";"))
    for name in ("point", "comma"):
        quorate.ok("train", "--data", f"{name}.csv", "--model", name, "--label-column", "spam", "--task-column", "user")
    predicted = [quorate.ok("predict", "--data", "point.csv", "--model", name).out for name in ("point", "comma")]
    assert predicted[0] == predicted[1]  # the files differ in what they say of commas
    why = {c["name"]: c["why"] for c in quorate.ok("look", "comma.csv", "--json").json()["columns"]}
    assert why["age"] == "numbers, written as 915,5"
    (quorate.folder / "bad.csv").write_text(text_of([(*row[:4], "1,2,3", row[5]) for row in rows[:3]], ";"))
    assert "'1,2,3'" in fails(quorate, 1, "predict", "--data", "bad.csv", "--model", "comma")


def test_a_number_between_commas_is_no_thousand_because_the_model_has_decimal_commas(quorate):
    rows = [(i % 2, 1 + (7 * i % 500) / 999, 2.5) for i in range(100)]
    (quorate.folder / "a.csv").write_text("label;a;b\n" + "".join(f"{y};{a:.3f};{b}\n".replace(".", ",") for y, a, b in rows))
    quorate.ok("train", "--data", "a.csv", "--model", "m")
    either = "a,b\n1.234,1\n1.864,1\n"
    (quorate.folder / "either.csv").write_text(either)
    (quorate.folder / "sure.csv").write_text("a,b\n1.234,2.5\n1.864,2.5\n")  # no thousand has one digit after a point
    (quorate.folder / "quoted.csv").write_text('a,b\n"1,234","2,5"\n"1,864","2,5"\n')
    said = fails(quorate, 1, "predict", "--data", "either.csv", "--model", "m")
    assert "either.csv:2" in said and "'1.234' may be a thousand" in said and "--decimal ." in said
    assert "'1.234' may be a thousand" in fails(quorate, 1, "predict", "--data", "-", "--format", "csv", "--model", "m", stdin=either.encode())

    def margins(name, *options):
        return [row["margin"] for row in quorate.ok("predict", "--data", name, "--model", "m", *options).lines()]

    assert margins("sure.csv") == margins("quoted.csv")
    assert margins("either.csv", "--decimal", ".") != margins("either.csv", "--decimal", ",", "--thousands", ".")


def test_the_command_that_look_proposes_reads_as_look_did(quorate):
    drinks, labels = ("caf\u00e9", "th\u00e9"), ("yes", "no", "skip")
    rows = "".join(f"{drinks[i % 2]};{'-' if i % 7 == 0 else f'1.{i:03},5'};{labels[i % 3]}\n" for i in range(60))
    (quorate.folder / "a.csv").write_bytes(("drink;price;label\n" + rows).encode("latin-1"))
    options = ["--encoding", "latin-1", "--missing=-", "--unlabelled", "skip", "--decimal", ",", "--thousands", "."]
    command = quorate.ok("look", "a.csv", *options, "--json").json()["command"]
    quorate.ok(*shlex.split(command)[1:], "--learner", "cohort(query=always)")
    assert quorate.ok("inspect", "a.model", "--json").json()["labels"]["bought"] == 40


def test_look_says_which_columns_could_be_the_task(quorate, table):
    hint = "no column is the task; --task-column if examples of each 'u' or 'folder' follow rules of their own"
    (quorate.folder / "a.csv").write_text(text_of(table[:600], columns=("u", "subject", "folder", "links", "age", "spam")))
    assert f"look: {hint}\n" in quorate.ok("look", "a.csv", "--label-column", "spam").out
    assert hint not in quorate.ok("look", "a.csv", "--label-column", "spam", "--task-column", "u").out
    other = fails(quorate, 1, "train", "--data", "a.csv", "--model", "m", "--label-column", "spamm", "--task-column", "u")
    assert "(did you mean spam?)" in other
    (quorate.folder / "b.csv").write_text("Urgent?,Minutes open\n" + "Yes,1\nNo,2\n" * 20)
    assert "(did you mean 'Urgent?'?)" in fails(quorate, 1, "train", "--data", "b.csv", "--model", "m", "--label-column", "Urgent")
    quorate.ok("train", "--data", "b.csv", "--model", "m", "--label-column", "Urgent?", "--number-column", "Minutes open")
    (quorate.folder / "c.csv").write_text("Minutes open\nsoon\n")
    assert "--categorical-column 'Minutes open'" in fails(quorate, 1, "predict", "--data", "c.csv", "--model", "m")


def test_a_pipe_is_judged_by_its_first_rows(quorate, table):
    text = (quorate.folder / "mails.csv").read_text()
    quorate.ok("train", "--data", "-", "--format", "csv", "--model", "m", "--label-column", "spam", "--task-column", "user", stdin=text.encode())
    quorate.ok("train", "--data", "mails.csv", "--model", "n", "--label-column", "spam", "--task-column", "user")
    assert (quorate.folder / "m").read_bytes() == (quorate.folder / "n").read_bytes()


@pytest.mark.parametrize("yes, no", [("yes", "no"), ("True", "False"), ("Y", "N"), ("TRUE", "FALSE")])
def test_words_for_yes_and_no_are_labels(quorate, table, yes, no):
    rows = [(*row[:-1], yes if row[-1] else no) for row in table[:2000]]
    (quorate.folder / "words.csv").write_text(text_of(rows))
    quorate.ok("train", "--data", "words.csv", "--model", "m", "--label-column", "spam", "--task-column", "user")
    assert {line["label"] for line in quorate.ok("predict", "--data", "new.csv", "--model", "m").lines()} == {yes, no}
    (quorate.folder / "bad.csv").write_text(text_of([*rows[:5], (*rows[5][:-1], "perhaps")]))
    assert "'perhaps'" in fails(quorate, 1, "train", "--data", "bad.csv", "--model", "m")


@pytest.mark.parametrize("options, says", [
    (["--label-column", "spam", "--positive", "Yes"], ["label 'Yes', which means +1"]),
    (["--task-column", "user"], ["--label-column", "no column of labels"]),
])
def test_an_option_without_effect_is_an_error(quorate, table, options, says):
    err = fails(quorate, 1, "train", "--data", "mails.csv", "--model", "m", *options)
    assert all(word in err for word in says), err
    assert not (quorate.folder / "m").exists()


def test_a_key_that_no_line_has_is_an_error(quorate, table):
    lines = [json.dumps(dict(zip(("user", "subject", "folder", "links", "age", "spam"), row, strict=True))) for row in table[:50]]
    (quorate.folder / "a.jsonl").write_text("\n".join(lines))
    assert "--task-column usr" in fails(quorate, 1, "train", "--data", "a.jsonl", "--model", "m", "--label-column", "spam", "--task-column", "usr")
    assert "--label-column span" in fails(quorate, 1, "train", "--data", "a.jsonl", "--model", "m", "--label-column", "span")


def test_json_lines_are_as_a_table(quorate, table):
    lines = [json.dumps(dict(zip(("user", "subject", "folder", "links", "age", "spam"), row, strict=True))) for row in table[:2000]]
    (quorate.folder / "mails.jsonl").write_text("\n".join(lines))
    found, _ = kinds(quorate, "mails.jsonl", "--label-column", "spam", "--task-column", "user")
    assert found == kinds(quorate, "mails.csv")[0]
    accuracy = [quorate.ok("train", "--data", f"mails.{ending}", "--model", ending, "--label-column", "spam", "--task-column", "user",
                           "--learner", "cohort(query=always)", "--json").json()["progressive_accuracy"] for ending in ("csv", "jsonl")]
    assert abs(accuracy[0] - accuracy[1]) < 0.02


def test_look_warns_of_what_looks_wrong(quorate):
    rows = "".join(f"{i},{i % 2},k{i},7,{'spam' if i % 2 else 'ham'},2026-11-{i % 28 + 1:02d}\n" for i in range(60))
    (quorate.folder / "a.csv").write_text("row,label,key,same,leak,when\n" + rows)
    found, document = kinds(quorate, "a.csv")
    assert found == {"row": "id", "label": "label", "key": "ignored", "same": "count", "leak": "category", "when": "date"}
    said = {w["column"]: w["what"] for w in document["warnings"]}
    assert "one value" in said["same"] and "contains the answer" in said["leak"] and "--time-parts" in said["when"]


def test_missing_values_of_json_lines_are_those_of_the_csv_file(quorate):
    rows = [{"label": i % 2, "age": None if i % 2 and i > 3 else i * 7 % 11 + 0.5, "size": i * 5 % 13,
             "kind": None if i % 10 == 4 else "ab"[i * 3 % 7 % 2]} for i in range(200)]  # fmt: skip
    csv = "\n".join(",".join("" if v is None else str(v) for v in row.values()) for row in [dict(zip(rows[0], rows[0])), *rows])
    present = [{key: value for key, value in row.items() if value is not None} for row in rows]
    for name, text in (("a.csv", csv + "\n"), ("null.jsonl", json_lines(rows)), ("absent.jsonl", json_lines(present))):
        (quorate.folder / name).write_text(text)
        quorate.ok("train", "--data", name, "--model", f"{name}.m", "--learner", "cohort(query=always)")
    found = {name: quorate.ok("predict", "--data", data, "--model", f"{name}.m").lines()
             for name, data in (("a.csv", "a.csv"), ("null.jsonl", "absent.jsonl"), ("absent.jsonl", "null.jsonl"))}  # fmt: skip
    assert found["a.csv"] == found["null.jsonl"] == found["absent.jsonl"]
    assert sum(int(line["label"]) == row["label"] for line, row in zip(found["a.csv"], rows)) > 190


def json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_hours_and_weekdays_are_features_if_asked_for(quorate):
    rows = "".join(f"{int(i % 24 < 12)},2026-11-{i // 24 + 1:02d}T{i % 24:02d}:15:00Z\n" for i in range(480))
    (quorate.folder / "a.csv").write_text("label,when\n" + rows)
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cohort(query=always)", "--time-parts")
    right = [line["label"] for line in quorate.ok("predict", "--data", "a.csv", "--model", "m").lines()]
    assert sum(label == row[0] for label, row in zip(right, rows.splitlines(), strict=True)) == 480


def test_a_number_times_1000_changes_no_prediction(quorate, table):
    for name, factor in (("one", 1), ("thousand", 1000)):
        rows = [(*row[:4], row[4] * factor + 0.5 * factor, row[5]) for row in table[:2000]]
        (quorate.folder / f"{name}.csv").write_text(text_of(rows))
        quorate.ok("train", "--data", f"{name}.csv", "--model", name, "--label-column", "spam", "--task-column", "user")
    one, thousand = (quorate.ok("predict", "--data", f"{name}.csv", "--model", name).lines() for name in ("one", "thousand"))
    assert [line["label"] for line in one] == [line["label"] for line in thousand]


def test_a_model_of_a_csv_file_reads_json_lines_of_the_same_columns(quorate):
    rows = [(f"u{n % 3}", ["free cash offer", "team lunch notes", "project review"][n % 3] + f" {n}", ["mail", "chat"][n % 2], n % 7,
             (37 * n) % 3000, "yes" if n % 3 == 0 else "no") for n in range(120)]
    names = ["user", "subject", "channel", "links", "age", "spam"]
    (quorate.folder / "a.csv").write_text(",".join(names) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    (quorate.folder / "a.jsonl").write_text("".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows))
    for kind in ("csv", "jsonl"):
        quorate.ok("train", "--data", f"a.{kind}", "--model", kind, "--label-column", "spam", "--task-column", "user")
    expected = quorate.ok("predict", "--model", "csv", "--data", "a.csv").out
    for model in ("csv", "jsonl"):
        for data in ("a.csv", "a.jsonl"):
            assert quorate.ok("predict", "--model", model, "--data", data).out == expected


def test_numbers_that_count_up_are_no_second_id(quorate):
    """As in CSV: beside a key called id."""
    lines = [json.dumps({"id": f"m{n}", "size": n, "user": "ann", "text": f"word{n % 7}", "label": n % 2}) for n in range(60)]
    (quorate.folder / "all.jsonl").write_text("\n".join(lines) + "\n")
    done = quorate.ok("train", "--data", "all.jsonl", "--model", "m", "--task-column", "user", "--json").json()
    assert done["examples"] == 60


def test_look_finds_a_column_of_more_values_than_labels_that_contains_the_answer(quorate):
    def said(each):
        rows = "".join(f"{'yes' if i % 3 == 0 else 'no'},{['spam', 'work', 'private'][i % 3]}\n" for i in range(3 * each))
        (quorate.folder / "a.csv").write_text("spam,kind\n" + rows)
        return [w["what"] for w in kinds(quorate, "a.csv", "--label-column", "spam")[1]["warnings"] if w["column"] == "kind"]

    assert "contains the answer" in said(20)[0]
    assert said(19) == []  # too few rows of each value to tell


def test_tabs_by_the_ending_of_the_file(quorate, table):
    rows = mails(300, 7)
    (quorate.folder / "mails.tsv").write_text(text_of(rows, "\t"))
    assert quorate.ok("look", "mails.tsv", "--json").json()["tasks"] == 20
    quorate.ok("train", "--data", "mails.tsv", "--model", "tsv", "--label-column", "spam", "--task-column", "user")


def jsonl(rows, columns=("user", "subject", "folder", "links", "age", "spam")):
    return "".join(json.dumps(dict(zip(columns, row))) + "\n" for row in rows)


def test_an_ignored_key_or_namespace_that_is_not_there_is_an_error(quorate):
    (quorate.folder / "a.jsonl").write_text(jsonl(mails(100, 1)))
    (quorate.folder / "x.jsonl").write_text("".join(f'{{"label": {i % 2}, "x": {{"a": {i % 2}, "b": 1}}}}\n' for i in range(20)))
    (quorate.folder / "a.vw").write_text("".join(f"{2 * (i % 2) - 1} |f a{i % 2} |g b\n" for i in range(20)))
    args = ["--label-column", "spam", "--task-column", "user"]
    said = fails(quorate, 1, "train", "--data", "a.jsonl", "--model", "m", *args, "--ignore-column", "foldr,age")
    assert "no key 'foldr' (did you mean folder?) in any line" in said and "age" not in said and "m is not written" in said
    assert "no key 'c' in any line" in fails(quorate, 1, "train", "--data", "x.jsonl", "--model", "m", "--ignore-column", "c,a")
    assert "no namespace 'h' in any line" in fails(quorate, 1, "train", "--data", "a.vw", "--model", "m", "--ignore-column", "g,h")
    (quorate.folder / "a.svm").write_text("".join(f"{2 * (i % 2) - 1} 1:{1 + i % 3} 7:{1 + i % 2}\n" for i in range(40)))
    assert "no index '8' in any line" in fails(quorate, 1, "train", "--data", "a.svm", "--model", "m", "--ignore-column", "8,7")
    assert not (quorate.folder / "m").exists()
    for name, ignored in (("s1", "1"), ("s2", "7")):
        quorate.ok("train", "--data", "a.svm", "--model", name, "--ignore-column", ignored, "--learner", "cohort(query=always)")
        right = [line["label"] for line in quorate.ok("predict", "--data", "a.svm", "--model", name, "--ignore-column", ignored).lines()]
        assert (right == [str(2 * (i % 2) - 1) for i in range(40)]) == (ignored == "1")
    quorate.ok("train", "--data", "a.jsonl", "--model", "m", *args, "--ignore-column", "folder")
    done = quorate.ok("train", "--data", "a.jsonl", "--model", "m", *args, "--ignore-column", "foldr")
    assert "no key 'foldr'" in done.err  # a note: the model is there already
    quorate.ok("train", "--data", "a.vw", "--model", "v", "--ignore-column", "g")
    (quorate.folder / "a.csv").write_text(text_of(mails(100, 1)))
    quorate.ok("train", "--data", "a.csv", "--model", "c", *args, "--ignore-column", "folder,age")
    with_a, without_a = (quorate.ok("train", "--data", "x.jsonl", "--model", name, *args, "--learner", "cohort(query=always)",
                                    "--json").json()["progressive_accuracy"]
                         for name, args in (("x1", []), ("x2", ["--ignore-column", "a"])))
    assert with_a > 0.9 > without_a  # of features in x, too


def test_examples_without_a_task_are_counted(quorate):
    rows = [("" if i % 5 == 0 else user, *rest) for i, (user, *rest) in enumerate(mails(100, 3))]
    (quorate.folder / "a.csv").write_text(text_of(rows))
    args = ["train", "--data", "a.csv", "--label-column", "spam", "--task-column", "user"]
    assert "20 examples without a user are of the task 'all'\n" in quorate.ok(*args, "--model", "m").out
    assert quorate.ok(*args, "--model", "n", "--json").json()["examples_without_task"] == 20
    (quorate.folder / "b.csv").write_text(text_of(rows, columns=("user", "subject", "folder", "links", "age", "spam")).replace("user,", "u,"))
    assert "without a" not in quorate.ok("train", "--data", "b.csv", "--label-column", "spam", "--model", "o").out  # one task


def test_a_positive_word_that_no_example_has_is_answered_with_the_labels(quorate):
    (quorate.folder / "a.csv").write_text("label,a\n" + "".join(f"{'yes' if i % 2 else 'no'},{i % 7}\n" for i in range(40)))
    said = fails(quorate, 1, "train", "--data", "a.csv", "--model", "m", "--positive", "yess")
    assert "label 'yess', which means +1 (did you mean yes?); the labels are 'no', 'yes'; m is not written" in said


def test_a_positive_word_that_the_first_thousand_labels_are_not_is_said_at_once(quorate):
    rows = "label,a\n" + "".join(f"{'yes' if i % 2 else 'no'},{i % 7}\n" for i in range(1200))
    (quorate.folder / "a.csv").write_text(rows)
    said = fails(quorate, 1, "train", "--data", "a.csv", "--model", "m", "--positive", "yess").splitlines()
    assert said[0].endswith("a.csv: none of the first 1,000 labelled examples has the label 'yess', which means +1 (did you mean yes?); the labels are 'no', 'yes'")
    assert "none of 1,200 examples" in said[-1]
    (quorate.folder / "b.csv").write_text(rows + "yess,1\n")  # it came after all
    assert quorate.ok("train", "--data", "b.csv", "--model", "m", "--positive", "yess").err.count("which means +1") == 1
    assert "which means +1" not in quorate.ok("train", "--data", "b.csv", "--model", "n", "--positive", "yes").err


def test_json_lines_of_other_keys_than_the_models_are_refused(quorate):
    (quorate.folder / "a.jsonl").write_text(jsonl(mails(100, 1)))
    before = quorate.ok("train", "--data", "a.jsonl", "--model", "m", "--label-column", "spam", "--task-column", "user", "--json").json()["report"]
    (quorate.folder / "b.jsonl").write_text('{"amount": 3, "user": "u1"}\n' * 5)
    said = fails(quorate, 1, "predict", "--data", "b.jsonl", "--model", "m")
    assert "no key that the model knows in the first 5 lines; expected subject, folder, links, age" in said
    (quorate.folder / "c.jsonl").write_text('{"amount": 3}\n{"links": 2, "amount": 1}\n')
    (quorate.folder / "d.jsonl").write_text(jsonl(mails(20, 2)) + '{"amount": 3, "spam": "1"}\n' * 3)
    learned = quorate.ok("train", "--data", "d.jsonl", "--model", "m", "--json")
    assert "d.jsonl:21: no key that the model knows; 3 such examples not learned from or asked about" in learned.err
    learned = json.loads(learned.out)
    assert learned["examples"] == 20 and learned["examples_unknown"] == 3 and learned["report"]["examples"] == before["examples"] + 20
    assert "the key 'amount' (line 1) and others that the model does not know were left out 2 times" in quorate.ok(
        "predict", "--data", "c.jsonl", "--model", "m").err
    assert len(quorate.ok("predict", "--data", "-", "--format", "jsonl", "--model", "m", stdin=b'{"amount": 3}\n').lines()) == 1  # a pipe


def test_the_options_of_train_serve_predict_on_data_without_labels(quorate, table):
    args = ["--model", "m", "--label-column", "spam", "--task-column", "user"]
    quorate.ok("train", "--data", "mails.csv", *args)
    assert quorate.ok("predict", "--data", "new.csv", *args).out == quorate.ok("predict", "--data", "new.csv", "--model", "m").out
    assert "no column 'usr'" in fails(quorate, 1, "evaluate", "--data", "new.csv", "--model", "m", "--text-column", "usr")


def test_one_is_singular(quorate):
    (quorate.folder / "a.csv").write_text("label,a\n1,2\n0,1\n1\n")
    done = quorate.ok("train", "--data", "a.csv", "--model", "m", "--on-error", "skip", "--labels", 1, "--learner", "cmtl(query=always)")
    assert "2 examples of 1 task, 1 label bought" in done.out and "1 bad line skipped" in done.err
    assert "2 examples of 1 task; 1 label bought" in quorate.ok("inspect", "m").out
    assert "from 1 of 1 label\n" in quorate.ok("rebuild", "m", "--out", "n").out
