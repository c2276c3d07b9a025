"""`quorate convert`: what a format can hold is kept exactly; what it cannot is named, and no file is left."""
import json

import pytest
import samples

ROWS = samples.rows(60, seed=9)

# Written as the program writes: fewest digits, one space, ids after '#'. Unlabelled, without id, task or feature, too.
SVMLIGHT = """\
1 task:a 1:0.1 3:-2.5e-07 4294967293:1e+18 # mail 17
-1 task:b.c 2:1
? task:a 0:5 7:0.30000000000000004 # x
+1 5:1e-300 # no task
0 task:only
spam task:\u00fcber 1:2
"""
FEATURES = """\
{"id":"mail-17","task":"a","label":"1","x":{"b":0.1,"w^x":1,"1":-2.5e-07,"w^a:b":2,"z^":0}}
{"task":"b","label":"-1","x":{"7":1,"007":3,"a:b:":1e+18,"\u00fc":-0.30000000000000004}}
{"id":"x","x":{"^y":1}}
{"label":"0","x":{}}
"""
TEXT = r"""{"id":"1","task":"a,b","label":"spam","text":"Buy \"now\", it's cheap"}
{"id":"2","task":"c","label":"ham","text":"two\nlines and a \ttab, \u00fcber"}
{"id":"3","task":"c","text":" x "}
"""


@pytest.fixture
def convert(quorate):
    """`convert(text, "svm", "vw", "svm")`: the text after these conversions."""
    def run(text: str, *kinds: str) -> str:
        for n, kind in enumerate(kinds):
            if n == 0:
                (quorate.folder / f"0.{kind}").write_bytes(text.encode())
            else:
                quorate.ok("convert", f"{n - 1}.{kinds[n - 1]}", f"{n}.{kind}")
        return (quorate.folder / f"{len(kinds) - 1}.{kinds[-1]}").read_bytes().decode()
    return run


def objects(text: str) -> list:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("way", [["svm", "vw", "svm"], ["svm", "jsonl", "svm"], ["svm", "vw", "jsonl", "vw", "svm"],
                                 ["svm", "svm"]])
def test_svmlight_comes_back_byte_for_byte(convert, way):
    text = SVMLIGHT if "vw" not in way else SVMLIGHT.replace("mail 17", "mail").replace("no task", "none")
    assert convert(text, *way) == text


@pytest.mark.parametrize("way", [["jsonl", "vw", "jsonl"], ["jsonl", "jsonl"], ["jsonl", "vw", "vw", "jsonl"]])
def test_json_lines_come_back_exactly(convert, way):
    text = FEATURES if "vw" not in way else FEATURES.replace(',"z^":0', "")
    assert objects(convert(text, *way)) == objects(text)


@pytest.mark.parametrize("way", [["csv", "jsonl", "csv"], ["csv", "csv"], ["csv", "vw", "csv"], ["csv", "vw", "jsonl", "csv"]])
def test_csv_comes_back_byte_for_byte(convert, way):
    text = ("id,task,label,height,\"a, b\",1x\ne1,t,1,0.1,2,-0.30000000000000004\n,t,0,1e+18,0,3\n"
            "e3,,,-2.5e-07,0,0\n\"e\"\"4\",\u00fc,1,1,1,1\n")
    if "vw" in way:
        text = text.replace('"a, b"', "ab")
    assert convert(text, *way) == text


def test_csv_numbers_its_columns_in_svmlight(convert):
    assert convert("task,label,a,b\nt,1,0.5,0\nu,-1,2,3\n", "csv", "svm", "jsonl") == (
        '{"task":"t","label":"1","x":{"1":0.5,"2":0}}\n{"task":"u","label":"-1","x":{"1":2,"2":3}}\n')


def test_columns_that_are_numbers_go_all_the_way_round(convert):
    text = "id,task,label,1,2,10\nx,t,1,0.5,0,1\ny,u,-1,2,3,0\n"
    assert convert(text, "csv", "jsonl", "svm", "vw", "csv") == text


@pytest.mark.parametrize("text", [TEXT, TEXT.replace(r"\n", r"\r\n"), TEXT.replace("spam", "+1").replace("ham", "-1")])
def test_text_survives_csv(convert, text):
    back = objects(convert(text, "jsonl", "csv", "jsonl"))
    assert back == objects(text)


def test_sparse_features_become_zeros_in_csv_and_say_the_same(convert):
    text = '{"id":"1","label":"1","x":{"b":2,"10":5}}\n{"id":"2","label":"0","x":{"a":1,"9":4}}\n'
    assert convert(text, "jsonl", "csv") == "id,task,label,9,10,b,a\n1,,1,0,5,2,0\n2,,0,4,0,0,1\n"


def test_columns_keep_their_meaning_under_other_names(quorate):
    (quorate.folder / "a.csv").write_text("who,y,colour,junk,v\nann,1,red,zzz,0.5\nbob,-1,,zzz,1\n")
    quorate.ok("convert", "a.csv", "a.jsonl", "--task-column", "who", "--label-column", "y", "--categorical-column", "colour",
               "--ignore-column", "junk")
    assert objects((quorate.folder / "a.jsonl").read_text()) == [
        {"task": "ann", "label": "1", "x": {"colour": "red", "v": 0.5}}, {"task": "bob", "label": "-1", "x": {"colour": None, "v": 1}}]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "svm", "vw"])
def test_times_are_kept_as_they_were_written(quorate, kind):
    text = "id,task,label,time,1,2\na,t,1,2026-11-21T13:15:00.50+01:00,0.5,1\nb,t,-1,,1,2\nc,u,1,12.50,3,1\n"
    (quorate.folder / "a.csv").write_text(text)
    quorate.ok("convert", "a.csv", f"b.{kind}", "--time-column", "time")
    quorate.ok("convert", f"b.{kind}", "c.csv", "--time-column", "time")
    assert (quorate.folder / "c.csv").read_text() == text


def test_a_column_called_time_is_a_feature_until_it_is_named(quorate):
    (quorate.folder / "a.csv").write_text("task,label,time,b\nt,1,5,1\nt,-1,6,2\n")
    quorate.ok("convert", "a.csv", "b.jsonl")
    assert objects((quorate.folder / "b.jsonl").read_text())[0]["x"] == {"time": 5, "b": 1}
    count = lambda *options: quorate.ok("simulate", "--data", "a.csv", "--json", *options).json()["features"]  # noqa: E731
    assert (count(), count("--time-column", "time")) == (3, 2)


GAPS = "id,task,label,v,7\n" + "".join(
    f"e{n},,{n % 2},{'' if n % 7 == 0 else format(n % 5 / 2, 'g')},{'' if n == 3 else n % 3}\n" for n in range(60))


@pytest.mark.parametrize("way", [["csv", "csv"], ["csv", "jsonl", "csv"]])
def test_missing_numbers_stay_missing(quorate, convert, way):
    back = convert(GAPS, *way)
    rows = [line.split(",") for line in back.splitlines()]
    if "jsonl" in way:  # then indices come first
        rows = [[*others, v, index] for *others, index, v in rows]
    assert "".join(",".join(row) + "\n" for row in rows) == GAPS
    features = [one["x"] for one in objects(convert(back, "csv", "jsonl"))]
    assert features == [one["x"] for one in objects(convert(GAPS, "csv", "jsonl"))]
    assert features[0] == {"v": None, "7": 0} and features[3] == {"v": 1.5, "7": None}


@pytest.mark.parametrize("to", ["csv", "jsonl"])
def test_columns_that_are_left_out_are_reported_as_train_does(quorate, to):
    (quorate.folder / "a.csv").write_text("label,email,when,order,v\n" + "".join(
        f"{n % 2},u{n}@x.org,2026-01-{1 + n % 28:02},{1000 + n},{n % 5}\n" for n in range(60)))
    report = quorate.ok("convert", "a.csv", f"b.{to}", "--quiet").err
    assert "when: date" in report and "email: id" in report and "  order: " in report
    assert report in quorate.ok("train", "--data", "a.csv", "--model", "m", "--quiet").err


def test_lists_of_texts_and_of_words_come_back(convert):
    text = ('{"label":1,"v":["a","a"],"text":["a b","c d"]}\n{"label":0,"v":["b","a"],"text":["e"]}\n'
            '{"label":0,"v":[],"text":"f g"}\n')
    once, twice = convert(text, "jsonl", "jsonl"), convert(text, "jsonl", "jsonl", "jsonl")
    assert objects(once)[0] == {"label": "1", "text": ["a b", "c d"], "x": {"v": "a"}}
    assert [one.get("x") for one in objects(twice)] == [{"v": "a"}, {"v": ["a", "b"]}, None]
    assert [one["text"] for one in objects(twice)] == [["a b", "c d"], "e", "f g"]
    assert objects(convert('{"label":1,"text":["a b","c d"]}\n', "jsonl", "jsonl")) == [{"label": "1", "text": ["a b", "c d"]}]


def row(**keys) -> str:
    return json.dumps({"task": "t", "label": "1", "x": {"1": 1}, **keys}) + "\n"


CANNOT = {  # what, in which format, what the message names
    "svm: a name": (row(x={"height": 1}), "svm", "'height'"),
    "svm: text": (row(text="hello", x={}), "svm", "text"),
    "svm: a task of two words": (row(task="a b"), "svm", "'a b'"),
    "svm: a task with a comment": (row(task="a#b"), "svm", "'a#b'"),
    "svm: a label of two words": (row(label="not spam"), "svm", "'not spam'"),
    "svm: a label with a newline": (row(label="a\nb"), "svm", "label"),
    "svm: a label like a feature": (row(label="a:b"), "svm", "'a:b'"),
    "svm: an id with a newline": (row(id="a\nb"), "svm", "id"),
    "svm: an id with spaces around it": (row(id=" a"), "svm", "' a'"),
    "svm: an id with a tab after it": (row(id="a\t"), "svm", "id"),
    "vw: text": (row(text="hello", x={}), "vw", "text"),
    "vw: a name of two words": (row(x={"two words": 1}), "vw", "'two words'"),
    "vw: a name with a bar": (row(x={"a|b": 1}), "vw", "'a|b'"),
    "vw: a name with a newline": (row(x={"a\nb": 1}), "vw", "feature name"),
    "vw: an empty name": (row(x={"": 1}), "vw", "without a name"),
    "vw: an empty name in a namespace": (row(x={"w^": 1}), "vw", "without a name"),
    "vw: a namespace with a colon": (row(x={"a:b^c": 1}), "vw", "'a:b'"),
    "vw: a namespace that means the task": (row(x={"task^b": 1}), "vw", "task"),
    "vw: a task of two words": (row(task="a b"), "vw", "'a b'"),
    "vw: an id of two words": (row(id="a b"), "vw", "'a b'"),
    "vw: an id with a newline": (row(id="a\nb"), "vw", "id"),
    "vw: a label of two words": (row(label="not spam"), "vw", "'not spam'"),
    "vw: a label with a newline": (row(label="a\nb"), "vw", "label"),
    "vw: a label like a tag": (row(label="'a"), "vw", "'a"),
    "csv: a feature called label": (row(x={"label": 3}), "csv", "label"),
    "csv: a feature called task": (row(x={"task": 3}), "csv", "task"),
    "csv: a feature called id": (row(x={"id": 3}), "csv", "id"),
    "csv: a feature called text beside text": (row(x={"text": 3}, text="hello"), "csv", "text"),
    "csv: a feature called text": (row(x={"text": 3}), "csv", "text"),
    "csv: a feature without a name": (row(x={"": 3}), "csv", "name"),
    "csv: several texts of one name": (row(text=["a", "b"]), "csv", "'text'"),
}


@pytest.mark.parametrize("case", CANNOT)
def test_what_a_format_cannot_hold_is_named_and_no_file_is_left(quorate, case):
    text, kind, named = CANNOT[case]
    (quorate.folder / "a.jsonl").write_text(row() + row() + text)
    result = quorate("convert", "a.jsonl", f"b.{kind}")
    assert (result.code, result.out) == (1, ""), (quorate.folder / f"b.{kind}").read_text()
    assert result.err.count("\n") == 1 and named in result.err and "a.jsonl" in result.err
    if kind != "csv":  # CSV reads the whole input first
        assert "a.jsonl:3:" in result.err
    assert [p.name for p in quorate.folder.iterdir()] == ["a.jsonl"]
    (quorate.folder / f"b.{kind}").write_text("old")
    assert quorate("convert", "a.jsonl", f"b.{kind}").code == 1
    assert (quorate.folder / f"b.{kind}").read_text() == "old"


def test_too_many_features_for_csv_are_refused(quorate):
    (quorate.folder / "a.vw").write_text("".join(f"1 | f{n}\n" for n in range(100_001)))
    result = quorate("convert", "a.vw", "a.csv")
    assert result.code == 1 and "100,000" in result.err and not (quorate.folder / "a.csv").exists()
    quorate.ok("convert", "a.vw", "a.jsonl")


def test_bad_input_leaves_no_file(quorate):
    (quorate.folder / "a.svm").write_text("1 1:1\n-1 2:x\n1 1:2\n")
    result = quorate("convert", "a.svm", "a.jsonl")
    assert (result.code, result.err.count("\n")) == (1, 1) and "a.svm:2:" in result.err
    assert [p.name for p in quorate.folder.iterdir()] == ["a.svm"]
    result = quorate.ok("convert", "a.svm", "a.jsonl", "--on-error", "skip")
    assert "1 bad line" in result.err and len(objects((quorate.folder / "a.jsonl").read_text())) == 2


def test_standard_input_and_output(quorate):
    text = "1 task:a 1:0.5 # x\n"
    result = quorate.ok("convert", "-", "-", "--format", "svmlight", "--to", "jsonl", stdin=text.encode())
    assert objects(result.out) == [{"id": "x", "task": "a", "label": "1", "x": {"1": 0.5}}]
    assert result.err == ""
    result = quorate("convert", "-", "a.csv", "--format", "svmlight", stdin=text.encode())
    assert result.code == 2 and "two passes" in result.err  # CSV needs its columns first
    result = quorate("convert", "-", "a.xml", "--format", "svmlight", stdin=text.encode())
    assert result.code == 2 and "a.xml" in result.err


@pytest.mark.parametrize("learner", ["cmtl(query=margin(b=1))", "amtl(query=similarity)"])
def test_the_same_data_in_two_formats_give_the_same_run(quorate, learner):
    (quorate.folder / "0.svm").write_text(samples.svmlight(ROWS))
    (quorate.folder / "0.csv").write_text(samples.csv(ROWS))
    documents, traces = [], []
    for first, name in [("0.svm", "1.svm"), ("0.svm", "2.jsonl"), ("0.svm", "3.vw"), ("0.csv", "4.svm"), ("0.csv", "5.csv")]:
        quorate.ok("convert", first, name)
        documents.append(quorate.ok("simulate", "--data", name, "--learner", learner, "--runs", 3, "--json", "--trace",
                                    "trace").json())
        traces.append((quorate.folder / "trace").read_text())
    assert set(traces[:4]) == {traces[0]}
    for document in documents:
        for one, other in zip(document["runs"], documents[0]["runs"]):
            for key in ("mistakes", "labels", "updates", "progressive_f1"):
                assert one[key] == other[key]
    # CSV columns lie one place before the indices 1, 2, ..., which may change the last bit of a sum.
    for a, b in zip(traces[4].splitlines(), traces[0].splitlines()):
        a, b = json.loads(a), json.loads(b)
        assert a == {**b, "margin": pytest.approx(b["margin"], rel=1e-9, abs=1e-12), "probability":
                     pytest.approx(b["probability"], rel=1e-9)}


@pytest.mark.parametrize("kind", samples.WRITERS)
def test_features_are_counted_alike_in_every_format(quorate, kind):
    (quorate.folder / f"a.{kind}").write_text(samples.WRITERS[kind](ROWS))
    count = lambda *options: quorate.ok("simulate", "--data", f"a.{kind}", "--json", *options).json()["features"]  # noqa: E731
    assert (count(), count("--no-bias")) == (7, 6)  # the constant one counts, indices that never occur do not
