"""What `quorate serve` promises to those who use it together: settings that last, audits that nobody can tell apart, leases that end with
a reason, DELETE with every learner, requests that take no more than they hold, files that stay their own."""
import http.client
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from program import GUARD, wait_until
from serving import Server, example, is_spam


def served(quorate, *args):
    """With no limit of labels but the one given."""
    return Server(quorate, "--positive", "spam", "--negative", "ham", "--audit", "0.1", "--bits", "10", *args, new=False)


def tokens(quorate, **roles):
    return {name: quorate.ok("serve", "token", "--dir", "desk", "--role", role, "--name", name).out.strip() for name, role in roles.items()}


# Settings --------------------------------------------------------------------------------------------------------------------------------

LASTING = {"--name": "Mail desk", "--prompt": "Is it spam?", "--lease": "60", "--open-questions": "7", "--pool": "9", "--opinions": "0.5",
           "--labels-per-annotator": "5", "--hold": "7", "--keep-journal": "0"}


def journal_settings(quorate):
    """The desk's settings of the first start, and each change of them."""
    events = [json.loads(line)["event"] for line in quorate.ok("journal", "show", "--dir", "desk").out.splitlines()]
    return [event["desk"] for event in events if event["do"] == "settings"]


@pytest.mark.parametrize("option", [*LASTING, "--guidelines", "--archive"])
def test_a_setting_lasts_and_a_changed_one_is_stored_and_said(quorate, option):
    (quorate.folder / "guide.md").write_text("# How to answer\n")
    given = {"--guidelines": ["--guidelines", "guide.md"], "--archive": ["--archive", "old", "--keep-journal", "1"]}.get(
        option, [option, LASTING.get(option)])
    server = Server(quorate)
    server.stop()
    server = Server(quorate, *given, new=False)
    server.post(0, 3)
    server.stop()
    said = server.process.stderr.read().decode()
    assert f"from now on {option} is " in said, said
    changes = [] if option == "--keep-journal" else journal_settings(quorate)
    server = Server(quorate, new=False)  # --dir alone
    if option == "--name":
        assert server.status()["name"] == "Mail desk"
    if option == "--guidelines":
        assert "How to answer" in server.request("GET", "/v1/guidelines", raw=True)[1]
    server.post(3, 6)
    server.stop()
    if option == "--keep-journal":
        assert [path.name for path in (quorate.folder / "desk").glob("journal/0*")] != ["000000000000.qj"]
    else:
        assert len(changes) == 1 and option.removeprefix("--") in changes[0]
        assert journal_settings(quorate) == changes, "the same again is no change"
    assert "from now on" not in server.process.stderr.read().decode()
    assert (quorate.folder / "desk").is_dir()


def test_with_keep_journal_0_of_the_first_start_nothing_forgotten_stays(quorate):
    server = Server(quorate, "--keep-journal", "0")
    server.ok("POST", "/v1/examples", {"id": "m1", "task": "ann", "text": "secretword of ann"})
    server.post(2, 40)
    server.stop()
    server = Server(quorate, new=False)
    assert server.request("DELETE", "/v1/tasks/ann")[0] == 200
    for path in (quorate.folder / "desk").rglob("*"):
        assert not path.is_file() or b"secretword" not in path.read_bytes(), path


def test_a_folder_whose_journal_is_gone_says_so(quorate):
    server = Server(quorate)
    server.post(0, 30)
    server.stop()
    shutil.rmtree(quorate.folder / "desk" / "journal")
    result = quorate("serve", "--dir", "desk", "--port", "0")
    assert result.code == 1 and "has snapshots but no journal" in result.err


# Roles and audits ------------------------------------------------------------------------------------------------------------------------

def shape(value):
    """A reply without what differs from question to question."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value).__name__


def test_an_annotator_cannot_tell_audits_apart(quorate):
    token = tokens(quorate, eva="owner", ann="annotator")
    server = served(quorate, "--labels", "5000", "--opinions", "0.3", "--audit-floor", "0.2", "--learner", "cohort(query=always)")
    server.post(0, 400, token=token["eva"])
    seen = {}
    for _ in range(150):
        reply = server.ok("POST", "/v1/next", {"annotator": "ann"}, token=token["ann"])
        question = reply["question"]
        if not question:
            break
        assert "ticket" not in question and "waiting" not in reply["labels"], "they would tell when it was bought"
        replies = [reply, server.ok("GET", "/v1/status", token=token["ann"]), server.ok("POST", "/v1/renew", {"lease": question["lease"]}, token=token["ann"])]
        label = "spam" if is_spam(int(question["example"][1:])) else "ham"
        replies.append(server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": label}, token=token["ann"]))
        undone = server.ok("POST", "/v1/undo", {"annotator": "ann"}, token=token["ann"])
        replies.append(undone)
        replies.append(server.ok("POST", "/v1/answer", {"lease": undone["question"]["lease"], "label": label}, token=token["ann"]))
        seen[question["example"]] = [shape(one) for one in replies]
    server.stop()
    audits = {json.loads(line)["example"]: json.loads(line)["audit"] for line in quorate.ok("journal", "export", "--dir", "desk").out.splitlines()}
    kinds = {kind: [json.dumps(one) for example, one in seen.items() if audits[example] is kind] for kind in (True, False)}
    assert len(kinds[True]) > 15 and len(kinds[False]) > 15, {kind: len(of) for kind, of in kinds.items()}
    assert set(kinds[True]) == set(kinds[False]), "the same fields of the same types, in the same order"
    first = [audits[example] for example in list(seen)[:30]]
    assert True in first and False in first, "audits are neither first nor last"


@pytest.mark.check
def test_an_annotator_cannot_tell_audits_apart_by_time(quorate):
    server = served(quorate, "--labels", "5000", "--audit-floor", "0.3", "--learner", "cohort(query=always)")
    took, labels = {}, random.Random(1)  # of labels that follow no rule, nothing is ever sure
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)

    def post(path, body):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())

    for batch in range(20):
        server.post(batch * 100, batch * 100 + 100)
        while (question := post("/v1/next", {"annotator": "ann"})["question"]) and len(took) < (batch + 1) * 50:
            begin = time.perf_counter()
            post("/v1/answer", {"lease": question["lease"], "label": "spam" if labels.random() < 0.5 else "ham"})
            took[question["ticket"]] = time.perf_counter() - begin
    server.stop()
    audits = {json.loads(line)["ticket"]: json.loads(line)["audit"] for line in quorate.ok("journal", "export", "--dir", "desk").out.splitlines()}
    of = {kind: [seconds for ticket, seconds in took.items() if audits[ticket] is kind] for kind in (True, False)}
    assert len(took) >= 900 and min(map(len, of.values())) > 100
    low, high = sorted(map(statistics.median, of.values()))
    spread = statistics.quantiles(took.values(), n=4)
    assert high - low < spread[2] - spread[0], "the medians differ by less than half of all times do among each other"


def test_an_audit_taken_back_measures_nothing_until_it_is_given_again(quorate):
    server = served(quorate, "--labels", "5000", "--audit-floor", "0.5")
    server.post(0, 60)
    before = None
    while (question := server.next()["question"]):
        server.answer(question)
        audits = (server.status()["accuracy"] or {}).get("audits", 0)
        if before is not None and audits > before:
            break
        before = audits
    assert question, "an audit was answered"
    undone = server.ok("POST", "/v1/undo", {"annotator": "ann"})
    assert (server.status()["accuracy"] or {}).get("audits", 0) == before
    server.answer(undone["question"])
    assert server.status()["accuracy"]["audits"] == before + 1
    bought = server.status()["labels"]
    server.stop(signal.SIGKILL)
    server = Server(quorate, new=False)
    assert server.status()["labels"] == bought and server.status()["accuracy"]["audits"] == before + 1


def test_a_pool_posted_at_once_is_measured_by_the_model_of_now(quorate):
    server = served(quorate, "--labels", "150", "--audit-floor", "0.2")
    server.post(0, 300)
    while question := server.next()["question"]:
        server.answer(question)
    status = server.status()
    predicted = server.ok("POST", "/v1/predict", [example(n) for n in range(1000, 1300)])["predictions"]
    true = sum((one["label"] == "spam") == is_spam(n) for n, one in zip(range(1000, 1300), predicted)) / 300
    accuracy = status["accuracy"]
    assert accuracy["audits"] >= 10 and accuracy["low"] <= true <= accuracy["high"], (accuracy, true)
    assert status["when_each_came"] is None and status["forecast"] is None, "those predictions were made without a label"
    assert status["always"]["accuracy"] < 0.95 and set(status["measures"]) >= {"recall", "balanced_accuracy"}


# Leases ----------------------------------------------------------------------------------------------------------------------------------

def test_a_lease_that_ends_early_says_why(quorate):
    server = served(quorate, "--labels", "500", "--opinions", "1")
    server.post(0, 120)
    first = server.next("ann")["question"]
    server.answer(first)
    second = server.next("bob")["question"]
    while second["ticket"] != first["ticket"]:
        server.answer(second)
        second = server.next("bob")["question"]
    server.ok("POST", "/v1/undo", {"annotator": "ann"})

    def refused(lease):
        status, reply = server.request("POST", "/v1/answer", {"lease": lease, "label": "spam"})
        assert status == 410 and server.request("POST", "/v1/renew", {"lease": lease})[0] == 410
        return reply["detail"]

    assert "the answer before was taken back" in refused(second["lease"])
    assert "its answer was taken back" in refused(first["lease"])
    held = server.next("eve")["question"]
    server.ok("DELETE", f"/v1/examples/{held['example']}")
    assert "forgotten" in refused(held["lease"])
    held = server.next("eve")["question"]
    server.ok("POST", "/v1/skip", {"lease": held["lease"]})
    assert "skipped" in refused(held["lease"])
    held = server.next("joe")["question"]
    server.ok("PUT", "/v1/limits", {"labels": 0})
    status, reply = server.request("POST", "/v1/answer", {"lease": held["lease"], "label": "spam"})
    assert status == 200 or "the limit of labels was lowered" in reply["detail"]


def test_bought_and_waiting_add_up_to_no_more_than_the_limit(quorate):
    server = served(quorate, "--labels", "30", "--opinions", "1")
    for n in range(0, 200, 10):
        server.post(n, n + 10)
        for name in ("ann", "bob"):
            if question := server.next(name)["question"]:
                server.answer(question)
            labels = server.status()["labels"]
            assert labels["bought"] + labels["waiting"] <= 30, labels


def test_a_second_opinion_is_wanted_until_there_is_one(quorate):
    server = served(quorate, "--labels", "500", "--opinions", "1")
    server.post(0, 60)
    held = server.next("joe")["question"]
    server.ok("PUT", f"/v1/answers/{held['ticket']}", {"annotator": "kim", "label": "spam", "source": "tool:1"})
    assert "until" in server.ok("POST", "/v1/renew", {"lease": held["lease"]})
    server.ok("PUT", f"/v1/answers/{held['ticket']}", {"annotator": "lee", "label": "ham", "source": "tool:2"})
    status, reply = server.request("POST", "/v1/renew", {"lease": held["lease"]})
    assert status == 410 and "another tool" in reply["detail"]


def test_nobody_computes_the_lease_of_another(quorate):
    server = served(quorate, "--labels", "500")
    server.post(0, 60)
    leases = [server.next(name)["question"]["lease"] for name in ("ann", "bob")]
    assert all(len(lease) == 32 and int(lease, 16) for lease in leases)
    server.stop()
    again = Server(quorate, "--positive", "spam", "--negative", "ham", "--audit", "0.1", "--bits", "10", "--labels", "500", dir="other", new=False)
    again.post(0, 60)
    assert again.next("ann")["question"]["lease"] not in leases, "the same settings and events, another secret"


def test_a_lowered_hold_counts_from_now(quorate):
    server = served(quorate, "--labels", "500", "--hold", "600", "--learner", "cohort(query=always)")
    server.post(0, 30)
    server.answer(server.next()["question"])
    server.stop()
    server = Server(quorate, "--hold", "0.2", new=False)
    server.answer(server.next()["question"])
    wait_until(lambda: len(server.request("GET", "/v1/labels", raw=True)[1].splitlines()) >= 1)


# DELETE ----------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("more", [["--keep-labels", "0B"], ["--learner", "peer"], ["--learner", "amlc"], []])
def test_delete_forgets_with_every_setting_and_names_what_stays(quorate, more):
    server = Server(quorate, "--keep-journal", "0", "--hold", "0", *more)
    server.ok("POST", "/v1/examples", {"id": "m1000", "task": "ann", "text": "secretword of ann"})
    server.post(0, 60)
    for _ in range(5):
        if question := server.next()["question"]:
            server.answer(question)
    server.ok("POST", "/v1/examples", {"id": "m1001", "task": "ann", "text": "secretword again", "label": "spam"})
    log = json.loads(server.request("GET", "/v1/model", raw=True)[1].splitlines()[0])["log"]
    assert "secretword" in server.request("GET", f"/v1/log?from=0&log={log}", raw=True)[1], "a worker follows"
    reply = server.ok("DELETE", "/v1/tasks/ann")["forgotten"]
    assert any("weights" in one for one in reply["left"]) == bool(more)
    for path in (quorate.folder / "desk").rglob("*"):
        assert not path.is_file() or b"secretword" not in path.read_bytes(), path
    opened = map(os.path.realpath, Path(f"/proc/{server.process.pid}/fd").iterdir())  # a connection may close while this looks
    assert not [path for path in opened if path.endswith("(deleted)")]
    answered = next(json.loads(line) for line in quorate.ok("journal", "export", "--dir", "desk").out.splitlines() or ['{"example": "m1"}'])
    assert server.request("DELETE", f"/v1/examples/{answered['example']}")[0] == 200
    server.stop(signal.SIGKILL)
    server = Server(quorate, new=False)
    assert server.request("DELETE", "/v1/tasks/ann")[0] == 404


def test_an_id_that_is_posted_again_after_delete_is_exported_with_its_new_text(quorate):
    server = Server(quorate)
    server.ok("POST", "/v1/examples", {"id": "m1", "task": "ann", "text": "old secret text"})
    server.ok("DELETE", "/v1/examples/m1")
    server.ok("POST", "/v1/examples", {"id": "m1", "task": "ann", "text": "new text"})
    server.ok("PUT", f"/v1/answers/{server.next()['question']['ticket']}", {"annotator": "kim", "label": "spam", "source": "tool"})
    server.stop()
    rows = [json.loads(line) for line in quorate.ok("journal", "export", "--dir", "desk").out.splitlines()]
    assert [row["data"]["text"] for row in rows] == ["new text"]


# Requests --------------------------------------------------------------------------------------------------------------------------------

def raw(server, text):
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=GUARD) as wire:
        wire.sendall(text.replace("HOST", urlsplit(server.url).netloc).encode())
        return wire.recv(4000).decode()


def test_trailers_are_no_headers_and_a_bare_line_feed_is_malformed(quorate):
    token = tokens(quorate, eva="owner")["eva"]
    server = Server(quorate)
    chunked = ("POST /v1/next HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{more}\r\n"
               "13\r\n{{\"annotator\":\"ann\"}}\r\n0\r\n{trailer}\r\n")
    secret = f"Authorization: Bearer {token}\r\n"
    assert raw(server, chunked.format(more=secret, trailer="")).startswith("HTTP/1.1 200")
    assert raw(server, chunked.format(more="", trailer=secret)).startswith("HTTP/1.1 401")
    assert raw(server, "GET /healthz HTTP/1.1\nHost: HOST\n\n").startswith("HTTP/1.1 400")
    assert raw(server, "GET /healthz HTTP/3.0\r\nHost: HOST\r\n\r\n").startswith("HTTP/1.1 505")


def test_blank_lines_are_no_examples_however_many(quorate):
    server = Server(quorate)
    line = lambda n: json.dumps({"id": f"m{n}", "task": "ann", "text": "see"}).encode() + b"\n"
    body = b"".join(map(line, range(256))) + b"\n" * 700 + line(256)
    assert len(server.ok("POST", "/v1/examples", body, type="application/x-ndjson")["examples"]) == 257
    assert server.status()["examples"] == 257


def test_a_file_of_tokens_that_is_away_opens_no_server(quorate):
    server = Server(quorate)
    server.stop()
    (quorate.folder / "desk" / "tokens.json").symlink_to(quorate.folder / "not mounted" / "tokens.json")
    result = quorate("serve", "--dir", "desk", "--port", "0")
    assert result.code == 3 and "tokens.json" in result.err


@pytest.mark.check
def test_replies_that_nobody_takes_have_a_limit(quorate):
    server = served(quorate, "--labels", "10", "--learner", "perceptron(query=margin(b=1))")
    for n in range(0, 15_000, 500):
        lines = b"".join(json.dumps({"id": f"e{i}", "task": f"{i}" * 200, "text": "see"}).encode() + b"\n" for i in range(n, n + 500))
        assert server.request("POST", "/v1/examples", lines, type="application/x-ndjson")[0] == 200

    def resident():
        lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024

    before, host = resident(), urlsplit(server.url)
    readers = []
    for _ in range(40):  # each of a reply of 10 MB or more that is never read
        wire = socket.create_connection((host.hostname, host.port))
        wire.sendall(f"GET /v1/tasks?most=100000 HTTP/1.1\r\nHost: {host.netloc}\r\n\r\n".encode())
        readers.append(wire)
    time.sleep(8)
    assert resident() - before < 400_000_000
    for wire in readers:
        wire.close()
    wait_until(lambda: server.request("GET", "/v1/tasks?most=10", raw=True)[0] == 200)


def test_a_request_takes_memory_by_what_it_holds(quorate):
    server = Server(quorate)
    server.post(0, 30)

    def peak():
        lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

    before = peak()
    for body, type in ((b"[" + b"{}," * 600_000 + b"{}]", "application/json"), (b"x\n" * 900_000, "application/x-ndjson")):
        status, reply = server.request("POST", "/v1/predict", body, type=type)
        assert status == 413 and "fewer lines" in json.dumps(reply)
        assert peak() - before < 20 * len(body) + 60_000_000
    assert len(server.ok("POST", "/v1/predict", b"{}\n" * 50_000, type="application/x-ndjson")["predictions"]) == 50_000


@pytest.mark.check
def test_an_answer_waits_for_no_prediction(quorate):
    server = served(quorate, "--labels", "5000")
    server.post(0, 400)
    stop, waits = threading.Event(), []
    bodies = [b"x\n" * 200_000, b"{}\n" * 200_000, json.dumps({"text": "free money " * 50_000}).encode()]

    def predict(body):
        while not stop.is_set():
            server.request("POST", "/v1/predict", body, type="application/x-ndjson")

    others = [threading.Thread(target=predict, args=[body]) for body in bodies]
    for one in others:
        one.start()
    for _ in range(200):
        question = server.next()["question"]
        if not question:
            break
        begin = time.perf_counter()
        server.answer(question)
        waits.append(time.perf_counter() - begin)
    stop.set()
    for one in others:
        one.join()
    assert len(waits) > 50 and statistics.quantiles(waits, n=100)[98] < 0.25, "on a shared machine; 50 ms on two cores of one's own"


def test_many_keys_and_many_large_disagreements_delay_nobody(quorate):
    server = served(quorate, "--labels", "500", "--opinions", "1", "--learner", "cohort(query=always)")
    keys = {"text": "many"} | {f"k{n}": 1 for n in range(60_000)}
    server.ok("POST", "/v1/examples", {"id": "keys", "task": "ann"} | keys)
    for n in range(12):
        server.ok("POST", "/v1/examples", {"id": f"p{n}", "task": "ann", "text": f"see {n}", "picture": "data:image/png;base64," + "A" * 400_000})
    for name, label in (("ann", "spam"), ("bob", "ham")):
        for _ in range(13):
            begin = time.perf_counter()
            question = server.next(name)["question"]
            assert time.perf_counter() - begin < 1 and len(question["fields"]) <= 1001
            server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": label})
    status = server.status()
    assert status["disagreement_count"] == 13 and len(json.dumps(status)) < 1_000_000
    without = next(one for one in status["disagreements"] if "fields" not in one)
    fields = server.ok("GET", f"/v1/answers/{without['ticket']}")["fields"]
    assert {field["kind"] for field in fields if field["name"] == "picture"} <= {"image"}


def test_a_start_without_memory_reads_the_desk_again_with_the_settings_of_then(quorate):
    """The folder has no snapshot, and --opinions is another from event N on."""
    server = served(quorate, "--labels", "500", "--learner", "cohort(query=always)")
    server.post(0, 60)
    for _ in range(10):
        server.answer(server.next()["question"])
    server.stop(signal.SIGKILL)
    process = subprocess.Popen(["prlimit", "--as=400000000", quorate.path, "serve", "--dir", "desk", "--port", "0", "--opinions", "1"],
                               cwd=quorate.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        url = process.stdout.readline().decode().strip()
        if not url or b"__asan_init" in Path(quorate.path).read_bytes():
            pytest.skip("the program takes more memory than that")
        server = Server.__new__(Server)
        server.process, server.url = process, url
        refused = 0
        for n in range(40):  # until an event found no memory
            body = b"".join(json.dumps({"id": f"big{n}-{i}", "task": "ann", "text": " ".join(f"w{n}x{i}x{k}" for k in range(3000))}).encode() + b"\n"
                            for i in range(100))
            status, _ = server.request("POST", "/v1/examples", body, type="application/x-ndjson")
            refused += status >= 500
            if refused:
                break
        before = server.status()["labels"]
        assert server.request("POST", "/v1/next", {"annotator": "ann"})[0] in (200, 503)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    server = Server(quorate, new=False)
    assert server.status()["labels"]["bought"] == before["bought"] == 10


BIG = {"POST": [b"[" + b"{}," * 1_000_000 + b"{}]", json.dumps({"id": "one", "text": "long " * 600_000}).encode()]}


@pytest.mark.check
@pytest.mark.parametrize("megabytes", (40, 60, 64, 70, 76, 90, 95, 100, 110, 125, 150, 200, 250, 300, 350, 450, 550, 650, 750, 850, 1000))
def test_a_request_without_memory_is_refused_and_the_server_goes_on(quorate, megabytes):
    if b"__asan_init" in Path(quorate.path).read_bytes():
        pytest.skip("the address sanitizer maps terabytes")
    process = subprocess.Popen(["prlimit", f"--as={megabytes * 1_000_000}", quorate.path, "serve", "--dir", "desk", "--port", "0", "--positive",
                                "spam", "--negative", "ham", "--bits", "10"], cwd=quorate.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        url = process.stdout.readline().decode().strip()
        if not url:
            assert process.wait(GUARD) == 4, process.stderr.read()
            return
        server = Server.__new__(Server)
        server.process, server.url = process, url
        server.post(0, 50)
        for path in ("/v1/predict", "/v1/examples", "/v1/next", "/v1/answer"):
            for body in BIG["POST"]:
                status, _ = server.request("POST", path, body)
                assert status in (200, 400, 413, 503, 507), (path, status)
                assert process.poll() is None
        for path in ("/v1/status", "/v1/labels", "/v1/tasks", "/v1/questions", "/v1/journal", "/metrics", "/"):
            status, _ = server.request("GET", path, raw=True)
            assert status in (200, 503), path
        wait_until(lambda: server.request("POST", "/v1/next", {"annotator": "ann"})[0] == 200)
        question = server.ok("POST", "/v1/next", {"annotator": "ann"})["question"]
        assert not question or server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": "ham"})["saved"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(GUARD) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    Server(quorate, new=False).stop()


# Files -----------------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("closed", ["<&- >&-", "<&- 2>&-", "<&- >&- 2>&-", ">&- 2>&-"])
def test_a_server_without_standard_streams_leaves_its_journal_alone(quorate, closed):
    server = Server(quorate)
    server.post(0, 30)
    for _ in range(3):
        server.answer(server.next()["question"])
    server.stop()
    process = subprocess.Popen(["bash", "-c", f"exec '{quorate.path}' serve --dir desk --port 0 {closed}"], cwd=quorate.folder)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.wait(GUARD)
    quorate.ok("journal", "verify", "--dir", "desk")
    assert len(quorate.ok("journal", "export", "--dir", "desk").out.splitlines()) == 3


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second file system")
def test_an_archive_may_be_on_another_disk(quorate, tmp_path):
    other = Path("/dev/shm") / f"quorate-{os.getpid()}-{tmp_path.name}"
    if os.stat("/dev/shm").st_dev == os.stat(quorate.folder).st_dev:
        pytest.skip("no second file system")
    try:
        server = Server(quorate, "--keep-journal", "1", "--archive", other)
        for n in range(4):  # each start with something to say begins no file, so the archive is looked at in the journal's tests
            server.post(n * 10, n * 10 + 10)
            server.stop()
            server = Server(quorate, new=False)
        server.stop()
        assert "cross-device" not in server.process.stderr.read().decode()
    finally:
        shutil.rmtree(other, ignore_errors=True)


def test_a_snapshot_of_another_folder_is_passed_over_and_an_archive_is_not_the_journal(quorate):
    for folder, examples in (("desk", 60), ("other", 20)):
        server = Server(quorate, "--positive", "spam", "--negative", "ham", "--labels", "500", dir=folder, new=False)
        server.post(0, examples)
        server.answer(server.next()["question"])
        server.stop()
    for path in (quorate.folder / "desk").glob("snapshot-*"):
        shutil.copy(path, quorate.folder / "other")
    server = Server(quorate, dir="other", new=False)
    assert server.status()["labels"]["bought"] == 1 and server.status()["examples"] == 20
    server.stop()
    assert "another journal" in server.process.stderr.read().decode()
    result = quorate("serve", "--dir", "other", "--port", "0", "--keep-journal", "1", "--archive", "other/journal")
    assert result.code == 2 and "the folder of the journal itself" in result.err


def test_a_folder_that_does_not_start_gives_its_answers_and_what_came_before(quorate):
    server = Server(quorate)
    server.post(0, 60)
    for _ in range(6):
        server.answer(server.next()["question"])
    events = [json.loads(line) for line in server.request("GET", "/v1/journal", raw=True)[1].splitlines()]
    server.stop(signal.SIGKILL)
    result = quorate.ok("journal", "export", "--dir", "desk")
    assert len(result.out.splitlines()) == 6 and all(json.loads(line)["data"]["text"] for line in result.out.splitlines())
    answers = [one["sequence"] for one in events if one["event"]["do"] == "answer"]
    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "before", "--until", str(answers[3]))
    server = Server(quorate, dir="before", new=False)
    assert server.status()["labels"]["bought"] == 3


def test_answers_of_a_journal_without_its_beginning_are_exported(quorate):
    server = Server(quorate, "--keep-journal", "0")
    server.post(0, 60)
    for _ in range(4):
        server.answer(server.next()["question"])
    server.ok("DELETE", "/v1/examples/m59")
    for _ in range(3):
        server.answer(server.next()["question"])
    server.stop(signal.SIGKILL)
    result = quorate.ok("journal", "export", "--dir", "desk")
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert len(rows) == 7 and all(row["data"]["id"] == row["example"] and row["annotator"] == "ann" for row in rows)
    assert "were dropped" in result.err
    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "again")
    assert Server(quorate, dir="again", new=False).status()["labels"]["bought"] == 7
