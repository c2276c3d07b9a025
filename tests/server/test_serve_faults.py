"""`quorate serve` on disks that fail: flushes that fail, a full disk, journals that were cut or changed."""
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from serving import Server

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C compiler for the library that makes disks fail")
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).with_name("faults.c"), "-ldl"], check=True)
    return library


def served_with(quorate, faults, log, monkeypatch, **settings):
    """A server whose disk fails as the settings say."""
    if b"__asan_init" in Path(quorate.path).read_bytes():
        pytest.skip("the address sanitizer wants to be loaded first")
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", faults.name)  # where a blank ends a name
        patch.setenv("LD_LIBRARY_PATH", str(faults.parent))
        patch.setenv("FAULTS_LOG", str(log))
        for name, value in settings.items():
            patch.setenv(name, str(value))
        return Server(quorate)


@pytest.mark.parametrize("settings, failed", [({"FAIL_FDATASYNC_AT": 12}, "fdatasync"), ({"FAIL_FDATASYNC_AT": 30}, "fdatasync"),
                                              ({"FAIL_PWRITE_AFTER": 9_500}, "pwrite"), ({"FAIL_PWRITE_AFTER": 9_911}, "pwrite")])
def test_a_failing_disk_stops_answers_at_once_and_loses_none_that_was_acknowledged(quorate, faults, tmp_path, monkeypatch, settings, failed):
    log = tmp_path / "faults.log"
    server = served_with(quorate, faults, log, monkeypatch, **settings)
    server.post(0, 120)
    acknowledged, status = {}, 200
    for n in range(200):
        status, found = server.request("POST", "/v1/next", {"annotator": "ann"})
        if status != 200:
            break
        label = "spam" if n % 2 else "ham"
        assert found["question"], f"the disk did not fail in {n} answers"
        ticket = found["question"]["ticket"]
        status, found = server.request("POST", "/v1/answer", {"lease": found["question"]["lease"], "label": label})
        if status != 200:
            break
        acknowledged[ticket] = label
    assert status == 503 and "taking_answers" not in found and found["status"] == 503
    assert log.read_text().splitlines() == [failed], "it is never tried again"
    for method, path, body in (("POST", "/v1/answer", {"lease": "1-0123456789abcdef", "label": "spam"}), ("POST", "/v1/next", {"annotator": "bob"}),
                               ("POST", "/v1/examples", [{"id": "new", "text": "free money"}])):
        assert server.request(method, path, body)[0] == 503, path
    assert server.ok("POST", "/v1/predict", [{"task": "t1", "text": "free money"}])["predictions"][0]["label"] in {"spam", "ham"}
    status = server.status()
    assert not status["taking_answers"] and status["problem"]
    assert server.request("GET", "/readyz", raw=True)[0] == 503 and server.request("GET", "/healthz", raw=True)[0] == 200
    server.stop()
    assert log.read_text().splitlines() == [failed]

    again = Server(quorate, new=False)  # the disk is good again
    assert again.status()["taking_answers"]
    again.answer(again.next("eve")["question"])
    again.stop()
    kept = {row["ticket"]: row["label"] for row in quorate.ok("journal", "export", "--dir", "desk").lines()}
    assert acknowledged.items() <= kept.items()


@pytest.fixture
def folder_with_answers(quorate):
    server = Server(quorate)
    server.post(0, 120)
    for _ in range(8):
        server.answer(server.next()["question"])
    server.stop()
    segment, = (quorate.folder / "desk/journal").glob("*.qj")
    for snapshot in (quorate.folder / "desk").glob("snapshot-*"):
        snapshot.unlink()  # the journal alone
    return segment


def test_a_torn_tail_is_cut_and_reported_and_what_was_before_it_stands(quorate, folder_with_answers):
    segment = folder_with_answers
    whole = segment.read_bytes()
    rng = random.Random(3)
    before = quorate.ok("journal", "export", "--dir", "desk").lines()
    for cut in [1, 2, 3, *(rng.randrange(4, 400) for _ in range(9))]:
        segment.write_bytes(whole[:-cut])
        server = Server(quorate, new=False)
        assert server.status()["taking_answers"]
        server.process.terminate()
        err = server.process.stderr.read().decode()
        assert re.search(r"\d+ bytes at offset \d+ were never finished", err), (cut, err)
        for path in (quorate.folder / "desk").rglob("*"):
            if path.is_file() and path != segment and path.name != "lock":
                path.unlink()
        kept = quorate.ok("journal", "export", "--dir", "desk").lines()
        assert all(row in before for row in kept) and len(kept) >= len(before) - 2, cut


def test_a_byte_that_changed_is_found_and_named(quorate, folder_with_answers):
    segment = folder_with_answers
    whole = segment.read_bytes()
    rng = random.Random(4)
    for at in sorted(rng.randrange(len(whole) - 600) for _ in range(15)):
        changed = bytearray(whole)
        changed[at] ^= 1 << rng.randrange(8)
        segment.write_bytes(changed)
        refused = quorate("serve", "--dir", "desk", "--port", "0")
        assert refused.code in {1, 3} and segment.name in refused.err and re.search(r"offset \d+|header", refused.err), (at, refused)
        assert quorate("journal", "verify", "--dir", "desk").code != 0
        assert segment.read_bytes() == changed, "nothing is repaired silently"
    segment.write_bytes(whole)
    assert os.path.getsize(segment) == len(whole)
    quorate.ok("journal", "verify", "--dir", "desk")
