"""Bad input: one line that names file, line, value and what was expected; exit code 1; nothing else. With --on-error skip
the good lines count and the bad ones are reported."""
import gzip
import json
import lzma
import os
import time

import pytest
import samples

CSV = "id,task,label,a,b\nx1,t,1,0.5,2\nx2,u,-1,1,3\n"
SVM = "1 task:t 1:0.5 2:2\n-1 task:u 1:1 2:3\n"
JSONL = '{"task":"t","label":1,"x":{"a":0.5}}\n{"task":"u","label":-1,"x":{"a":1}}\n'
VW = "1 |task t | a:0.5\n-1 |task u | a:1\n"
GOOD = {"csv": CSV, "svm": SVM, "jsonl": JSONL, "vw": VW}
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"

# A line after the two good ones (CSV: with the header, line 4), and what the message says of it besides "expected".
BAD_LINES = {
    "csv inf": ("csv", "x3,t,1,1,-inf", ["'b'", "'-inf'", ":10:"]),
    "csv too large": ("csv", "x3,t,1,1e19,1", ["'a'", "'1e19'", ":8:"]),
    "csv a word": ("csv", "x3,t,1,red,1", ["'a'", "'red'", "--categorical-column"]),
    "csv hexadecimal": ("csv", "x3,t,1,0x10,1", ["'a'", "'0x10'"]),
    "csv a number and more": ("csv", "x3,t,1,1.5kg,1", ["'a'", "'1.5kg'"]),
    "csv a number of two lines": ("csv", 'x3,t,1,"1\n2",1', ["'a'"]),
    "csv too few fields": ("csv", "x3,t,1,1", ["4 fields", "5"]),
    "csv too many fields": ("csv", "x3,t,1,1,2,3", ["6 fields", "5"]),
    "csv text after a quote": ("csv", 'x3,t,1,"1"2,3', ["quote", ":11:"]),
    "csv an unknown label": ("csv", "x3,t,spam,1,1", ["'spam'", "--positive"]),
    "csv a second kind of negative": ("csv", "x3,t,0,1,1", ["'0'", "'-1'"]),
    "csv a label of two": ("csv", "x3,t,2,1,1", ["'2'"]),
    "csv a label of two lines": ("csv", 'x3,t,"1\n1",1,1', ["label"]),
    "csv a label with a zero byte": ("csv", "x3,t,1\0,1,1", ["label"]),
    "csv a long label": ("csv", "x3,t,x" + "\u00fc" * 100 + ",1,1", ["label"]),
    "csv broken UTF-8": ("csv", b"x3,t\xff,1,1,1", ["0xff", ":5:"]),
    "csv UTF-8 cut short": ("csv", b"x3,t,1,1,\xe2\x82", ["0xe2", ":10:"]),
    "svm nan": ("svm", "1 task:t 1:nan", ["'nan'", ":12:"]),
    "svm inf": ("svm", "1 task:t 1:inf", ["'inf'", ":12:"]),
    "svm too large": ("svm", "1 task:t 1:1e400", ["'1e400'"]),
    "svm a word": ("svm", "1 task:t 1:red", ["'red'"]),
    "svm no value": ("svm", "1 task:t 1:", ["'1:'", ":10:"]),
    "svm no colon": ("svm", "1 task:t 17", ["'17'", "index:value"]),
    "svm a duplicate index": ("svm", "1 task:t 2:1 2:1", ["'2'", "once", ":14:"]),
    "svm a descending index": ("svm", "1 task:t 3:1 2:1", ["'2'", "ascending", ":14:"]),
    "svm an index over the limit": ("svm", "1 task:t 4294967294:1", ["'4294967294'", "4294967293", ":10:"]),
    "svm an index far over the limit": ("svm", "1 task:t 99999999999999999999:1", ["'99999999999999999999'"]),
    "svm a negative index": ("svm", "1 task:t -1:1", ["'-1'"]),
    "svm a name": ("svm", "1 task:t height:1", ["'height'"]),
    "svm a task twice": ("svm", "1 task:t task:u 1:1", ["'task'"]),
    "svm no label": ("svm", "task:t 1:1", ["'task:t'", "label"]),
    "svm an unknown label": ("svm", "spam task:t 1:1", ["'spam'", "--positive"]),
    "svm broken UTF-8": ("svm", b"1 task:\xc3\x28 1:1", ["0xc3", ":8:"]),
    "jsonl cut short": ("jsonl", '{"task":"t","label":1,"x":{"a":1}', ["JSON", "the line ends inside an object", ":34:"]),
    "jsonl a word after the object": ("jsonl", '{"task":"t","label":1,"x":{"a":1}} trailing', ["'trailing'", ":36:"]),
    "jsonl nan": ("jsonl", '{"task":"t","label":1,"x":{"a":NaN}}', ["'NaN'; expected JSON", "null is a missing value", ":32:"]),
    "jsonl too large": ("jsonl", '{"task":"t","label":1,"x":{"a":1e19}}', ["'a'", "finite"]),
    "jsonl beyond a double": ("jsonl", '{"task":"t","label":1,"x":{"a":1e999}}', []),
    "jsonl a feature twice": ("jsonl", '{"task":"t","label":1,"x":{"a":1,"a":2}}', ["'a'", "once"]),
    "jsonl an index twice": ("jsonl", '{"task":"t","label":1,"x":{"7":1,"a":2,"7":2}}', ["'7'", "once"]),
    "jsonl x twice": ("jsonl", '{"task":"t","label":1,"x":{"a":1},"x":{"b":1}}', ["'x'"]),
    "jsonl x a number": ("jsonl", '{"task":"t","label":1,"x":3}', ["'x'", "object"]),
    "jsonl a feature that is a list": ("jsonl", '{"task":"t","label":1,"x":{"a":[1]}}', ["'a'", "number"]),
    "jsonl a null in a list": ("jsonl", '{"task":"t","label":1,"x":[1,null]}', ["'x'", "number"]),
    "jsonl a list": ("jsonl", '[1,2]', ["object"]),
    "jsonl nothing to learn from": ("jsonl", '{"task":"t","label":1}', ["x", "text"]),
    "jsonl a task that is a list": ("jsonl", '{"task":["t"],"label":1,"x":{}}', ["'task'"]),
    "jsonl text that is a number": ("jsonl", '{"task":"t","label":1,"text":5}', ["'text'"]),
    "jsonl an unknown label": ("jsonl", '{"task":"t","label":"spam","x":{"a":1}}', ["'spam'", "--positive"]),
    "jsonl a label of two lines": ("jsonl", '{"task":"t","label":"1\\n1","x":{"a":1}}', ["label"]),
    "jsonl a key with a newline": ("jsonl", '{"task":"t","label":1,"x":{"a\\nb":"c","d\\ne":[1]}}', ["number"]),
    "jsonl broken UTF-8": ("jsonl", b'{"task":"\xff","label":1,"x":{}}', ["0xff", ":10:"]),
    "vw nan": ("vw", "1 |task t | a:nan", ["'nan'", ":15:"]),
    "vw inf": ("vw", "1 |task t | a:inf", ["'inf'", ":15:"]),
    "vw a word": ("vw", "1 |task t | a:1red", ["'1red'"]),
    "vw no bar": ("vw", "1 task t a:1", ["'1 task t a:1'", "|"]),
    "vw an importance": ("vw", "1 -2.5 |task t | a:1", ["'-2.5'", "importance", ":3:"]),
    "vw costs of classes": ("vw", "1:0.5 |task t | a:1", ["'1:0.5'", "cost-sensitive"]),
    "vw of a contextual bandit": ("vw", "1:2:0.5 |task t | a:1", ["'1:2:0.5'", "contextual bandit"]),
    "vw two tasks": ("vw", "1 |task t u | a:1", ["'u'", "one feature"]),
    "vw an empty task": ("vw", "1 |task | a:1", ["'task'"]),
    "vw an unknown label": ("vw", "spam |task t | a:1", ["'spam'", "--positive"]),
    "vw broken UTF-8": ("vw", b"1 |task t | \xf8", ["0xf8", ":13:"]),
}


def one_line(result, name, *said):
    """Exit code 1 and nothing but one short line about this file."""
    assert (result.code, samples.without_progress(result.out)) == (1, ""), result.err
    assert result.err.startswith("quorate: ") and result.err.endswith("\n") and result.err.count("\n") == 1
    assert result.err[:-1].isprintable(), ascii(result.err)
    assert len(result.err) < 400
    for part in (name, *said):
        assert part in result.err, result.err


def with_line(kind, line, after=""):
    bad = line if isinstance(line, bytes) else line.encode()
    return GOOD[kind].encode() + bad + b"\n" + after.encode()


def number_of(kind, line):
    """Of the line where the bad example ends."""
    extra = line.count("\n") if isinstance(line, str) else 0
    return (4 if kind == "csv" else 3), (4 if kind == "csv" else 3) + extra


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_named_with_its_value_and_what_was_expected(quorate, case):
    kind, line, said = BAD_LINES[case]
    (quorate.folder / f"bad.{kind}").write_bytes(with_line(kind, line))
    result = quorate("simulate", "--data", f"bad.{kind}")
    one_line(result, f"bad.{kind}", "expected", *said)
    assert any(f"bad.{kind}:{n}:" in result.err for n in number_of(kind, line))


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_can_be_skipped_and_are_counted(quorate, case):
    kind, line, said = BAD_LINES[case]
    after = GOOD[kind].split("\n", 1)[1] if kind == "csv" else GOOD[kind]
    (quorate.folder / f"bad.{kind}").write_bytes(with_line(kind, line, after))
    result = quorate.ok("simulate", "--data", f"bad.{kind}", "--on-error", "skip", "--json")
    assert result.json()["examples"] == 4
    assert result.err.count("\n") == 1 and "1 bad line" in result.err and f"bad.{kind}" in result.err
    for part in said:
        assert part in result.err
    assert any(f"bad.{kind}:{n}:" in result.err for n in number_of(kind, line))


def test_all_skipped_lines_are_counted_and_the_first_is_told(quorate):
    rows = samples.svmlight(samples.rows(50)).splitlines(keepends=True)
    rows[10:10] = ["1 1:x\n"] * 7
    rows[40:40] = ["1 2:1 1:1\n"] * 5
    (quorate.folder / "a.svm").write_text("".join(rows))
    (quorate.folder / "good.svm").write_text(samples.svmlight(samples.rows(50)))
    quorate.ok("train", "--data", "good.svm", "--model", "good", "--learner", "cmtl")
    summary = quorate.ok("train", "--data", "a.svm", "--model", "m", "--learner", "cmtl", "--on-error", "skip", "--json", "--quiet")
    assert "12 bad lines" in summary.err and "a.svm:11:" in summary.err and summary.err.count("\n") == 1
    assert (summary.json()["examples"], summary.json()["skipped_lines"]) == (50, 12)
    assert (quorate.folder / "m").read_bytes() == (quorate.folder / "good").read_bytes()
    lines = quorate.ok("predict", "--data", "a.svm", "--model", "m", "--on-error", "skip")
    assert "12 bad lines" in lines.err and sum("error" in line for line in lines.lines()) == 12
    assert [line["id"] for line in lines.lines() if "error" not in line] == [str(r.id) for r in samples.rows(50)]
    result = quorate.ok("convert", "a.svm", "a.jsonl", "--on-error", "skip")
    assert "12 bad lines" in result.err and len((quorate.folder / "a.jsonl").read_text().splitlines()) == 50


def test_a_file_of_nothing_but_bad_lines_is_refused_with_their_reason(quorate):
    (quorate.folder / "a.svm").write_text("1 1:x\n1 2:y\n")
    result = quorate("simulate", "--data", "a.svm", "--on-error", "skip")
    assert (result.code, result.out) == (1, "")
    assert "a.svm:1:" in result.err and "'x'" in result.err  # not only that nothing was left


@pytest.mark.parametrize("command", ["train", "predict", "convert"])
@pytest.mark.parametrize("case", ["csv inf", "svm a descending index", "jsonl cut short", "vw no bar", "csv broken UTF-8"])
def test_every_command_that_reads_data_refuses_them_alike(quorate, command, case):
    kind, line, said = BAD_LINES[case]
    (quorate.folder / f"good.{kind}").write_text(GOOD[kind])
    (quorate.folder / f"bad.{kind}").write_bytes(with_line(kind, line))
    quorate.ok("train", "--data", f"good.{kind}", "--model", "m", "--learner", "cmtl")
    result = quorate(*{"train": ["train", "--data", f"bad.{kind}", "--model", "m2", "--learner", "cmtl"],
                       "predict": ["predict", "--data", f"bad.{kind}", "--model", "m", "--out", "out"],
                       "convert": ["convert", f"bad.{kind}", "out.jsonl"]}[command])
    one_line(result, f"bad.{kind}:{number_of(kind, line)[0]}:", "expected", *said)
    assert sorted(p.name for p in quorate.folder.iterdir()) == [f"bad.{kind}", f"good.{kind}", "m"]


# ---- whole files

def packed(text: str) -> bytes:
    return gzip.compress(text.encode() * 1000)


FILES = {  # name, bytes, what the message says besides the name
    "missing column": ("a.csv", CSV, ["'weight'", "id, task, label, a, b"], ["--task-column", "weight"]),
    "missing label column": ("a.csv", CSV, ["'y'"], ["--label-column", "y"]),
    "missing categorical column": ("a.csv", CSV, ["'colour'"], ["--categorical-column", "colour"]),
    "column of two lines": ("a.csv", CSV, ["header"], ["--label-column", "la\nbel"]),
    "column twice": ("a.csv", "task,label,a,a\nt,1,1,1\n", ["a.csv:1:14:", "'a'", "twice"]),
    "column without a name": ("a.csv", "task,label,,a\nt,1,1,1\n", ["a.csv:1:12:", "expected"]),
    "open quote": ("a.csv", CSV + 'x3,t,1,"1,2\nx4,t,1,1,2\n', ["a.csv:4:", "quote", "expected"]),
    "open quote in the header": ("a.csv", 'task,"label,a\nt,1,1\n', ["a.csv:1:", "quote"]),
    "label outside the set": ("a.csv", CSV.replace("-1", "9"), ["a.csv:3:", "'9'", "expected"]),
    "empty csv": ("a.csv", "", ["expected"]),
    "empty svm": ("a.svm", "", ["expected"]),
    "empty jsonl": ("a.jsonl", "", ["expected"]),
    "empty vw": ("a.vw", "", ["expected"]),
    "a header only": ("a.csv", "task,label,a\n", ["expected"]),
    "blank lines": ("a.jsonl", "\n  \n\n", ["expected"]),
    "empty gzip": ("a.csv.gz", gzip.compress(b""), ["expected"]),
    "truncated gzip": ("a.svm.gz", packed(SVM)[:-30], ["gzip", "truncated"]),
    "gzip cut in its last bytes": ("a.svm.gz", packed(SVM)[:-1], ["gzip", "truncated"]),
    "gzip cut in its header": ("a.csv.gz", packed(CSV)[:5], ["gzip", "truncated"]),
    "gzip of no bytes": ("a.csv.gz", b"", ["gzip"]),
    "flipped gzip": ("a.svm.gz", packed(SVM)[:-8] + b"\0\0\0\0" + packed(SVM)[-4:], ["gzip", "damaged"]),
    "no gzip": ("a.csv.gz", CSV, ["not gzip data; expected a name without .gz"]),
    "truncated xz": ("a.svm.xz", lzma.compress(SVM.encode() * 1000)[:-30], ["xz", "truncated"]),
    "no xz": ("a.csv.xz", CSV, ["not xz data; expected a name without .xz"]),
    "truncated zstd": ("a.csv.zst", bytes.fromhex("28b52ffd0458"), ["zstd"]),
    "no zstd": ("a.csv.zst", CSV, ["not zstd data; expected a name without .zst"]),
    "packed under a plain name": ("a.csv", packed(CSV), ["gzip data; expected text", "ends in .gz", "gunzip <FILE | quorate"]),
    "xz under a plain name": ("a.svm", lzma.compress(SVM.encode()), ["xz data; expected text", "ends in .xz"]),
    "xz under the name of gzip": ("a.svm.gz", lzma.compress(SVM.encode()), ["not gzip data, but xz", "ends in .xz"]),
    "packed twice": ("a.csv.gz", gzip.compress(packed(CSV)), ["packed twice", "gunzip <FILE >NEW.gz"]),
    "UTF-16 without a mark": ("a.csv", CSV.encode("utf-16-le"), ["--encoding utf-16le"]),
    "UTF-16 without a mark, the high bytes first": ("a.jsonl", JSONL.encode("utf-16-be"), ["--encoding utf-16be"]),
    "an image as csv": ("a.csv", PNG, ["a.csv:1:1:", "0x89", "expected"]),
    "an image as jsonl": ("a.jsonl", PNG, ["a.jsonl:1:1:", "0x89", "expected"]),
    "zero bytes as svm": ("a.svm", b"\0" * 100, ["a.svm:1", "expected"]),
    "json as svm": ("a.svm", JSONL, ["a.svm:1:", '{"task"', "expected", "SVMlight"]),
    "json as vw": ("a.vw", JSONL, ["a.vw:1:", '{"task"', "expected", "VW"]),
    "json as csv": ("a.csv", JSONL, ["a.csv:1:", "expected"]),
    "svm as jsonl": ("a.jsonl", SVM, ["a.jsonl:1:", "expected", "JSON"]),
    "svm as vw": ("a.vw", SVM, ["a.vw:1:", "'1 task:t", "expected", "VW"]),
    "svm as csv": ("a.csv", SVM, ["a.csv:1:", "no column of labels", "expected"]),
    "csv as svm": ("a.svm", CSV, ["a.svm:1", "id,task,label", "expected"]),
    "csv as jsonl": ("a.jsonl", CSV, ["a.jsonl:1:", "id,task", "expected", "JSON"]),
    "csv as vw": ("a.vw", CSV, ["a.vw:1:", "id,task", "expected", "VW"]),
    "vw as svm": ("a.svm", VW, ["a.svm:1:", "|task", "expected"]),
    "a pretty-printed document as jsonl": ("a.jsonl", '{\n "task": "t"\n}\n', ["a.jsonl:1:", "expected", "JSON"]),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(quorate, case):
    name, content, said, *options = FILES[case]
    (quorate.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    one_line(quorate("simulate", "--data", name, *(options[0] if options else [])), name, *said)


@pytest.mark.parametrize("case", ["truncated gzip", "flipped gzip", "truncated xz", "no zstd", "empty svm"])
def test_damage_that_is_not_of_one_line_is_never_skipped(quorate, case):
    name, content, said = FILES[case]
    (quorate.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    one_line(quorate("simulate", "--data", name, "--on-error", "skip"), name, *said)


@pytest.mark.parametrize("kind", ["svm", "csv", "jsonl", "vw"])
def test_a_line_of_100_mb_is_refused_and_can_be_skipped(quorate, kind):
    line = {"svm": "1 task:t 1:", "csv": "x3,t,1,0.", "jsonl": '{"label":1,"text":"', "vw": "1 |task t | a:0."}[kind].encode()
    with gzip.open(quorate.folder / f"a.{kind}.gz", "wb", compresslevel=1) as f:
        f.write(GOOD[kind].encode())
        f.write(line)
        for _ in range(100):
            f.write(b"1" * 1_000_000)
        f.write(b"\n")
        f.write((GOOD[kind].split("\n", 1)[1] if kind == "csv" else GOOD[kind]).encode())
    n = 4 if kind == "csv" else 3
    one_line(quorate("simulate", "--data", f"a.{kind}.gz"), f"a.{kind}.gz:{n}:", "bytes", "expected")
    result = quorate.ok("simulate", "--data", f"a.{kind}.gz", "--on-error", "skip", "--json")
    assert result.json()["examples"] == 4 and "1 bad line" in result.err and f"a.{kind}.gz:{n}:" in result.err


def test_lines_and_names_of_other_systems_are_no_error(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(30)))
    plain = quorate.ok("simulate", "--data", "a.csv", "--json").json()
    text = "\ufeff" + samples.csv(samples.rows(30)).replace("\n", "\r\n").rstrip()  # byte order mark, CRLF, no last newline
    (quorate.folder / "b.csv").write_bytes(text.encode())
    other = quorate.ok("simulate", "--data", "b.csv", "--json").json()
    assert samples.without_seconds(other) == samples.without_seconds(plain)


@pytest.mark.parametrize("pack, ending", [(gzip.compress, ".gz"), (lzma.compress, ".xz"),
                                          (lambda b: gzip.compress(b[:777]) + gzip.compress(b[777:]), ".gz")])
def test_packed_files_say_the_same(quorate, pack, ending):
    text = samples.jsonl(samples.rows(60))
    (quorate.folder / "a.jsonl").write_text(text)
    (quorate.folder / f"b.jsonl{ending}").write_bytes(pack(text.encode()))
    plain, packed_run = (quorate.ok("simulate", "--data", name, "--json").json() for name in ("a.jsonl", "b"))
    assert samples.without_seconds(packed_run) == samples.without_seconds(plain)


@pytest.mark.parametrize("kind, good, bad", [
    ("csv", "task,label,when,a\nt,1,0,1\nt,-1,2026-11-21 13:15,1\n", "t,1,noon,1\n"),
    ("jsonl", '{"label":1,"when":0,"x":{}}\n{"label":-1,"when":1,"x":{}}\n', '{"label":1,"when":"noon","x":{}}\n'),
    ("vw", "1 |when 0 | a\n-1 |when 1 | a\n", "1 |when noon | a\n"),
    ("svm", "1 task:t time:0 1:1\n-1 time:1 1:1\n", "1 task:t time:2026-02-30 1:1\n")])
def test_what_is_no_time_is_a_bad_line_only_where_time_decides(quorate, kind, good, bad):
    (quorate.folder / f"a.{kind}").write_text(good + bad)
    n, rate = good.count("\n") + 1, ["--labels", "9/day"]
    when = [] if kind == "svm" else ["--time-column", "when"]
    for command in (["simulate", "--in-order"], ["train", "--model", "none"]):
        one_line(quorate(*command, "--data", f"a.{kind}", *when, *rate), f"a.{kind}:{n}:", "expected", "2026-11-21T")
    result = quorate.ok("train", "--data", f"a.{kind}", *when, *rate, "--on-error", "skip", "--json", "--model", "m")
    assert result.json()["examples"] == 2 and "1 bad line" in result.err and f"a.{kind}:{n}:" in result.err
    assert quorate.ok("simulate", "--data", f"a.{kind}", *when, "--json").json()["examples"] == 3
    assert len(quorate.ok("predict", "--model", "m", "--data", f"a.{kind}", *when).out.splitlines()) == 3
    quorate.ok("evaluate", "--model", "m", "--data", f"a.{kind}", *when)
    assert not (quorate.folder / "none").exists()


def test_the_unit_of_a_time_is_known_by_its_size_and_a_missing_one_is_named(quorate):
    days = [1_764_000_000 + 86_400 * day // 10 for day in range(60)]  # ten lines a day
    asked = {}
    for unit in ("s", "ms", "us", "ns", "date"):
        times = [time.strftime("%Y%m%d", time.gmtime(day)) if unit == "date" else day * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
                 for day in days]
        (quorate.folder / "a.csv").write_text("label,when,a\n" + "".join(f"{n % 2},{when},{n % 7}\n" for n, when in enumerate(times)))
        found = quorate.ok("train", "--data", "a.csv", "--model", f"m-{unit}", "--time-column", "when", "--labels", "2/day", "--json",
                           "--learner", "cohort(query=always)").json()
        asked[unit] = found["report"]["labels"]["answered"]
    assert asked["s"] == asked["ms"] == asked["us"] == asked["ns"] <= 14 and asked["date"] <= 14, asked
    (quorate.folder / "a.csv").write_text("label,when,a\n1,0,1\n0,,1\n")
    one_line(quorate("train", "--data", "a.csv", "--model", "m", "--time-column", "when", "--labels", "2/day"), "a.csv:3:", "no time",
             "one in 'when' for every example")
    one_line(quorate("train", "--data", "a.csv", "--model", "m", "--labels", "2/day"), "a.csv:2:", "no time", "--time-column")


# ---- graphs

@pytest.mark.parametrize("graph, text, said", [
    ("cliques", "", ["expected"]),
    ("cliques", "group,task\na,t\n", ["g.csv:1:", "'group,task'", "task,group"]),
    ("cliques", "task,group\nt\n", ["g.csv:2:", "'t'", "expected"]),
    ("cliques", "task,group\nt,a\nu,b\nt,b\n", ["g.csv:4:", "'t'", "expected"]),
    ("cliques", 'task,group\n"t,a\n', ["g.csv:2:", "quote"]),
    ("edges", "", ["expected"]),
    ("edges", "task,group\nt,u\n", ["g.csv:1:", "from,to"]),
    ("edges", "from,to\nt,t\n", ["g.csv:2:", "'t'", "expected"]),
    ("edges", "from,to\nt,u,v\n", ["g.csv:2:", "expected"]),
    ("edges", "from,to\n" + "".join(f"h,n{i}\n" for i in range(4096)), ["4097", "4096", "expected"]),
    ("edges", b"from,to\nt,\xff\n", ["g.csv:2:", "0xff"])])
def test_a_bad_graph_is_refused_with_file_and_line(quorate, graph, text, said):
    (quorate.folder / "a.csv").write_text(CSV)
    (quorate.folder / "g.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    one_line(quorate("simulate", "--data", "a.csv", "--learner", f"cmtl(graph={graph}(file=g.csv))"), "g.csv", *said)


def test_a_graph_may_have_line_ends_and_the_mark_of_other_systems(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(60)))
    runs = []
    for text in ("from,to\nt0,t1\n", "\ufefffrom,to\r\nt0,t1"):
        (quorate.folder / "g.csv").write_bytes(text.encode())
        runs.append(quorate.ok("simulate", "--data", "a.csv", "--learner", "cmtl(graph=edges(file=g.csv))", "--json").json())
    assert samples.without_seconds(runs[0]) == samples.without_seconds(runs[1])


def test_a_name_that_could_be_several_files_is_refused(quorate):
    (quorate.folder / "a.csv").write_text(CSV)
    (quorate.folder / "a.svm").write_text(SVM)
    result = quorate("simulate", "--data", "a")
    assert result.code == 3 and "a.csv" in result.err and "a.svm" in result.err and result.err.count("\n") == 1
    os.remove(quorate.folder / "a.svm")
    assert json.loads(quorate.ok("simulate", "--data", "a", "--json").out)["examples"] == 2
