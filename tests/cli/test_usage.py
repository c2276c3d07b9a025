"""How the program is called: options, exit codes, help, `describe`, pipes, terminals."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
import samples

COMMANDS = ["simulate", "train", "predict", "inspect", "convert", "describe"]
ROWS = samples.rows(60)


@pytest.fixture
def folder(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cmtl")
    return quorate.folder


SIMULATE, TRAIN = ["simulate", "--data", "a.csv"], ["train", "--data", "a.csv", "--model", "n", "--learner", "cmtl"]
BAD_USAGE = {  # the command, and what its message names
    "no command": ([], ["command"]),
    "unknown command": (["nonsense"], []),
    "no data": (["simulate"], ["--data"]),
    "no model": (["predict", "--data", "a.csv"], ["--model"]),
    "unknown option": ([*SIMULATE, "--nonsense"], ["--nonsense"]),
    "unknown short option": ([*SIMULATE, "-x"], ["-x"]),
    "an option of another command": (["predict", "--data", "a.csv", "--model", "m", "--learner", "cmtl"], ["--learner"]),
    "an argument too many": (["convert", "a.csv", "b.svm", "surplus"], ["surplus"]),
    "an option without its value": ([*SIMULATE, "--labels"], ["--labels"]),
    "an option twice": ([*SIMULATE, "--seed", 1, "--seed", 2], ["--seed"]),
    "an option cut short": ([*SIMULATE, "--pass", 2], ["--pass"]),
    "unknown learner": ([*SIMULATE, "--learner", "percepton"], ["'percepton'", "perceptron, cmtl, amtl"]),
    "unknown parameter": ([*SIMULATE, "--learner", "cmtl(speed=1)"], ["'speed'", "graph, query"]),
    "unknown parameter inside": ([*SIMULATE, "--learner", "cmtl(query=margin(c=1))"], ["'c'", "b"]),
    "a parameter twice": ([*SIMULATE, "--learner", "cmtl(query=always, query=margin)"], ["'query'", "twice"]),
    "unknown choice": ([*SIMULATE, "--learner", "cmtl(query=never)"], ["query=never", "always, random, margin"]),
    "a choice of another learner": ([*SIMULATE, "--learner", "cmtl(query=similarity)"], ["query=similarity"]),
    "parameter out of range": ([*SIMULATE, "--learner", "cmtl(query=margin(b=0))"], ["b=0", "above 0"]),
    "parameter not finite": ([*SIMULATE, "--learner", "cmtl(query=margin(b=inf))"], ["b=inf"]),
    "parameter no number": ([*SIMULATE, "--learner", "cmtl(query=margin(b=much))"], ["b=much", "a number"]),
    "probability above 1": ([*SIMULATE, "--learner", "perceptron(query=random(p=1.5))"], ["p=1.5", "from 0 to 1"]),
    "an open bracket": ([*SIMULATE, "--learner", "cmtl(query=margin"], ["')'", "character"]),
    "an empty learner": ([*SIMULATE, "--learner", ""], ["expected a word"]),
    "a graph without its file": ([*SIMULATE, "--learner", "cmtl(graph=cliques)"], ["file="]),
    "a learner of two lines": ([*SIMULATE, "--learner", "cmtl\nx"], []),
    "labels negative": ([*SIMULATE, "--labels", -1], ["--labels", "-1"]),
    "labels no number": ([*SIMULATE, "--labels", "many"], ["--labels", "many"]),
    "labels a fraction": ([*SIMULATE, "--labels", "1.5"], ["--labels", "1.5"]),
    "labels beyond 64 bits": ([*SIMULATE, "--labels", "184467440737095516150"], ["--labels"]),
    "seed negative": ([*SIMULATE, "--seed", -1], ["--seed", "-1"]),
    "runs zero": ([*SIMULATE, "--runs", 0], ["--runs", "0"]),
    "runs negative": ([*SIMULATE, "--runs", -1], ["--runs", "-1"]),
    "passes zero": ([*SIMULATE, "--passes", 0], ["--passes", "0"]),
    "threads zero": ([*SIMULATE, "--threads", 0], ["--threads", "0"]),
    "train-per-task zero": ([*SIMULATE, "--train-per-task", 0], ["--train-per-task", "0"]),
    "bits too many": ([*SIMULATE, "--bits", 32], ["--bits", "32", "31"]),
    "skip negative": ([*TRAIN, "--skip", -5], ["--skip", "-5"]),
    "on-error unknown": ([*SIMULATE, "--on-error", "ignore"], ["--on-error", "ignore", "skip"]),
    "format unknown": ([*SIMULATE, "--format", "xml"], ["xml", "svmlight"]),
    "predictions in another format": (["predict", "--data", "a.csv", "--model", "m", "--to", "svm"], ["--to", "svm"]),
    "an unknown ending": (["convert", "a.csv", "a.xml"], ["a.xml", "svmlight"]),
    "packed output": (["convert", "a.csv", "a.svm.gz"], ["a.svm.gz"]),
    "a column with two meanings": ([*SIMULATE, "--label-column", "f1", "--task-column", "f1"], ["'f1'"]),
    "describe an unknown learner": (["describe", "nonsense"], ["'nonsense'", "perceptron"]),
    "describe in two ways": (["describe", "--json", "--markdown"], ["--json", "--markdown"]),
}


@pytest.mark.parametrize("case", BAD_USAGE)
def test_bad_usage_is_one_short_line_and_exit_code_2(quorate, folder, case):
    command, said = BAD_USAGE[case]
    result = quorate(*command)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("quorate: ") and result.err.endswith("\n") and result.err[:-1].isprintable()
    assert len(result.err) < 300
    for part in said:
        assert part in result.err
    assert sorted(p.name for p in folder.iterdir()) == ["a.csv", "m"]


FILE_TROUBLE = {
    "no data": (["simulate", "--data", "none.csv"], "none.csv"),
    "no data of that name": (["simulate", "--data", "none"], "none"),
    "no test set": ([*SIMULATE, "--test", "none.csv"], "none.csv"),
    "no data to train on": (["train", "--data", "none.csv", "--model", "n", "--learner", "cmtl"], "none.csv"),
    "no data to predict": (["predict", "--data", "none.csv", "--model", "m"], "none.csv"),
    "no model to predict with": (["predict", "--data", "a.csv", "--model", "none"], "none"),
    "no model to inspect": (["inspect", "none"], "none"),
    "nothing to convert": (["convert", "none.csv", "b.svm"], "none.csv"),
    "no graph": ([*SIMULATE, "--learner", "cmtl(graph=edges(file=none.csv))"], "none.csv"),
    "a folder as data": (["simulate", "--data", "sub.csv"], "sub.csv"),
    "a folder as model": (["inspect", "sub.csv"], "sub.csv"),
    "a folder as graph": ([*SIMULATE, "--learner", "cmtl(graph=edges(file=sub.csv))"], "sub.csv"),
    "a model in no folder": (["train", "--data", "a.csv", "--model", "no/n", "--learner", "cmtl"], "no/n"),
    "a trace in no folder": ([*SIMULATE, "--trace", "no/trace"], "no/trace"),
    "output in no folder": (["convert", "a.csv", "no/b.svm"], "no/b.svm"),
    "predictions in no folder": (["predict", "--data", "a.csv", "--model", "m", "--out", "no/p"], "no/p"),
}


@pytest.mark.parametrize("case", FILE_TROUBLE)
def test_file_trouble_is_one_line_and_exit_code_3(quorate, folder, case):
    (folder / "sub.csv").mkdir()
    command, name = FILE_TROUBLE[case]
    result = quorate(*command)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("quorate: ") and result.err.count("\n") == 1 and f"{name}: " in result.err
    assert sorted(p.name for p in folder.iterdir()) == ["a.csv", "m", "sub.csv"]


def test_a_folder_is_called_a_folder(quorate, folder):
    (folder / "sub.csv").mkdir()
    for command in (["simulate", "--data", "sub.csv"], ["inspect", "sub.csv"], ["convert", "sub.csv", "b.svm"]):
        assert "directory" in quorate(*command).err, command


# ---- help

def test_version_is_a_number(quorate):
    result = quorate.ok("--version")
    assert re.fullmatch(r"quorate \d+\.\d+\.\d+\n", result.out) and result.err == ""


def test_help_names_every_command_and_exit_code(quorate):
    result = quorate.ok("--help")
    assert result.err == ""
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w", result.out, re.M)
    for code in ("0 done", "1 bad data", "2 bad usage", "3 file trouble", "130 interrupted"):
        assert code in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_explains_its_options(quorate, command):
    result = quorate.ok(command, "--help")
    assert result.err == ""
    # -x,--name TYPE=default [REQUIRED] [...]  meaning, maybe in the next lines
    entries = re.findall(r"^  (?:-\w,)?(--[\w-]+)\S*(?: [A-Z]\S*| in \[.*?\]\S*| \.\.\.)*(.*(?:\n {6,}.*)*)", result.out,
                         re.M)
    options = [name for name, _ in entries]
    assert len(options) > 1 and len(set(options)) == len(options) == len(re.findall(r"^  -", result.out, re.M))
    assert all(len(meaning.strip()) > 5 for _, meaning in entries)
    if command not in ("inspect", "describe"):
        example = re.search(rf"Example:\n  (quorate {command} .*)", result.out)
        assert example
        for option in re.findall(r" (--[\w-]+)", example[1]):
            assert option in options


def test_the_program_without_anything_says_how_to_get_help(quorate):
    assert "--help" in quorate().err


# ---- describe

def parameters(learners):
    """All (learner, parameter) of a description, nested ones too."""
    def inside(params):
        for p in params:
            yield p
            for choice in p.get("choices", []):
                yield from inside(choice["parameters"])
    return [(a, p) for a in learners for p in inside(a["parameters"])]


def test_describe_as_json_gives_every_parameter_a_meaning_and_a_default(quorate, folder):
    learners = quorate.ok("describe", "--json").json()
    assert [a["name"] for a in learners] == ["cohort", "perceptron", "cmtl", "amtl", "peer", "amlc", "shampo",
                                             "shampo-second-order", "kernel-perceptron", "budget-random",
                                             "budget-forgetron", "budget-projectron", "budget-projectron-shared"]
    for a in learners:
        assert a["title"] and a["source"]
    for _, p in parameters(learners):
        assert p["name"] and p["meaning"] and p["type"] in ("bool", "int", "float", "text", "choice")
        assert isinstance(p["default"], str)
        if p["type"] == "choice":
            assert p["choices"] and all(c["name"] and c["meaning"] for c in p["choices"])
            assert p["default"].split("(")[0] in [c["name"] for c in p["choices"]]
        if p["type"] in ("int", "float"):
            assert p["range"] and float(p["default"]) == float(p["default"])
    assert {p["name"] for _, p in parameters(learners)} >= {"query", "graph", "p", "b", "file", "share"}


def test_what_describe_says_of_a_learner_can_be_run(quorate, folder):
    for a in quorate.ok("describe", "--json").json():
        found = quorate.ok(*SIMULATE, "--learner", a["name"], "--json").json()["learner"]
        assert found == a["default"] == quorate.ok(*SIMULATE, "--learner", a["default"], "--json").json()["learner"]
        for p in a["parameters"]:
            for choice in p.get("choices", []):
                arguments = ", ".join(f"{q['name']}={q['default']}" for q in choice["parameters"])
                learner = f"{a['name']}({p['name']}={choice['name']}" + (f"({arguments}))" if arguments else ")")
                result = quorate(*SIMULATE, "--learner", learner, "--json")
                if any(q["name"] == "file" for q in choice["parameters"]):  # has no file by itself
                    assert result.code == 2 and "file=" in result.err
                else:
                    assert result.json()["learner"].count(f"{p['name']}={choice['name']}") == 1


def test_describe_prints_texts_that_can_be_copied(quorate, folder):
    text = quorate.ok("describe").out
    for name in ("perceptron:", "cmtl:", "amtl:", "query=always:", "random(p=0.5):", "margin(b=1):", "similarity:"):
        assert name in text
    assert "\\" not in text, "an empty text is written \"\""
    only = quorate.ok("describe", "cmtl").out
    assert only.startswith("cmtl:") and only in text and "amtl:" not in only.replace("cmtl:", "")
    assert [a["name"] for a in quorate.ok("describe", "amtl", "--json").json()] == ["amtl"]


def test_the_page_of_the_learners_is_fresh(quorate, checkout):
    text = quorate.ok("describe", "--markdown").out
    for a, p in parameters(quorate.ok("describe", "--json").json()):
        assert f"\n## {a['name']}\n" in text and p["meaning"] in text
    page = checkout / "docs/learners.md"
    if not page.exists():
        pytest.skip("docs/learners.md does not exist yet: quorate describe --markdown > docs/learners.md")
    assert page.read_text() == text


# ---- standard output, standard error, terminals

@pytest.mark.parametrize("command", [SIMULATE, [*SIMULATE, "--json"], ["train", "--data", "a.csv", "--model", "m"],
                                     ["predict", "--data", "a.csv", "--model", "m"], ["inspect", "m"],
                                     ["convert", "a.csv", "-", "--to", "vw"], ["describe"], ["--help"]])
def test_results_are_on_standard_output_and_nothing_else_anywhere(quorate, folder, command):
    result = quorate.ok(*command)
    assert result.out.endswith("\n") and result.err == ""


def test_a_message_about_a_written_file_is_no_result(quorate, folder):
    result = quorate.ok("convert", "a.csv", "a.svm")
    assert result.out == "" and "60 examples written to a.svm" in result.err
    assert quorate.ok("convert", "a.csv", "b.svm", "--quiet").err == ""
    result = quorate.ok("predict", "--data", "a.csv", "--model", "m", "--out", "p")
    assert (result.out, result.err) == ("", "") and len((folder / "p").read_text().splitlines()) == 60


@pytest.mark.parametrize("command", [["predict", "--data", "long.csv", "--model", "m"],
                                     ["convert", "long.csv", "-", "--to", "jsonl"],
                                     ["simulate", "--data", "long.csv", "--trace", "-"]])
def test_a_reader_that_stops_reading_ends_the_program(quorate, folder, command):
    (folder / "long.csv").write_text(samples.csv(ROWS) + samples.csv(ROWS).split("\n", 1)[1] * 500)  # more than a pipe holds
    process = quorate.start(*command)
    assert json.loads(process.stdout.readline())
    process.stdout.close()
    process.wait(10)
    err = process.stderr.read().decode()
    assert process.returncode in (-signal.SIGPIPE, 3)
    assert err == "" or (err.startswith("quorate: ") and err.count("\n") == 1)


@pytest.mark.parametrize("command", [SIMULATE, ["predict", "--data", "a.csv", "--model", "m"],
                                     ["inspect", "m"], ["describe", "--json"], ["convert", "a.csv", "-", "--to", "vw"]])
def test_output_that_cannot_be_written_is_file_trouble(quorate, folder, command):
    with open("/dev/full", "wb") as full:
        process = quorate.start(*command, stdout=full)
        process.wait(10)
    err = process.stderr.read().decode()
    assert process.returncode == 3 and err.startswith("quorate: ") and err.count("\n") == 1


# Work without end: what is shown of it is looked at, then it is stopped.
ENDLESS = ["simulate", "--data", "a.csv", "--passes", 10**8]


def on_terminal(quorate, *command, until, seconds=6.0) -> tuple[str, int]:
    """What the program writes to a terminal until it has written `until` or the time is over, then Ctrl-C."""
    ours, theirs = pty.openpty()
    process = quorate.start(*command, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown, end = "", time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end and not re.search(until, shown):
        if select.select([ours], [], [], 0.05)[0]:
            shown += os.read(ours, 4096).decode()
    process.send_signal(signal.SIGINT)
    process.wait(10)
    try:
        while select.select([ours], [], [], 0.2)[0]:
            shown += os.read(ours, 4096).decode()
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return shown, process.returncode


def test_progress_on_a_terminal_has_count_rate_and_time_left(quorate, folder):
    shown, code = on_terminal(quorate, *ENDLESS, until=r"left.*left")
    assert code == 130
    assert re.search(r"\r\S*[\d,]+ examples, [\d,]+ a second, [\d.]+ % done, [\d.]+ (s|min|h) left", shown), repr(shown)
    assert len(re.findall("\r", shown)) > 1  # one line, rewritten
    assert shown.rstrip().splitlines()[-1].startswith("quorate: interrupted")


def test_quiet_shows_no_progress(quorate, folder):
    shown, code = on_terminal(quorate, *ENDLESS, "--quiet", until="never", seconds=1.2)
    assert code == 130 and shown.startswith("quorate: interrupted") and shown.count("\n") == 1


def test_no_progress_where_standard_error_is_no_terminal(quorate, folder):
    process = quorate.start(*ENDLESS)
    time.sleep(1.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130 and out == b""
    assert err.startswith(b"quorate: interrupted") and err.count(b"\n") == 1 and b"\r" not in err


LINES = {"simulate": ENDLESS, "compare": ["compare", *ENDLESS[1:], "--learner", "perceptron", "--learner", "cmtl"],
         "train": ["train", "--data", "long.csv", "--model", "new"], "predict": ["predict", "--data", "long.csv", "--model", "m"],
         "convert": ["convert", "long.csv", "long.vw"],
         "tune": ["tune", "--data", "long.csv", "--learner", "cohort", "--grid", "noise=0.1..10:1000"]}


@pytest.mark.parametrize("command", LINES.values(), ids=LINES)
def test_progress_for_programs_is_json_lines_wherever_standard_error_goes(quorate, folder, command):
    (folder / "long.csv").write_text(samples.csv(ROWS) + samples.csv(ROWS).split("\n", 1)[1] * 10_000)
    process = quorate.start(*command, "--progress", "lines", stdout=subprocess.DEVNULL)
    seen = [json.loads(line) for line in (process.stderr.readline(), process.stderr.readline()) if line]
    process.send_signal(signal.SIGINT)
    more = process.stderr.read().decode().splitlines()  # nothing, if all was done by then
    assert process.wait(10) in (0, 130) and all(line.startswith(("{", "quorate: ")) for line in more)
    seen += [json.loads(line) for line in more if line.startswith("{")]
    assert seen
    assert all(set(line) == {"fraction", "examples"} and 0 <= line["fraction"] <= 1 for line in seen)
    for key in ("fraction", "examples"):
        values = [line[key] for line in seen]
        assert values == sorted(values) and values[-1] > 0


def test_progress_for_programs_ends_with_all_of_it(quorate, folder):
    lines = [json.loads(line) for line in quorate.ok(*SIMULATE, "--runs", 3, "--progress", "lines").err.splitlines()]
    assert lines[-1] == {"fraction": 1.0, "examples": 3 * 60}


def test_progress_of_standard_input_has_no_fraction(quorate, folder):
    err = quorate.ok("predict", "--data", "-", "--format", "csv", "--model", "m", "--progress", "lines",
                     stdin=samples.csv(ROWS).encode()).err
    assert json.loads(err.splitlines()[-1]) == {"fraction": None, "examples": 60}


@pytest.mark.parametrize("bad", [["--progress", "loud"], ["--progress", "lines", "--quiet"]])
def test_progress_that_there_is_not_is_bad_usage(quorate, folder, bad):
    result = quorate(*SIMULATE, *bad)
    assert result.code == 2 and "--progress" in result.err
