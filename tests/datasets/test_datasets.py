"""The data set tool: what it writes from the real originals, what it refuses, and how it downloads."""
import csv
import dataclasses
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections import Counter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
TOOLS = CHECKOUT / "tools"
sys.path.insert(0, str(TOOLS))

from datasets import fetch, output, sets, sources  # noqa: E402
from datasets.__main__ import default_mirror, main  # noqa: E402


def need(folder: str) -> Path:
    """The mirror, if it has `folder`; otherwise the test is skipped, or fails on a build server."""
    mirror = Path(default_mirror() or "no-mirror")
    if not (mirror / folder).is_dir():
        reason = f"originals missing: {folder} in the mirror (QUORATE_DATA or ../shared/data beside the checkout)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return mirror


def tool(*arguments: str, bare: bool = False) -> subprocess.CompletedProcess:
    """Runs the command; `bare` without any installed package."""
    command = [sys.executable, *(["-S"] if bare else []), "-m", "datasets", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(TOOLS)})


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def svm_rows(path: Path) -> list[tuple[str, str, list[tuple[int, float]], str]]:
    rows = []
    for line in path.read_text(encoding="ascii").splitlines():
        m = re.fullmatch(r"(\S+)(?: task:(\S+))?((?: \d+:\S+)*) # (\S+)", line)
        assert m, line[:80]
        pairs = [(int(i), float(v)) for i, v in (p.split(":") for p in m[3].split())]
        assert all(a[0] < b[0] for a, b in zip(pairs, pairs[1:])) and all(v for _, v in pairs)
        rows.append((m[1], m[2], pairs, m[4]))
    assert len({row[3] for row in rows}) == len(rows)
    return rows


def csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="") as f:
        header, *rows = csv.reader(f)
    assert all(len(row) == len(header) for row in rows) and len({row[0] for row in rows}) == len(rows)
    return header, rows


# What is written


def test_landmine(tmp_path):
    pytest.importorskip("scipy")
    mirror = need("landmine")
    assert main(["landmine", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    header, rows = csv_rows(tmp_path / "landmine" / "all.csv")
    assert header == ["id", "task", "label", *(f"f{i}" for i in range(1, 10))]
    assert len(rows) == 14820 and Counter(r[2] for r in rows) == {"1": 904, "-1": 13916}
    tasks = Counter(r[1] for r in rows)
    assert sorted(tasks) == [f"field{i:02}" for i in range(1, 30)] and tasks["field16"] == 445
    assert abs(float(rows[0][3]) - 1.3683079) < 1e-7


def test_spam_b_without_any_package(tmp_path):
    mirror = need("ecml2006_spam")
    run = tool("spam-b", "--mirror", str(mirror), "--out", str(tmp_path), bare=True)
    assert run.returncode == 0, run.stderr
    rows = svm_rows(tmp_path / "spam-b" / "all.svm")
    assert len(rows) == 6000
    assert Counter((r[1], r[0]) for r in rows) == {(f"user{u:02}", s): 200 for u in range(15) for s in ("+1", "-1")}
    assert max(r[2][-1][0] for r in rows if r[2]) == 152543
    assert rows[1][2][:4] == [(1, 1), (3, 3), (4, 2), (8, 1)] and rows[1][3] == "user00/2"


def test_news(tmp_path):
    mirror = need("20newsgroups")
    assert main(["news", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    for part, rows in ("train", 11314), ("test", 7532):
        lines = (tmp_path / "news" / f"{part}.vw").read_text(encoding="ascii").splitlines()
        parsed = [re.fullmatch(r"(-?1) '([a-z.-]+)/(\d+) \|task (\S+)/(\S+) \|w((?: [a-z]{2,})*)", n) for n in lines]
        assert len(parsed) == rows and all(parsed)
        assert all(m[2] == m[4 if m[1] == "1" else 5] for m in parsed)
        assert all(words == sorted(set(words)) for words in (m[6].split() for m in parsed))
        assert [(m[2], int(m[3])) for m in parsed] == sorted({(m[2], int(m[3])) for m in parsed})
        assert len({(m[4], m[5]) for m in parsed}) == 10


def test_sentiment_text(tmp_path):
    mirror = need("amazon_sorted_acl_xml")
    assert main(["sentiment-text", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    lines = (tmp_path / "sentiment-text" / "all.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines[:-1]]
    assert lines[-1] == "" and len({row["id"] for row in rows}) == 8000
    assert Counter((row["task"], row["label"]) for row in rows) == {
        (task, label): 1000 for task in ("books", "dvd", "electronics", "kitchen") for label in (1, -1)}
    assert all(row["text"] and row["text"] == " ".join(row["text"].split()) for row in rows)
    assert rows[0]["text"].startswith("Sphere by Michael Crichton is an excellant novel. This was")


def test_vowel(tmp_path):
    mirror = need("vowel_deterding")
    assert main(["vowel", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    header, train = csv_rows(tmp_path / "vowel" / "train.csv")
    _, test = csv_rows(tmp_path / "vowel" / "test.csv")
    assert header == ["id", "task", "label", *(f"f{i}" for i in range(1, 11))]
    assert (len(train), len(test)) == (528, 462)
    assert Counter(r[1] for r in train + test) == {f"speaker{s:02}": 66 for s in range(15)}
    assert Counter(r[2] for r in train + test) == {str(c): 90 for c in range(11)}
    assert not {r[1] for r in train} & {r[1] for r in test}


def test_wisdm(tmp_path):
    mirror = need("wisdm")
    assert main(["wisdm", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    header, *rows = csv.reader((tmp_path / "wisdm" / "all.csv").read_text().splitlines())
    assert header[:2] == ["id", "user"] and header[-1] == "class" and len(header) == 46
    assert len(rows) == 5418 and {r[1] for r in rows} == {str(u) for u in range(1, 37)}
    assert Counter(r[-1] for r in rows)["Walking"] == 2081 and sum("?" in r for r in rows) == 474


def test_school(tmp_path):
    pytest.importorskip("scipy")
    mirror = need("school")
    assert main(["school", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    header, rows = csv_rows(tmp_path / "school" / "all.csv")
    assert header == ["id", "task", "label", *(f"f{i:02}" for i in range(1, 28))]
    assert len(rows) == 15362 and {r[1] for r in rows} == {f"school{i:03}" for i in range(1, 140)}
    assert Counter(r[2] for r in rows) == {"1": 3608, "-1": 11754}
    columns = list(zip(*([float(v) for v in r[3:]] for r in rows)))
    assert all((min(c), max(c)) == (0, 1) for c in columns)


def test_school_from_the_official_matrix(tmp_path, monkeypatch):
    """school_b.mat has the rows of school.mat as columns of one matrix: the files come out the same."""
    np = pytest.importorskip("numpy")
    pytest.importorskip("scipy")
    mirror = need("school")
    assert main(["school", "--mirror", str(mirror), "--out", str(tmp_path / "cells")]) == 0
    mat = sets.matlab((mirror / "school" / "school.mat").read_bytes())
    x, y = np.vstack(list(mat["X"][0])).T, np.vstack(list(mat["Y"][0]))
    starts = np.cumsum([1, *(len(s) for s in mat["X"][0])])[:-1].reshape(-1, 1)
    monkeypatch.setattr(sets, "matlab", lambda data: {"x": x, "y": y, "task_indexes": starts})
    assert main(["school", "--mirror", str(mirror), "--out", str(tmp_path / "matrix")]) == 0
    assert files_of(tmp_path / "cells" / "school") == files_of(tmp_path / "matrix" / "school")


@pytest.mark.check
def test_usps(tmp_path):
    mirror = need("usps")
    assert main(["usps", "--mirror", str(mirror), "--out", str(tmp_path)]) == 0
    train, test = (svm_rows(tmp_path / "usps" / f"{part}.svm") for part in ("train", "test"))
    assert (len(train), len(test)) == (7291, 2007)
    assert Counter(r[0] for r in test)["0"] == 359 and {r[1] for r in train} == {None}
    values = [p for r in train for p in r[2]]
    assert min(v for _, v in values) == -1 and max(v for _, v in values) == 1
    assert {i for i, _ in values} == set(range(1, 257))


def test_usps_as_the_book_writes_it():
    """zip.test has labels without decimals and a blank at the end of each line."""
    (source,) = (s for s in sources.USPS if "test" in s.path)
    plain = fetch.uncompressed((need("usps") / source.path).read_bytes())
    book = re.sub(rb"(?m)^(\d)\.0000 (.*)$", rb"\1 \2 ", plain)
    assert book != plain and source.clean(book) == plain


def test_digits(tmp_path):
    pytest.importorskip("sklearn")
    assert main(["digits", "--mirror", "", "--out", str(tmp_path)]) == 0
    rows = svm_rows(tmp_path / "digits" / "all.svm")
    assert len(rows) == 2 * 1797
    counts = Counter((r[1], r[0]) for r in rows)
    assert all(counts[f"is-{c}", "+1"] == counts[f"is-{c}", "-1"] for c in range(10)) and counts["is-3", "+1"] == 183
    assert {v for r in rows for _, v in r[2]} == set(range(1, 17)) and max(r[2][-1][0] for r in rows) == 64


def test_a_second_run_writes_the_same_bytes(tmp_path):
    mirror = need("ecml2006_spam")
    for out in "a", "b":
        assert main(["spam-b", "vowel", "--mirror", str(mirror), "--out", str(tmp_path / out)]) == 0
    for name in "spam-b", "vowel":
        assert files_of(tmp_path / "a" / name) == files_of(tmp_path / "b" / name)


@pytest.mark.parametrize("value, text", [(2.0, "2"), (-1.0, "-1"), (-0.0, "0"), (0.1, "0.1"), (1 / 3, repr(1 / 3))])
def test_numbers_are_as_short_as_reads_back(value, text):
    assert sets.number(value) == text


# What is refused, and what remains


def copy_vowel(tmp_path: Path, change=lambda data: data, name: str = "vowel-context.data") -> str:
    data = (need("vowel_deterding") / sources.VOWEL.path).read_bytes()
    folder = tmp_path / "mirror" / "vowel_deterding"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(change(data))
    return str(tmp_path / "mirror")


def last_line(capsys) -> str:
    return capsys.readouterr().err.splitlines()[-1]


def test_a_changed_byte_is_refused(tmp_path, capsys):
    mirror = copy_vowel(tmp_path, lambda data: data[:100] + b"9" + data[101:])
    assert main(["vowel", "--mirror", mirror, "--out", str(tmp_path / "out")]) == 1
    assert "wrong checksum" in last_line(capsys)
    assert not list((tmp_path / "out").iterdir())


def test_a_cut_compressed_file_is_refused(tmp_path, capsys):
    mirror = copy_vowel(tmp_path, lambda data: gzip.compress(data)[:-2000], "vowel-context.data.gz")
    assert main(["vowel", "--mirror", mirror, "--out", str(tmp_path / "out")]) == 1
    assert "damaged" in last_line(capsys)
    assert not list((tmp_path / "out").iterdir())


def test_another_container_or_line_ends_will_do(tmp_path):
    mirror = copy_vowel(tmp_path, lambda data: gzip.compress(data.replace(b"\n", b"\r\n")), "vowel-context.data.gz")
    assert main(["vowel", "--mirror", mirror, "--out", str(tmp_path / "out")]) == 0


def test_other_counts_are_refused(tmp_path, capsys, monkeypatch):
    def write(job):
        with job.create("all.csv") as f:
            f.write("id,task,label\n")
        job.expect("rows", 0, 990)

    monkeypatch.setitem(sets.SETS, "vowel", sets.Set(write, ""))
    assert main(["vowel", "--mirror", "", "--out", str(tmp_path)]) == 1
    assert last_line(capsys) == "datasets: vowel: rows: found 0, expected 990"
    assert not list(tmp_path.iterdir())


def test_a_missing_original_names_file_and_place(tmp_path, capsys):
    assert main(["spam-b", "--mirror", str(tmp_path), "--out", str(tmp_path / "out")]) == 3
    assert re.search(r"task_b_u00_eval_lab\.tf.*not in the mirror.*challenge\.html.*DIR/ecml2006_spam/task_b/",
                     last_line(capsys))


def test_what_has_no_address_says_so(tmp_path, capsys):
    assert main(["spam-a", "--mirror", "", "--out", str(tmp_path)]) == 3
    assert re.search(r"no address.*challenge\.html.*--mirror DIR", last_line(capsys))
    assert not list(tmp_path.iterdir())


def test_without_scipy_one_line_says_what_to_install(tmp_path):
    mirror = need("landmine")
    run = tool("landmine", "--mirror", str(mirror), "--out", str(tmp_path), bare=True)
    assert run.returncode == 3 and "needs scipy" in run.stderr.splitlines()[-1] and "Traceback" not in run.stderr


@pytest.mark.parametrize("arguments", [[], ["no-such-set"], ["vowel", "--no-such-option"], ["list", "vowel"]])
def test_usage_errors_are_one_line_and_code_2(arguments):
    run = tool(*arguments)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1


def test_list_names_every_set():
    run = tool("list")
    assert run.returncode == 0 and [line.split()[0] for line in run.stdout.splitlines()] == list(sets.SETS)


def test_one_failing_set_does_not_stop_the_others(tmp_path):
    mirror = copy_vowel(tmp_path)
    assert main(["spam-b", "vowel", "--mirror", mirror, "--out", str(tmp_path / "out")]) == 3
    assert output.complete(tmp_path / "out" / "vowel") and not (tmp_path / "out" / "spam-b").exists()


def test_a_whole_set_is_left_alone_until_something_is_amiss(tmp_path):
    mirror = copy_vowel(tmp_path)
    folder = tmp_path / "out" / "vowel"
    arguments = ["vowel", "--mirror", mirror, "--out", str(tmp_path / "out")]

    def made_anew(*more: str) -> bool:
        (folder / "witness").touch()
        assert main([*arguments, *more]) == 0 and output.complete(folder)
        return not (folder / "witness").exists()

    assert main(arguments) == 0
    whole = files_of(folder)
    assert not made_anew()
    assert made_anew("--force")
    (folder / "test.csv").write_bytes(whole["test.csv"][:-1])
    assert made_anew()
    (folder / "train.csv").unlink()
    assert made_anew()
    (folder / "stamp.json").write_bytes(whole["stamp.json"][:20])
    assert made_anew()
    (folder / "stamp.json").write_text(json.dumps(json.loads(whole["stamp.json"]) | {"version": 0}))
    assert made_anew()
    assert files_of(folder) == whole


def test_a_failing_run_keeps_the_older_set(tmp_path):
    mirror = copy_vowel(tmp_path)
    arguments = ["vowel", "--mirror", mirror, "--out", str(tmp_path / "out"), "--force"]
    assert main(arguments) == 0
    whole = files_of(tmp_path / "out" / "vowel")
    (Path(mirror) / sources.VOWEL.path).write_bytes(b"0 0 0\n")
    assert main(arguments) == 1
    assert files_of(tmp_path / "out" / "vowel") == whole and output.complete(tmp_path / "out" / "vowel")


@pytest.mark.parametrize("end", ["KeyboardInterrupt", "kill"])
def test_an_interrupted_run_leaves_nothing_that_looks_complete(tmp_path, end):
    mirror = copy_vowel(tmp_path)
    out = tmp_path / "out"
    stop = "raise KeyboardInterrupt" if end == "KeyboardInterrupt" else "os.kill(os.getpid(), signal.SIGKILL)"
    script = f"""
import os, signal, sys
from datasets import output
def stamp(job):
    {stop}
output.Job.stamp = stamp
from datasets.__main__ import main
main(sys.argv[1:])
"""
    run = subprocess.run([sys.executable, "-c", script, "vowel", "--mirror", mirror, "--out", str(out)],
                         capture_output=True, env={**os.environ, "PYTHONPATH": str(TOOLS)})
    assert run.returncode != 0
    assert not (out / "vowel").exists() and not list(out.rglob("stamp.json"))
    assert main(["vowel", "--mirror", mirror, "--out", str(out)]) == 0
    assert [p.name for p in out.iterdir()] == ["vowel"]


def test_a_run_stopped_between_the_renames_is_mended(tmp_path):
    mirror = copy_vowel(tmp_path)
    out = tmp_path / "out"
    arguments = ["vowel", "--mirror", mirror, "--out", str(out)]
    assert main(arguments) == 0
    (out / "vowel").rename(out / ".vowel.old")
    assert main(arguments) == 0
    assert [p.name for p in out.iterdir()] == ["vowel"] and output.complete(out / "vowel")


# Downloads


class Site(http.server.BaseHTTPRequestHandler):
    """Serves `files`; knows ranges if `ranges`; each path is cut after `cut` bytes of an answer, `cuts` times."""

    files: dict[str, bytes] = {}
    ranges = True
    cut = cuts = 0
    seen: list[str] = []

    def do_GET(self):
        site = type(self)
        site.seen.append(self.headers.get("Range", "all"))
        data = self.files.get(self.path)
        if data is None:
            return self.send_error(404)
        start = int(self.headers["Range"][6:-1]) if self.ranges and "Range" in self.headers else 0
        if start and start >= len(data):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        body = data[start:]
        if site.cuts:
            site.cuts -= 1
            body = body[:site.cut]
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: None)
    handler = type("Site", (Site,), {"seen": [], "files": {"/data": bytes(range(256)) * 4000}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        handler.address = f"http://127.0.0.1:{server.server_port}"
        yield handler
        server.shutdown()


def accept(path: Path) -> None:
    pass


def test_download_goes_on_after_a_dropped_connection(site, tmp_path):
    site.cut, site.cuts = 300_000, 2
    fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert (tmp_path / "data").read_bytes() == site.files["/data"]
    assert site.seen == ["all", "bytes=300000-", "bytes=600000-"]
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def test_download_goes_on_where_an_earlier_run_ended(site, tmp_path):
    (tmp_path / "data.part").write_bytes(site.files["/data"][:1000])
    fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert (tmp_path / "data").read_bytes() == site.files["/data"] and site.seen == ["bytes=1000-"]


def test_download_of_a_whole_part_asks_and_keeps_it(site, tmp_path):
    (tmp_path / "data.part").write_bytes(site.files["/data"])
    fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert (tmp_path / "data").read_bytes() == site.files["/data"]


def test_download_of_too_long_a_part_starts_again(site, tmp_path):
    (tmp_path / "data.part").write_bytes(site.files["/data"] + b"more")
    fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert (tmp_path / "data").read_bytes() == site.files["/data"] and site.seen[-1] == "all"


def test_download_without_ranges_starts_again(site, tmp_path):
    site.ranges, site.cut, site.cuts = False, 300_000, 1
    fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert (tmp_path / "data").read_bytes() == site.files["/data"]


def test_download_gives_up_and_keeps_the_part(site, tmp_path):
    site.ranges, site.cut, site.cuts = False, 300_000, 1000
    with pytest.raises(fetch.FetchError, match="ended after 300000 of 1024000 bytes"):
        fetch.download(site.address + "/data", tmp_path / "data", accept)
    assert [p.name for p in tmp_path.iterdir()] == ["data.part"]


def test_download_of_wrong_bytes_is_deleted(site, tmp_path):
    def refuse(path):
        raise fetch.DataError("wrong")

    with pytest.raises(fetch.DataError):
        fetch.download(site.address + "/data", tmp_path / "data", refuse)
    assert not list(tmp_path.iterdir())


def test_download_of_what_is_not_there_fails_at_once(site, tmp_path):
    with pytest.raises(fetch.FetchError, match="404"):
        fetch.download(site.address + "/none", tmp_path / "none", accept)
    assert len(site.seen) == 1


def test_download_from_nobody_fails(site, tmp_path):
    with pytest.raises(fetch.FetchError):
        fetch.download("http://127.0.0.1:1/data", tmp_path / "data", accept)


def test_a_set_is_prepared_from_a_download_that_is_kept(site, tmp_path, monkeypatch):
    site.files["/vowel-context.data"] = (need("vowel_deterding") / sources.VOWEL.path).read_bytes()
    site.cut, site.cuts = 30_000, 1
    here = dataclasses.replace(sources.VOWEL, url=site.address + "/vowel-context.data")
    monkeypatch.setattr(sources, "VOWEL", here)
    arguments = ["vowel", "--mirror", "", "--out", str(tmp_path)]
    assert main(arguments) == 0 and output.complete(tmp_path / "vowel")
    assert (tmp_path / "vowel" / ".download" / "vowel-context.data").exists()
    site.files.clear()
    assert main([*arguments, "--force"]) == 0 and output.complete(tmp_path / "vowel")


def test_a_set_from_a_wrong_download_is_refused(site, tmp_path, monkeypatch, capsys):
    site.files["/vowel-context.data"] = b"<html>moved</html>"
    here = dataclasses.replace(sources.VOWEL, url=site.address + "/vowel-context.data")
    monkeypatch.setattr(sources, "VOWEL", here)
    assert main(["vowel", "--mirror", "", "--out", str(tmp_path)]) == 1
    assert "wrong checksum" in last_line(capsys)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def zipped(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr(name, data)
    return file.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as t:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        t.addfile(entry, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize("archive", [zipped, tarred])
def test_a_file_of_an_official_archive_is_found_and_checked(site, tmp_path, archive):
    data = b"the original\n"
    source = fetch.Source("set/file.txt", len(data), hashlib.sha256(data).hexdigest(),
                          url=site.address + "/set.archive", member="part/file.txt")
    origin = fetch.Origin(None, tmp_path / "downloads")
    site.files["/set.archive"] = archive("set/part/file.txt", data)
    assert origin.read(source) == (data, source.sha256)
    mirror = tmp_path / "mirror"
    (mirror / "set").mkdir(parents=True)
    (mirror / "set" / "set.archive").write_bytes(site.files["/set.archive"])
    assert fetch.Origin(mirror, tmp_path).read(source) == (data, source.sha256)
    (mirror / "set" / "set.archive").write_bytes(archive("set/part/file.txt", b"another\n"))
    with pytest.raises(fetch.DataError, match="wrong checksum"):
        fetch.Origin(mirror, tmp_path).read(source)
    (mirror / "set" / "set.archive").write_bytes(archive("set/other.txt", data))
    with pytest.raises(fetch.DataError, match="holds no"):
        fetch.Origin(mirror, tmp_path).read(source)
