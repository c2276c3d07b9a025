"""How the program is called: options, exit codes, help, `describe`, pipes, terminals."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest
import samples

from program import GUARD, cpu_seconds, wait_for_work

COMMANDS = ["look", "simulate", "compare", "tune", "train", "predict", "evaluate", "inspect", "convert", "describe"]
ROWS = samples.rows(60)


@pytest.fixture
def folder(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", "cmtl")
    return quorate.folder


SIMULATE, TRAIN = ["simulate", "--data", "a.csv"], ["train", "--data", "a.csv", "--model", "n", "--learner", "cmtl"]
BAD_USAGE = {  # the command, and what its message names
    "unknown command": (["nonsense"], ["nonsense", "quorate --help"]),
    "a mistyped command": (["trian"], ["trian", "did you mean train?"]),
    "a mistyped command of a command": (["generate", "drif"], ["drif", "did you mean drift?"]),
    "a command of commands alone": (["generate"], ["drift, users"]),
    "help on a mistyped command": (["help", "trian"], ["'trian'", "did you mean train?"]),
    "a mistyped option": (["train", "--dta", "x"], ["--dta", "did you mean --data?", "quorate train --help"]),
    "a mistyped option with its value": (["train", "--dta=x"], ["--dta ", "did you mean --data?"]),
    "a mistyped option among good ones": ([*SIMULATE, "--lerner", "cmtl"], ["--lerner", "did you mean --learner?"]),
    "an option in capitals": ([*SIMULATE, "--Labels", 5], ["--Labels", "did you mean --labels?"]),
    "a file without its option": (["train", "a.csv", "--model", "n"], ["a.csv", "did you mean --data a.csv?"]),
    "a mistyped learner": ([*SIMULATE, "--learner", "cohrt"], ["'cohrt'", "did you mean cohort?"]),
    "describe a mistyped learner": (["describe", "cohrt"], ["'cohrt'", "did you mean cohort?"]),
    "a mistyped parameter": ([*SIMULATE, "--learner", "cmtl(qery=always)"], ["'qery'", "did you mean query?"]),
    "a mistyped choice": ([*SIMULATE, "--learner", "cmtl(query=alwys)"], ["query=alwys", "did you mean always?"]),
    "a mistyped word of an option": ([*SIMULATE, "--rounds", "per-tsk"], ["--rounds", "'per-tsk'", "did you mean per-task?"]),
    "a mistyped word of a written option": ([*SIMULATE, "--on-error", "skp"], ["--on-error", "'skp'", "did you mean skip?"]),
    "a mistyped format": ([*SIMULATE, "--format", "cvs"], ["'cvs'", "did you mean csv?"]),
    "a semicolon in a grid": (["tune", "--data", "a.csv", "--learner", "cohort", "--grid", "query.b=0.1,0.5;noise=0.05"],
                              ["--grid", "commas instead of ;"]),
    "a share of a stream": ([*TRAIN, "--labels", "10%"], ["--labels", "'10%'", "10/100", "500"]),
    "a share and a number": ([*SIMULATE, "--labels", "10%", "--labels", 5], ["'10%'", "expected one"]),
    "a share above all": ([*SIMULATE, "--labels", "110%"], ["'110%'", "100%"]),
    "no data": (["simulate"], ["--data"]),
    "no model": (["predict", "--data", "a.csv"], ["--model"]),
    "unknown option": ([*SIMULATE, "--nonsense"], ["--nonsense"]),
    "unknown short option": ([*SIMULATE, "-x"], ["-x"]),
    "an option of another command": (["predict", "--data", "a.csv", "--model", "m", "--learner", "cmtl"], ["--learner"]),
    "an argument too many": (["convert", "a.csv", "b.svm", "surplus"], ["surplus"]),
    "an option without its value": ([*SIMULATE, "--labels"], ["--labels"]),
    "an option twice": ([*SIMULATE, "--seed", 1, "--seed", 2], ["--seed is given twice; expected it once"]),
    "an option of text three times": ([*SIMULATE, "--learner", "cmtl", "--learner", "amtl", "--learner", "peer"],
                                      ["--learner is given 3 times; expected it once"]),
    "a model as an argument and an option": (["inspect", "m", "--model", "m"], ["--model is given twice"]),
    "no model to inspect": (["inspect"], ["expected MODEL"]),
    "a folder without its option": (["journal", "show", "lab"], ["lab", "did you mean --dir lab?"]),
    "a folder to label without its option": (["label", "lab"], ["did you mean --dir lab?"]),
    "data to label without their option": (["label", "f.csv"], ["did you mean --data f.csv?"]),
    "an option cut short": ([*SIMULATE, "--pass", 2], ["--pass"]),
    "unknown learner": ([*SIMULATE, "--learner", "percepton"], ["'percepton'", "perceptron", "cmtl"]),
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
    for code in ("0 success", "1 bad data", "2 bad usage", "3 file error", "4 out of memory", "130 interrupted"):
        assert code in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_explains_its_options(quorate, command):
    result = quorate.ok(command, "--help")
    assert result.err == ""
    assert all(len(line) <= 80 for line in result.out.splitlines()) and "REQUIRED" not in result.out
    # -x, --name KIND  meaning, maybe in the next lines
    entries = re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: \S+)?(?:  |$)(.*(?:\n {6,}.*)*)", result.out, re.M)
    options = [name for name, _ in entries]
    assert len(options) > 1 and len(set(options)) == len(options) == len(re.findall(r"^  -", result.out, re.M))
    assert all(len(meaning.strip()) > 5 for _, meaning in entries)
    assert quorate.ok("help", command).out == quorate.ok(command, "-h").out == result.out
    if command not in ("inspect", "describe"):
        example = re.search(rf"Example:\n  (quorate {command} .*(?:\\\n.*)*)", result.out)
        assert example
        for option in re.findall(r" (--[\w-]+)", example[1]):
            assert option in options


def test_help_and_version_in_every_spelling(quorate):
    helped = quorate.ok("--help")
    assert helped.out == quorate.ok("-h").out == quorate.ok("help").out == quorate.ok().out
    version = quorate.ok("--version").out
    assert version == quorate.ok("-v").out == quorate.ok("version").out
    assert quorate.ok("help", "generate", "drift").out == quorate.ok("generate", "drift", "-h").out


def test_help_has_the_common_options_first_and_the_others_in_groups(quorate):
    text = quorate.ok("help", "train").out
    assert "\n  quorate train --data FILE --model FILE [options]\n" in text
    groups = re.findall(r"^(\w.*):\n  -", text, re.M)
    assert groups == ["Common options", "Reading the data", "Features", "Labels and memory", "Output"]
    common = text.split("Reading the data:")[0]
    assert all(option in common for option in ("--data", "--model", "--learner", "--label-column", "--labels", "--help"))
    assert "--on-error stop|skip" in text and "--rounds each|per-task|all-tasks" in text


def test_an_argument_that_is_an_option_too_is_shown_once(quorate):
    text = quorate.ok("help", "inspect").out
    assert "quorate inspect MODEL [options]" in text and text.count("--model") == 1


# ---- completion, the manual page

def completed(quorate, words):
    """What bash offers after these words."""
    script = ('source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quorate; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, quorate.path, *words], cwd=quorate.folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_learners_and_words(quorate, folder):
    done = subprocess.run(["bash", "-c", 'source <("$0" completion bash); complete -p quorate', quorate.path], capture_output=True,
                          text=True, check=True)
    assert done.stdout == "complete -F _quorate quorate\n" and done.stderr == ""
    for words, offered in {
        "quorate tr": ["train"],
        "quorate generate ": ["drift", "users"],
        "quorate generate drift --sh": ["--shift"],
        "quorate generate drift --shift ": ["together", "apart", "none"],
        "quorate train --learner co": ["cohort"],
        "quorate train --learner = co": ["cohort"],
        "quorate train --pace ": ["even"],
        "quorate train --on-error ": ["stop", "skip"],
        "quorate train --data a": ["a.csv"],
        "quorate train --labels ": [],
        "quorate describe kern": ["kernel-perceptron"],
        "quorate help insp": ["inspect"],
        "quorate completion ": ["bash", "zsh"],
        "quorate look a": ["a.csv"],
    }.items():
        assert completed(quorate, words.split(" ")) == offered, words
    declared = re.findall(r"^  (?:-\w, )?(--[\w-]+)", quorate.ok("help", "train").out, re.M)
    assert set(completed(quorate, ["quorate", "train", "--"])) == set(declared)


def test_zsh_completes_as_well(quorate, folder):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    script = ('autoload -U compinit; compinit -u -D; source <("$1" completion zsh); print ${_comps[quorate]}; '
              '_describe() { print -rl -- "${(@P)${@[-1]}}" }; _files() { print files $@ }; '
              'words=("${@[2,-1]}"); CURRENT=$#words; _quorate')
    for words, offered in {"quorate tr": "train:learn a model from a stream, or continue one", "quorate train --on-error s": "skip",
                           "quorate train --data ": "files", "quorate generate drift --sh": "--shift:targets move together, apart, or not "}.items():
        done = subprocess.run(["zsh", "-fc", script, "zsh", quorate.path, *words.split(" ")], cwd=folder, capture_output=True,
                              text=True, check=True)
        first, *others = done.stdout.splitlines()
        assert first == "_quorate" and offered in others and done.stderr == "", words


def test_the_manual_page_has_every_command_and_option(quorate):
    page = quorate.ok("man").out
    assert page.startswith(".\\\"") and '.TH QUORATE 1 "" "quorate ' in page
    for command in COMMANDS:
        section = page.split(f".SH quorate\\ {command}\n")[1].split(".SH ")[0].replace("\\-", "-")
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", quorate.ok("help", command).out, re.M)
        assert all(re.search(rf"^\.B .*{option}\b", section, re.M) for option in options)
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == "" and "quorate train --data FILE" in re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout)


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
    names = [a["name"] for a in learners]
    assert names[:2] == ["cohort", "perceptron"] and len(set(names)) == len(names) >= 13
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

@pytest.mark.parametrize("command", [SIMULATE, [*SIMULATE, "--json"], ["train", "--data", "a.csv", "--model", "new"],
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
    process.wait(GUARD)
    err = process.stderr.read().decode()
    assert process.returncode in (-signal.SIGPIPE, 3)
    assert err == "" or (err.startswith("quorate: ") and err.count("\n") == 1)


@pytest.mark.parametrize("command", [SIMULATE, ["predict", "--data", "a.csv", "--model", "m"],
                                     ["inspect", "m"], ["describe", "--json"], ["convert", "a.csv", "-", "--to", "vw"]])
def test_output_that_cannot_be_written_is_file_trouble(quorate, folder, command):
    with open("/dev/full", "wb") as full:
        process = quorate.start(*command, stdout=full)
        process.wait(GUARD)
    err = process.stderr.read().decode()
    assert process.returncode == 3 and err.startswith("quorate: ") and err.count("\n") == 1


# Work without end: what is shown of it is looked at, then it is stopped.
ENDLESS = ["simulate", "--data", "a.csv", "--passes", 10**8]


# More work than from the start to the third time that progress is shown. A process has one thread that works.
UNSHOWN = 1.0  # seconds of CPU time


def on_terminal(quorate, *command, until=None) -> tuple[str, int]:
    """What the program writes to a terminal until it has written `until`, or has worked for UNSHOWN, then Ctrl-C."""
    ours, theirs = pty.openpty()
    process = quorate.start(*command, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    shown, end = "", time.monotonic() + GUARD
    while process.poll() is None and not (re.search(until, shown) if until else cpu_seconds(process) > UNSHOWN):
        assert time.monotonic() < end, shown
        if select.select([ours], [], [], 0.05)[0]:
            shown += os.read(ours, 4096).decode()
    process.send_signal(signal.SIGINT)
    process.wait(GUARD)
    try:
        while part := os.read(ours, 4096):
            shown += part.decode()
    except OSError:  # the other end is closed, and all is read
        pass
    os.close(ours)
    return shown, process.returncode


def test_progress_on_a_terminal_has_count_rate_and_time_left(quorate, folder):
    shown, code = on_terminal(quorate, *ENDLESS, until=r"left.*left")
    assert code == 130
    assert re.search(r"\r\S*[\d,]+ examples, [\d,]+ a second, [\d.]+ % done, [\d.]+ (s|min|h) left", shown), repr(shown)
    assert len(re.findall("\r", shown)) > 1  # one line, rewritten
    assert shown.rstrip().splitlines()[-1].startswith("quorate: interrupted")


def test_quiet_leaves_results_and_errors_only(quorate, folder):
    result = quorate.ok("train", "--data", "a.csv", "--model", "q", "--quiet")
    assert (result.out, result.err) == ("", "") and (folder / "q").exists()
    assert quorate.ok("train", "--data", "a.csv", "--model", "q2", "--quiet", "--json").json()["examples"] == 60  # asked for
    assert "accuracy" in quorate.ok(*SIMULATE, "--quiet").out
    assert quorate.ok("predict", "--data", "a.csv", "--model", "q", "--quiet").out.count("\n") == 60
    (folder / "bad.csv").write_text(samples.csv(ROWS) + "x\n")
    assert "1 bad line skipped" in quorate.ok("train", "--data", "bad.csv", "--model", "q3", "--quiet", "--on-error", "skip").err
    assert quorate("train", "--data", "bad.csv", "--model", "q4", "--quiet").err.startswith("quorate: bad.csv:62:")


TABLE = "task,label,f1,f2,\"a,b\",color\n" + "ann,1,1,2,3,red\nbob,-1,2,1,0,blue\n" * 6


@pytest.mark.parametrize("ignored", [["--ignore-column", "f1,f2"], ["--ignore-column", "f1", "--ignore-column", "f2"],
                                     ["--ignore-column=f1,f2"]], ids=["list", "repeated", "with ="])
def test_lists_of_columns_have_commas_or_are_repeated(quorate, folder, ignored):
    (folder / "t.csv").write_text(TABLE)
    (folder / "t.jsonl").write_text('{"task": "ann", "label": 1, "f1": 1, "f2": 2, "c": 3}\n' * 3)
    (folder / "t.vw").write_text("1 'x|f1 a:1 |f2 b:1 |c d:1\n" * 3)
    quorate.ok("convert", *ignored, "t.csv", "out.jsonl")  # the argument after the option is none of its names
    assert json.loads((folder / "out.jsonl").read_text().splitlines()[0])["x"] == {"a,b": 3, "color": "red"}
    for kind in ("jsonl", "vw"):
        written = quorate.ok("convert", f"t.{kind}", "-", "--to", "jsonl", *ignored).lines()[0]["x"]
        assert len(written) == 1
    quorate.ok("convert", "t.csv", "out.jsonl", *ignored, "--ignore-column", '"a,b",color')  # a comma in a name: quoted as in CSV
    assert json.loads((folder / "out.jsonl").read_text().splitlines()[0]).get("x", {}) == {}
    assert '"color":"red"' in quorate.ok("convert", "t.csv", "-", "--to", "jsonl", "--categorical-column", "color,f1").out


def test_all_that_is_wrong_with_a_header_is_one_message(quorate, folder):
    (folder / "t.csv").write_text("user,spam,subject\nann,1,free money\n")
    result = quorate("train", "--data", "t.csv", "--model", "n", "--task-column", "usr", "--text-column", "subjct",
                     "--ignore-column", "kind")
    assert result.code == 1 and result.err.startswith("quorate: t.csv:1: ") and result.err.count("\n") == 1
    for part in ("'usr' (did you mean user?)", "'subjct' (did you mean subject?)", "'kind'", "no column of labels", "user, spam, subject"):
        assert part in result.err


def test_labels_are_a_share_where_the_examples_are_known(quorate, folder):
    share = quorate.ok(*SIMULATE, "--learner", "cmtl", "--labels", "10%", "--json").json()
    number = quorate.ok(*SIMULATE, "--learner", "cmtl", "--labels", 6, "--json").json()
    assert share["limits"] == number["limits"] and share["limits"]["total"] == 6 == share["mean"]["labels"]
    compared = quorate.ok("compare", "--data", "a.csv", "--learner", "cmtl", "--labels", "10%", "--json").json()
    assert compared["limits"]["total"] == 6 and compared["learners"][0]["mean"]["labels"] == 6
    tuned = quorate.ok("tune", "--data", "a.csv", "--learner", "cmtl", "--grid", "query=always,margin", "--folds", 2, "--labels", "10%", "--json")
    assert tuned.json()["settings"][0]["labels"] == 3


def test_quiet_shows_no_progress(quorate, folder):
    shown, code = on_terminal(quorate, *ENDLESS, "--quiet")
    assert code == 130 and shown.startswith("quorate: interrupted") and shown.count("\n") == 1


def test_no_progress_where_standard_error_is_no_terminal(quorate, folder):
    process = quorate.start(*ENDLESS)
    wait_for_work(process, UNSHOWN)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GUARD)
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
    seen = [json.loads(process.stderr.readline())]
    while seen[-1]["examples"] == 0:
        seen.append(json.loads(process.stderr.readline()))
    process.send_signal(signal.SIGINT)
    more = process.stderr.read().decode().splitlines()  # nothing, if all was done by then
    assert process.wait(GUARD) in (0, 130) and all(line.startswith(("{", "quorate: ")) for line in more)
    seen += [json.loads(line) for line in more if line.startswith("{")]
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


def test_a_word_far_from_every_command_has_no_suggestion(quorate):
    assert "did you mean" not in quorate("merge").err


def test_the_model_is_an_argument_or_an_option_of_the_commands_about_one(quorate, folder):
    for command in (["inspect"], ["labels"], ["rebuild", "--out", "n"]):
        shown = quorate.ok(*command, "m").out
        assert quorate.ok(*command, "--model", "m").out == shown


def test_an_instruction_set_is_chosen_in_the_environment(quorate, program):
    def run(simd):
        return subprocess.run([program, "version"], env={"QUORATE_SIMD": simd}, capture_output=True, text=True, check=False)
    assert run("plain").returncode == run("avx512").returncode == 0
    refused = run("sse9")
    assert refused.returncode == 2 and refused.stderr == "quorate: QUORATE_SIMD=sse9 in the environment: expected plain, avx2 or avx512\n"
