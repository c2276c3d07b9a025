"""quorate label: questions in a terminal, answered by keys."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from program import GUARD, wait_for_rest

MAILS = [(f"m{i}", "ann", "win money now" if i % 2 else "lunch at noon") for i in range(12)]


class Terminal:
    def __init__(self, quorate, *args, columns=0):
        self.main, other = pty.openpty()
        if columns:
            fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen([quorate.path, "label", *args], stdin=other, stdout=other, stderr=other, cwd=quorate.folder)
        os.close(other)
        self.shown = ""

    def until(self, text, press=None):
        """What is shown up to and with `text`. The key `press` is pressed until then."""
        end = time.monotonic() + GUARD
        while text not in self.shown:
            if press:
                self.press(press)
            ready, _, _ = select.select([self.main], [], [], 0.5)
            assert ready or time.monotonic() < end, f"no {text!r} in {self.shown!r}"
            if not ready:
                continue
            try:
                self.shown += os.read(self.main, 65536).decode(errors="replace")
            except OSError:
                pytest.fail(f"it ended without {text!r}: {self.shown!r}")
        at = self.shown.index(text) + len(text)
        found, self.shown = self.shown[:at], self.shown[at:]
        return found

    def press(self, keys):
        os.write(self.main, keys.encode())

    def end(self, press=None):
        self.until("the same command continues", press)
        assert self.process.wait(GUARD) == 0
        os.close(self.main)


@pytest.fixture
def pool(quorate):
    with open(quorate.folder / "pool.csv", "w") as file:
        file.write("id,task,text\n" + "".join(",".join(mail) + "\n" for mail in MAILS))
    return ["--dir", "desk", "--data", "pool.csv", "--positive", "spam", "--negative", "ham", "--labels", "6",
            "--annotator", "eve", "--learner", "cohort(query=always)"]


def exported(quorate, folder="desk"):
    return [json.loads(line) for line in quorate.ok("journal", "export", "--dir", folder).out.splitlines()]


def test_answers_skips_and_undo(quorate, pool):
    terminal = Terminal(quorate, *pool)
    question = terminal.until("[q] quit")
    *_, counts, choices = question.splitlines()
    assert counts.startswith("0 of 6 labels  ") and "[q] quit" in choices, "below the text, however long that is"
    terminal.press("2" if "win money" in question else "1")
    terminal.until("saved: ")
    terminal.until("[q] quit")
    terminal.press("s")
    terminal.until("[q] quit")
    terminal.press("u")
    assert "taken back: " in terminal.until("[q] quit")
    terminal.press("1")
    terminal.until("saved: ham")
    terminal.until("[q] quit")
    terminal.press("\x1b[2~\x1bOP")  # keys that begin as an escape and end in a digit are no answers
    terminal.end(press="q")  # again and again: what follows an escape at once belongs to it, and is no key
    found = exported(quorate)
    assert len(found) == 1 and found[0]["label"] == "ham"

    again = Terminal(quorate, "--dir", "desk", "--annotator", "eve")
    assert "1 of 6 labels" in again.until("[q] quit")
    for _ in range(4):
        again.press("1")
        again.until("saved: ham")
    again.until("the questions that wait are for somebody else")  # the one that was skipped
    again.end()
    other = Terminal(quorate, "--dir", "desk", "--annotator", "bob")
    other.until("[q] quit")
    other.press("1")
    other.until("the label budget is spent")
    other.end()
    assert len(exported(quorate)) == 6


def test_lines_are_wrapped_at_words_and_the_model_is_written(quorate):
    words = [f"longword{chr(97 + n)}" for n in range(20)]
    rows = [{"id": f"m{i}", "text": ("win money " if i % 2 else "lunch noon ") + " ".join(words)} for i in range(40)]
    (quorate.folder / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    terminal = Terminal(quorate, "--dir", "desk", "--data", "pool.jsonl", "--positive", "spam", "--negative", "ham", "--audit", "0.5",
                        "--audit-floor", "0.3", "--learner", "cohort(query=always)", "--model", "m", columns=60)  # fmt: skip
    shown = terminal.until("[q] quit")
    for _ in range(20):
        assert all(len(line) <= 60 for line in shown.splitlines() if "longword" in line)
        assert all(word in shown.split() for word in words)
        terminal.press("2" if "win money" in shown else "1")
        shown = terminal.until("[q] quit")
    assert " by " in shown and "accuracy " in shown.split("longword")[-1]  # below each text
    terminal.end(press="q")
    assert len(quorate.ok("predict", "--model", "m", "--data", "pool.jsonl").out.splitlines()) >= 40
    refused = quorate("label", "--dir", "desk", "--data", "pool.jsonl", "--model", "pool.jsonl")
    assert refused.code == 2 and "the same file as --data" in refused.err


def test_a_model_that_a_training_writes_is_not_written_by_label(quorate, pool):
    training = quorate.start("train", "--data", "-", "--format", "svmlight", "--model", "m")
    wait_for_rest(training)
    refused = quorate("label", *pool, "--model", "m")
    assert refused.code == 3 and "m: another process is training this model" in refused.err
    refused = quorate("label", *pool, "--model", "none/m")
    assert refused.code == 3 and "none/m: cannot be written" in refused.err  # before any answer


def test_control_characters_of_the_data_do_not_reach_the_terminal(quorate, pool):
    (quorate.folder / "pool.csv").write_text("id,task,text\nm1,ann,\x1b]0;title\x07 red \x1b[31m\n")
    terminal = Terminal(quorate, *pool)
    assert "\x1b" not in terminal.until("[q] quit")
    terminal.press("q")
    terminal.end()


def test_an_interruption_keeps_what_was_saved(quorate, pool):
    terminal = Terminal(quorate, *pool)
    terminal.until("[q] quit")
    terminal.press("1")
    terminal.until("saved: ham")
    terminal.process.send_signal(signal.SIGKILL)
    terminal.process.wait(GUARD)
    assert len(exported(quorate)) == 1


def test_a_folder_needs_labels_to_choose_from(quorate):
    (quorate.folder / "pool.csv").write_text("text\nhello\n")
    run = quorate("label", "--dir", "new", "--data", "pool.csv")
    assert run.code == 2 and "--positive and --negative, or --classes" in run.err


def test_every_text_of_a_list_is_shown(quorate):
    (quorate.folder / "pool.jsonl").write_text("".join(json.dumps({"id": str(i), "text": [f"mail {i}", "more"]}) + "\n" for i in range(9)))
    terminal = Terminal(quorate, "--dir", "desk", "--data", "pool.jsonl", "--positive", "spam", "--negative", "ham")
    question = terminal.until("[q] quit")
    assert "mail " in question and "more" in question
    terminal.press("q")
    terminal.end()


def test_columns_of_any_name(quorate):
    (quorate.folder / "f.csv").write_text(
        "mail_id,user,subject,body,channel,links,hour,verdict\n"
        + "".join(f"m{i},{'ann' if i % 3 else 'bob'},{'win money now' if i % 2 else 'lunch at noon'} {i},and {i} more words here,"
                  f"{'web' if i % 2 else 'phone'},{i % 4}.5,2026-03-01T{i:02}:00Z,yes\n" for i in range(24)))
    args = ["--dir", "lab", "--data", "f.csv", "--task-column", "user", "--id-column", "mail_id", "--text-column", "subject",
            "--time-column", "hour", "--label-column", "verdict", "--positive", "yes", "--negative", "no", "--learner", "cohort(query=always)"]
    terminal = Terminal(quorate, *args)
    question = terminal.until("[q] quit")
    assert "bob  m0" in question or "ann  m" in question, question
    fields = dict(line.split(": ", 1) for line in question.splitlines() if ": " in line and not line.startswith("quorate: "))
    assert set(fields) == {"hour", "subject", "body", "channel", "links"}
    for _ in range(3):
        terminal.press("1")
        terminal.until("saved: no")
    terminal.press("q")
    terminal.end()
    found = exported(quorate, "lab")
    assert {line["task"] for line in found} <= {"ann", "bob"} and all(line["example"].startswith("m") for line in found)
    model = next(path for path in (quorate.folder / "lab").iterdir() if path.suffix == ".model")
    shown = quorate.ok("inspect", model, "--json").json()
    assert {task["task"] for task in shown["tasks"]} == {"ann", "bob"}
    assert shown["classes"] == ["no", "yes"]

    again = Terminal(quorate, *args)  # the same options
    again.until("24 examples of f.csv")
    again.until("[q] quit")
    again.press("q")
    again.end()
    other = Terminal(quorate, "--dir", "lab", "--data", "f.csv")  # the folder has them
    other.until("24 examples of f.csv")
    other.until("[q] quit")
    other.press("q")
    other.end()
    assert "user" not in fields and quorate.ok("journal", "verify", "--dir", "lab")
