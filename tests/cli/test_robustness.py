"""What goes wrong around a run: two at once, signals, closed pipes, little memory, wrong files, hostile data."""
import contextlib
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import threading
from itertools import repeat
from pathlib import Path

import pytest
import samples

from program import GUARD, wait_for_rest, wait_until

ROWS = samples.rows(400, seed=11)


@pytest.fixture
def folder(quorate):
    (quorate.folder / "a.svm").write_text(samples.svmlight(ROWS))
    (quorate.folder / "a.csv").write_text(samples.csv(ROWS))
    return quorate.folder


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def inspect(quorate, model="m"):
    return quorate.ok("inspect", model, "--json").json()


def fails(quorate, code, *command, **kwargs):
    """The one line of a command that fails."""
    result = quorate(*command, **kwargs)
    assert result.code == code, result
    assert result.err.startswith("quorate: ") and result.err.count("\n") == 1 and len(result.err) < 1000, result.err
    return result.err


def train_slowly(quorate, *options, model="m", rows=20):
    """A training that has learned some examples and waits for more."""
    process = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", model, *options)
    process.stdin.write(samples.svmlight(ROWS[:rows]).encode())
    process.stdin.flush()
    wait_for_rest(process)
    return process


# ---- two at once

def test_a_second_training_of_a_model_is_refused(quorate, folder):
    first = train_slowly(quorate)
    err = fails(quorate, 3, "train", "--data", "a.svm", "--model", "m")
    assert "m: another process is training this model" in err and "wait" in err and "--model" in err
    os.symlink("m", folder / "link")
    assert "another process" in fails(quorate, 3, "train", "--data", "a.svm", "--model", "link")
    quorate.ok("train", "--data", "a.svm", "--model", "other")
    first.communicate(timeout=GUARD)
    assert first.returncode == 0
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    assert inspect(quorate)["examples"] == 420
    assert names(folder) == ["a.csv", "a.svm", "link", "m", "other"]


def test_the_lock_of_a_killed_training_does_not_last(quorate, folder):
    first = train_slowly(quorate)
    first.kill()
    first.wait()
    assert "m.quorate-lock" in names(folder)
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    assert names(folder) == ["a.csv", "a.svm", "m"]


def test_trainings_in_turn_lose_nothing(quorate, folder):
    """Each tries until it may: what one of them learned is in the model."""
    loop = "until $0 train --data a.svm --model m >/dev/null 2>&1; do [ $? = 3 ] || exit 1; done"
    running = [subprocess.Popen(["sh", "-c", loop, quorate.path], cwd=folder) for _ in range(6)]
    assert [process.wait(GUARD) for process in running] == [0] * 6
    assert inspect(quorate)["examples"] == 6 * len(ROWS)
    assert names(folder) == ["a.csv", "a.svm", "m"]


def test_temporaries_of_the_dead_are_removed_and_those_of_the_living_are_not(quorate, folder):
    living = train_slowly(quorate)
    predict = quorate.start("predict", "--data", "-", "--format", "svmlight", "--model", "none", "--out", "p")
    predict.wait(GUARD)
    quorate.ok("train", "--data", "a.svm", "--model", "n")
    predict = quorate.start("predict", "--data", "-", "--format", "svmlight", "--model", "n", "--out", "p")
    wait_for_rest(predict)
    (folder / "n.abcdef.quorate-part").write_text("left behind")
    (folder / "n.backup").write_text("not ours")
    quorate.ok("train", "--data", "a.svm", "--model", "n")
    left = names(folder)
    assert "n.abcdef.quorate-part" not in left and "n.backup" in left
    assert sum(name.startswith("p.") for name in left) == 1  # of the one that still writes
    predict.communicate(samples.svmlight(ROWS[:3]).encode(), timeout=GUARD)
    assert predict.returncode == 0 and len((folder / "p").read_text().splitlines()) == 3
    living.communicate(timeout=GUARD)
    assert names(folder) == ["a.csv", "a.svm", "m", "n", "n.backup", "p"]


def test_a_killed_run_leaves_a_temporary_that_the_next_removes(quorate, folder):
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    process = quorate.start("predict", "--data", "-", "--format", "svmlight", "--model", "m", "--out", "p")
    wait_for_rest(process)
    process.kill()
    process.wait()
    assert any(name.endswith(".quorate-part") for name in names(folder))
    quorate.ok("predict", "--data", "a.svm", "--model", "m", "--out", "q")
    assert names(folder) == ["a.csv", "a.svm", "m", "q"]


# ---- signals

@pytest.mark.parametrize("which", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_signals_save_what_was_learned(quorate, folder, which):
    process = train_slowly(quorate)
    process.send_signal(which)
    assert process.wait(GUARD) == 130
    assert b"m is saved; continue with --skip 20" in process.stderr.read()
    assert inspect(quorate)["examples"] == 20


def test_hanging_up_twice_saves_too(quorate, folder):
    """A terminal that closes sends SIGHUP, and its shell another."""
    process = train_slowly(quorate)
    for which in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
        process.send_signal(which)
    assert process.wait(GUARD) == 130
    assert inspect(quorate)["examples"] == 20


def test_nohup_is_respected(quorate, folder):
    process = subprocess.Popen(["nohup", quorate.path, "train", "--data", "-", "--format", "svmlight", "--model", "m"],
                               cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_rest(process)
    process.send_signal(signal.SIGHUP)
    process.communicate(samples.svmlight(ROWS).encode(), timeout=GUARD)
    assert process.returncode == 0 and inspect(quorate)["examples"] == len(ROWS)


def test_a_reader_of_progress_that_dies_ends_the_training_with_a_model(quorate, folder):
    process = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", "m", "--progress", "lines")
    process.stdin.write(samples.svmlight(ROWS[:20]).encode())
    process.stdin.flush()
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(GUARD) == 130
    assert inspect(quorate)["examples"] == 20


@pytest.mark.parametrize("command", [["predict", "--model", "m", "--out", "out", "--data"],
                                     ["convert", "--to", "jsonl", "out"]])
def test_a_reader_of_progress_that_dies_leaves_no_file_half_written(quorate, folder, command):
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    before = names(folder)
    command = [*command, "-"] if command[0] == "predict" else ["convert", "-", *command[1:]]
    process = quorate.start(*command, "--format", "svmlight", "--progress", "lines")
    process.stdin.write(samples.svmlight(ROWS[:20]).encode())
    process.stdin.flush()
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(GUARD) == 130
    assert names(folder) == before


@pytest.mark.parametrize("command", [["predict", "--model", "m", "--data", "-"], ["convert", "-", "-", "--to", "jsonl"]])
def test_a_reader_of_results_that_dies_ends_the_program_without_a_word(quorate, folder, command):
    """As other filters do, of which `| head -1` has read enough: by the signal, which shells call 141."""
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    before = names(folder)
    process = quorate.start(*command, "--format", "svmlight")
    lines = samples.svmlight(ROWS).encode()

    def feed():
        try:
            while True:
                process.stdin.write(lines)
        except OSError:
            pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert json.loads(process.stdout.readline())
    process.stdout.close()
    assert process.wait(GUARD) == -signal.SIGPIPE
    feeder.join(GUARD)
    assert process.stderr.read() == b"" and names(folder) == before


def test_a_line_longer_than_the_memory_limit_is_a_bad_line(quorate, folder):
    short = samples.svmlight(ROWS[:20])
    long = "1 " + " ".join(f"{i}:1" for i in range(1, 150_000)) + "\n"
    assert len(long) > 2**20
    (folder / "long.svm").write_text(short + long + short)
    command = ["train", "--data", "long.svm", "--learner", "cohort"]
    result = quorate(*command, "--model", "n", "--memory", "600KB")
    assert result.code == 1 and "long.svm:21: a line of more than 1048576 bytes" in result.err and "--memory" in result.err
    result = quorate.ok(*command, "--model", "n", "--memory", "600KB", "--on-error", "skip", "--json")
    assert json.loads(result.out)["examples"] == 40
    quorate.ok(*command, "--model", "o", "--memory", "4MB")


def test_names_of_classes_count_as_memory(quorate, folder):
    """600 names of 300 letters are 360,000 bytes, as the model has them twice; deciding for 600 classes takes 330,000 more."""
    rows = [f"{n},a class with a very long name {n:03} {'x' * 270}" for n in range(600)]
    (folder / "classes.csv").write_text("number,label\n" + "".join(row + "\n" for row in rows))
    command = ["train", "--data", "classes.csv", "--classes", "one-vs-rest", "--learner", "perceptron"]
    result = quorate(*command, "--model", "n", "--memory", "600KB")
    assert result.code == 4 and "the memory limit of 600000 bytes" in result.err
    small = (folder / "classes.csv").read_text().replace("x" * 270, "")
    (folder / "classes.csv").write_text(small)
    result = quorate.ok(*command, "--model", "n", "--memory", "600KB", "--json")
    assert json.loads(result.out)["report"]["model_bytes"] > 600 * (2 * 32 + 500)
    assert inspect(quorate, "n")["model_bytes"] > 600 * (2 * 32 + 500)


def was_read(process):
    """Bytes so far."""
    return int(re.match(r"rchar: (\d+)", Path(f"/proc/{process.pid}/io").read_text())[1])


@pytest.mark.parametrize("command", [["simulate"], ["compare", "--learner", "perceptron"],
                                     ["tune", "--learner", "cmtl(query=margin)", "--grid", "query.b=1,2"],
                                     ["train", "--model", "m", "--classes", "one-vs-rest"]])
@pytest.mark.parametrize("kind", ["pipe", "packed"])
def test_ctrl_c_ends_the_reading_of_a_long_file(quorate, folder, command, kind):
    """A pipe that never ends, and a file of 5 GB (26 MB as it is packed), which takes minutes and is not read to its end."""
    name = "long.svm.gz" if kind == "packed" else "long.svm"
    block = samples.svmlight(ROWS[:4]).encode() * 2000
    if kind == "packed":
        packed = gzip.compress(block)
        (folder / name).write_bytes(packed * (5_000_000_000 // len(block)))
    else:
        os.mkfifo(folder / name)
    process = quorate.start(command[0], "--data", name, *command[1:])
    taken = threading.Event()

    def feed():
        try:
            with open(folder / name, "wb", buffering=0) as pipe:
                for n, part in enumerate(repeat(block)):
                    pipe.write(part)
                    if n == 3:
                        taken.set()
        except BrokenPipeError:
            pass

    if kind == "pipe":
        feeder = threading.Thread(target=feed, daemon=True)
        feeder.start()
        assert taken.wait(GUARD)
    else:
        wait_until(lambda: was_read(process) > 2_000_000, "reading")
    process.send_signal(signal.SIGINT)
    read = 0
    while kind == "packed" and process.poll() is None:
        with contextlib.suppress(OSError):  # only root may ask a process that ended and is not waited for yet
            read = was_read(process)
    assert process.wait() == 130
    assert kind == "pipe" or read < (folder / name).stat().st_size
    assert b"interrupted" in process.stderr.read() and "m" not in names(folder)


def test_ctrl_c_before_the_first_example_leaves_no_model(quorate, folder):
    """What columns are was judged by the lines that had come: a model would keep that for ever."""
    lines = samples.csv(ROWS).splitlines(keepends=True)
    command = ["train", "--data", "-", "--format", "csv", "--model", "m"]
    for again in (False, True):
        process = quorate.start(*command)
        process.stdin.write("".join(lines[:1 if again else 5]).encode())  # it waits for more
        process.stdin.flush()
        wait_for_rest(process)
        before = (folder / "m").read_bytes() if again else b""
        process.send_signal(signal.SIGINT)
        assert process.wait(GUARD) == 130
        err = process.stderr.read().decode()
        assert err == f"quorate: interrupted before the first example of standard input; m is {'as it was' if again else 'not written'}\n"
        if again:
            assert (folder / "m").read_bytes() == before
        else:
            assert names(folder) == ["a.csv", "a.svm"]
            quorate.ok("train", "--data", "a.csv", "--model", "m")


def test_a_save_on_the_way_that_fails_does_not_end_the_training(quorate, folder):
    (folder / "sub").mkdir()
    process = train_slowly(quorate, "--save-every", "30", model="sub/m")
    (folder / "sub").rename(folder / "away")
    process.stdin.write(samples.svmlight(ROWS[20:50]).encode())
    process.stdin.flush()
    wait_for_rest(process)
    (folder / "away").rename(folder / "sub")
    _, err = process.communicate(samples.svmlight(ROWS[50:]).encode(), timeout=GUARD)
    assert process.returncode == 0
    assert re.fullmatch(rb"quorate: .*cannot be written.*; not saved after 30 examples, training continues\n", err)
    assert inspect(quorate, "sub/m")["examples"] == len(ROWS) and names(folder / "sub") == ["m"]


def test_an_open_round_is_not_ended_by_ctrl_c(quorate, folder):
    """Learners that select within a round go on exactly where they were interrupted, for every place in a round."""
    lines = samples.svmlight(ROWS).splitlines(keepends=True)
    options = ["--learner", "shampo", "--rounds", "per-task"]
    quorate.ok("train", "--data", "a.svm", "--model", "whole", *options)
    skipped = set()
    for stop in range(40, 47):
        process = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", "m", *options)
        process.stdin.write("".join(lines[:stop]).encode())
        process.stdin.flush()
        wait_for_rest(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(GUARD) == 130
        skip = int(re.search(rb"--skip (\d+)", process.stderr.read())[1])
        assert stop - 4 <= skip <= stop
        skipped.add(stop - skip)
        quorate.ok("train", "--data", "a.svm", "--model", "m", "--skip", skip, "--rounds", "per-task")
        assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()
        (folder / "m").unlink()
    assert skipped > {1}


# ---- memory

def test_a_learner_without_memory_saves_what_it_learned(quorate, folder):
    result = quorate("train", "--data", "a.svm", "--model", "m", "--learner", "kernel-perceptron(query=always)",
                     "--memory", "10KB")
    assert result.code == 4
    assert re.fullmatch(r"quorate: a\.svm:\d+: the memory limit .*; m is saved with what was learned before\n", result.err)
    found = inspect(quorate)
    assert 0 < found["updates"] and 10 < found["examples"] < len(ROWS) and found["model_bytes"] <= 10_000
    assert len(quorate.ok("predict", "--data", "a.svm", "--model", "m").lines()) == len(ROWS)


def test_a_learner_without_memory_after_labels_that_are_not_the_positive_one(quorate, folder):
    """That --positive has not come yet is no reason to lose the model, nor to say that the data are bad."""
    (folder / "b.svm").write_text("".join(f"no task:t{n} 1:1\n" for n in range(3000)) + "yes task:t 1:1\n")
    result = quorate("train", "--data", "b.svm", "--model", "m", "--learner", "perceptron", "--memory", "10KB", "--positive", "yes")
    assert result.code == 4 and "m is saved with what was learned before" in result.err, result
    assert 10 < inspect(quorate)["examples"] < 3000


def test_a_limit_too_small_for_anything_has_an_exit_code_of_its_own(quorate, folder):
    assert "the memory limit of 10 bytes" in fails(quorate, 4, "train", "--data", "a.svm", "--model", "m", "--memory", 10)
    assert "4 out of memory" in quorate.ok("--help").out


# ---- files

def test_a_model_that_could_not_be_saved_is_refused_before_anything_is_learned(quorate, folder):
    (folder / "pipe").touch()
    os.unlink(folder / "pipe")
    os.mkfifo(folder / "pipe")
    os.symlink("loop", folder / "loop")
    (folder / "plain").touch()
    for model, said in [("none/m", "No such file"), (".", "regular"), ("pipe", "regular"), ("loop", "link"),
                        ("plain/m", "Not a directory"), ("/dev/null", "regular")]:
        process = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", model)  # which waits for data
        assert process.wait(GUARD) == 3, model
        err = process.stderr.read().decode()
        assert err.startswith(f"quorate: {model}: ") and said in err and "expected" in err and err.count("\n") == 1, err


@pytest.mark.parametrize("target", ["real", "sub/real", "link2"])
def test_a_link_to_a_model_that_is_not_there_yet_is_followed(quorate, folder, target):
    (folder / "sub").mkdir()
    os.symlink("sub/real", folder / "link2")
    os.symlink(target, folder / "link")
    quorate.ok("train", "--data", "a.svm", "--model", "link")
    assert (folder / "link").is_symlink()
    assert (folder / ("real" if target == "real" else "sub/real")).is_file()
    os.symlink("/nonexistent/d/m", folder / "nowhere")
    assert "nowhere: " in fails(quorate, 3, "train", "--data", "a.svm", "--model", "nowhere")


def test_an_input_is_never_an_output(quorate, folder):
    quorate.ok("train", "--data", "a.svm", "--model", "m")
    os.link(folder / "m", folder / "hard")
    os.symlink("a.svm", folder / "soft.svm")
    os.link(folder / "a.svm", folder / "a.svg")
    os.symlink("m", folder / "m.svg")
    before = {name: (folder / name).read_bytes() for name in names(folder) if (folder / name).is_file()}
    predict, graph = ["predict", "--data", "a.svm", "--model", "m"], "cmtl(graph=edges(file=a.csv))"
    for command, named in ((predict + ["--out", "m"], "--out m: the same file as --model m"),
                           (predict + ["--out", "hard"], "--out hard: the same file as --model m"),
                           (predict + ["--out", "./a.svm"], "--out ./a.svm: the same file as --data a.svm"),
                           (["predict", "--data", "a.svm", "--model", "a.csv", "--out", "a.csv"], "--model a.csv"),  # no model: not read
                           (["simulate", "--data", "soft", "--trace", "a.svm"], "--trace a.svm: the same file as --data soft.svm"),
                           (["simulate", "--data", "a.csv", "--test", "a.svm", "--trace", "soft.svm"], "--test a.svm"),
                           (["simulate", "--data", "a.svm", "--learner", graph, "--trace", "a.csv"], "--learner a.csv"),
                           (["train", "--data", "a.svm", "--learner", graph, "--model", "a.csv"], "--learner a.csv"),
                           (["rebuild", "m", "--learner", graph, "--out", "a.csv"], "--learner a.csv"),
                           (["compare", "--data", "soft", "--learner", "cmtl", "--plot", "a.svg"], "--plot a.svg: the same file as --data"),
                           (["inspect", "m", "--plot", "m.svg"], "--plot m.svg: the same file as --model m"),
                           (["labels", "m", "--out", "hard"], "--out hard: the same file as model m"),
                           (["convert", "a.svm", "a.svm"], "out a.svm: the same file as in a.svm"),
                           (["convert", "a.csv", "a.csv"], "in a.csv"), (["convert", "soft.svm", "a.svm"], "in soft.svm"),
                           (["train", "--data", "a.svm", "--model", "a.svm"], "--model a.svm: the same file as --data a.svm")):
        assert f"{named}" in (said := fails(quorate, 2, *command)) and "the same file as" in said, (command, said)
    assert before == {name: (folder / name).read_bytes() for name in before}


def test_standard_input_and_output_are_files_too(quorate, folder):
    before = (folder / "a.svm").read_bytes()
    for arguments, out in ((["-", "b.svm"], None), (["-", "a.svm"], None), (["a.svm", "-"], "a.svm"), (["-", "-"], "a.svm"), (["-", "-"], "b.svm")):
        with open(folder / "a.svm", "rb") as data, open(folder / (out or "log"), "ab") as written:
            done = subprocess.run([quorate.path, "convert", *arguments, "--format", "svmlight", "--to", "svmlight"], cwd=folder, stdin=data,
                                  stdout=written, stderr=subprocess.PIPE, check=False, timeout=GUARD)
        same = "a.svm" in (arguments[1], out)
        assert done.returncode == (2 if same else 0) and (b"the same file as" in done.stderr) == same, (arguments, out, done.stderr)
        assert (folder / "a.svm").read_bytes() == before
    pipe = subprocess.run([quorate.path, "convert", "-", "-", "--format", "svmlight", "--to", "svmlight"], input=before, capture_output=True,
                          check=True)
    assert pipe.stdout


def test_arguments_are_utf_8(quorate, folder):
    for command in (["train", "--data", "a.svm", "--model", "m", "--positive", b"\xff"],
                    ["train", "--data", "a.svm", "--model", b"m\xff"]):
        done = subprocess.run([quorate.path, *command], cwd=folder, capture_output=True, check=False)
        assert done.returncode == 2 and b"byte 0xff; expected UTF-8" in done.stderr and done.stderr.count(b"\n") == 1
    assert names(folder) == ["a.csv", "a.svm"]


def test_devices_are_no_models(quorate, folder):
    for device in ("/dev/zero", "/dev/full"):
        assert device in fails(quorate, 3, "inspect", device)
        assert device in fails(quorate, 3, "predict", "--data", "a.svm", "--model", device)


def test_a_cache_is_not_taken_for_another_content_of_equal_size_and_time(quorate, folder):
    data = folder / "s.svm"
    train = lambda model, *options: quorate.ok("train", "--data", "s.svm", "--model", model, *options)  # noqa: E731
    data.write_text("1 1:1 2:1\n-1 3:1\n")
    train("x", "--cache", "c")
    then = data.stat()
    data.write_text("1 1:9 2:1\n-1 3:1\n")
    os.utime(data, ns=(then.st_atime_ns, then.st_mtime_ns))
    train("cached", "--cache", "c")
    train("y")
    assert (folder / "cached").read_bytes() == (folder / "y").read_bytes() != (folder / "x").read_bytes()


@pytest.mark.parametrize("command", [["train", "--model", "m"], ["simulate"]])
def test_a_cache_of_kept_names_is_a_warning(quorate, folder, command):
    result = quorate.ok(command[0], "--data", "a.csv", *command[1:], "--bits", 0, "--cache", "c")
    assert result.err == "quorate: --cache has no effect with --bits 0\n" and "c" not in names(folder)


@pytest.mark.parametrize("threads", [0, 1025, 100_000])
def test_threads_are_not_as_many_as_one_likes(quorate, folder, threads):
    assert "1024" in fails(quorate, 2, "simulate", "--data", "a.csv", "--threads", threads)


def test_errors_about_labels_name_the_file(quorate, folder):
    (folder / "none.csv").write_text("task,f1\nt,1\nt,2\n")
    (folder / "one.csv").write_text("label,f1\na,1\na,2\n")
    (folder / "two.csv").write_text("label,f1\n1,1\n0,2\n")
    assert "none.csv:1: no column of labels; expected --label-column" in fails(quorate, 1, "simulate", "--data", "none")
    two = fails(quorate, 2, "tune", "--data", "two", "--learner", "amlc", "--grid", "c=1,2")
    assert two == "quorate: two.csv: 2 examples and --folds 10; expected folds from 2 to the number of examples\n"
    for command in (["simulate"], ["train", "--model", "m"]):
        assert "one.csv: classes: " in fails(quorate, 1, command[0], "--data", "one", *command[1:], "--classes", "one-vs-one")


def test_full_matrices_of_hashed_names_point_to_bits(quorate, folder):
    (folder / "w.jsonl").write_text(samples.jsonl(ROWS))
    assert "--bits 0" in fails(quorate, 1, "train", "--data", "w.jsonl", "--model", "m", "--learner", "shampo-second-order")
    quorate.ok("train", "--data", "w.jsonl", "--model", "m", "--learner", "shampo-second-order", "--bits", 0)


# ---- hostile data

def limited(quorate, folder, megabytes, *command):
    """Within so much address space."""
    if b"__asan_init" in quorate.path.read_bytes():
        pytest.skip("AddressSanitizer reserves more address space than any limit")
    size = megabytes << 20
    return subprocess.run([quorate.path, *command], cwd=folder, capture_output=True, check=False, timeout=GUARD,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))


@pytest.mark.parametrize("options", [[], ["--on-error", "skip"]])
def test_deep_json_is_refused_in_little_memory(quorate, folder, options):
    with gzip.open(folder / "bomb.jsonl.gz", "wb") as file:
        file.write(b'{"label":1,"x":' + b"[" * 60_000_000 + b"\n")
    done = limited(quorate, folder, 900, "train", "--data", "bomb.jsonl.gz", "--model", "m", *options)
    assert done.returncode == 1 and b"nested more than 1024 deep" in done.stderr, done.stderr


def test_a_broken_line_of_many_json_values_takes_little_memory(quorate, folder):
    with gzip.open(folder / "bomb.jsonl.gz", "wb") as file:
        file.write(b'{"label":1,"x":[' + b"[]," * 15_000_000 + b"\n")
    done = limited(quorate, folder, 1600, "train", "--data", "bomb.jsonl.gz", "--model", "m")
    assert done.returncode == 1 and b"bomb.jsonl.gz:1:45000017: " in done.stderr, done.stderr


def test_json_that_is_valid_but_deep_is_not_called_anything_else(quorate, folder):
    deep = '{"label":1,"x":{"a":1},"log":' + "[" * 1100 + "]" * 1100 + "}\n"
    (folder / "d.jsonl").write_text(deep)
    assert "nested more than 1024 deep" in fails(quorate, 1, "train", "--data", "d.jsonl", "--model", "m")
    (folder / "d.jsonl").write_text(deep.replace("[" * 1100 + "]" * 1100, '"' + "[" * 2000 + '"'))
    quorate.ok("train", "--data", "d.jsonl", "--model", "m")


@pytest.mark.parametrize("form", ["numbers", "words", "keys"])
def test_many_columns_take_time_in_proportion(quorate, folder, form):
    """Four times as many take four times the CPU time; sixteen times, if each were compared with each."""
    def seconds(columns):
        with open(folder / "wide", "w") as file:
            if form != "keys":
                file.write("label," + ",".join(f"c{i}" for i in range(columns)) + "\n")
            for row, label in enumerate((1, -1)):
                value = "1" if form == "numbers" else "ab"[row]
                if form == "keys":
                    file.write(json.dumps({"label": label, **{f"c{i}": value for i in range(columns)}}) + "\n")
                else:
                    file.write(f"{label}," + ",".join(value * columns) + "\n")
        data = ["wide", "--format", "jsonl" if form == "keys" else "csv"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        quorate.ok("look", *data)
        quorate.ok("train", "--data", *data, "--model", "m")
        quorate.ok("train", "--data", *data, "--model", "m")
        (folder / "m").unlink()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    few, many = seconds(25_000), seconds(100_000)
    assert many < 9 * few


def test_columns_in_errors_are_cut(quorate, folder):
    (folder / "wide.csv").write_text(f"label,{'c' * 70_000}\n1,word\n1,1\n")
    fails(quorate, 1, "train", "--data", "wide.csv", "--model", "m")
    fails(quorate, 1, "train", "--data", "wide.csv", "--model", "m", "--task-column", "t")
    fails(quorate, 1, "train", "--data", "wide.csv", "--model", "m", "--task-column", "t" * 70_000)
    (folder / "wide.csv").write_text(f"label,{'c' * 70_000},{'c' * 70_000}\n1,1,1\n")
    fails(quorate, 1, "train", "--data", "wide.csv", "--model", "m")


@pytest.mark.parametrize("args", [["--learner", "x" * 70_000, "--data", "d.csv"], ["--data", "d" * 70_000],
                                  ["--data", "d.csv", "--" + "o" * 70_000], ["--data", "d.csv", "--learner", "cohort(" + "b=1, " * 20_000]])
def test_errors_that_repeat_arguments_are_cut(quorate, folder, args):
    (folder / "d.csv").write_text("label,x\n1,1\n0,2\n")
    done = quorate("train", "--model", "m", *args)
    assert done.code in {2, 3}
    assert done.err.startswith("quorate: ") and done.err.count("\n") == 1 and len(done.err) < 8000


def stray(where, rows=1000):
    """CSV text with a quote at the beginning of the text of some rows."""
    return "id,task,label,text,x\n" + "".join(
        f"{i},t,{i % 2},{chr(34) if i in where else ''}hello,{i}\n" for i in range(rows))


@pytest.mark.parametrize("where", [{10}, {10, 500}, {10, 11, 12}, {999}, {0}])
def test_a_stray_quote_spoils_its_line_only(quorate, folder, where):
    (folder / "q.csv").write_text(stray(where))
    found = quorate.ok("train", "--data", "q.csv", "--on-error", "skip", "--model", "m", "--json").json()
    assert (found["examples"], found["skipped_lines"]) == (1000 - len(where), len(where))
    lines = [n for n in range(1000) if n not in where]
    out = quorate.ok("predict", "--data", "q.csv", "--on-error", "skip", "--model", "m").lines()
    assert [int(line["id"]) for line in out if "error" not in line] == lines
    assert len(out) == 1000 and all(line["id"] is None for line in out if "error" in line)
    fails(quorate, 1, "train", "--data", "q.csv", "--model", "m")


def test_a_stray_quote_that_a_later_one_closes_spoils_its_line_only(quorate, folder):
    lines = stray({10}).splitlines(keepends=True)
    lines[501] = lines[501].replace(",t,", ',t",')
    (folder / "q.csv").write_text("".join(lines))
    found = quorate.ok("train", "--data", "q.csv", "--on-error", "skip", "--model", "m", "--json").json()
    assert (found["examples"], found["skipped_lines"]) == (999, 1)


def test_quoted_fields_of_many_lines_are_read_behind_a_stray_quote(quorate, folder):
    (folder / "q.csv").write_text('id,label,text\n1,1,"a\nb"\n2,1,"c\n3,-1,"d\r\ne"\n4,-1,"f ""g"""\n')
    out = quorate.ok("convert", "q.csv", "-", "--to", "jsonl", "--on-error", "skip").lines()
    assert [(one["id"], one["text"]) for one in out] == [("1", "a\nb"), ("3", "d\r\ne"), ("4", 'f "g"')]
