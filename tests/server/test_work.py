"""`quorate work`: machines that judge a stream by the model of `quorate serve`, with the real programs."""
import http.server
import json
import random
import signal
import threading
import time
import urllib.request
from contextlib import contextmanager

import pytest
from program import GUARD, reserved_port, wait_until
from serving import Server, example, is_spam

COHORT = ["--positive", "spam", "--negative", "ham", "--bits", "10"]


def stream(first, last):
    return "".join(json.dumps(example(n)) + "\n" for n in range(first, last))


class Worker:
    def __init__(self, quorate, server, source, *args):
        self.process = quorate.start("work", "--server", server.url, "--source", source, *args)

    def give(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def metrics_url(self):
        """Of a worker that began with --metrics-port 0; call it once."""
        return self.process.stderr.readline().decode().split()[-1].removesuffix("/metrics")

    def end(self):
        out, err = self.process.communicate(timeout=GUARD)
        return [json.loads(line) for line in out.splitlines()], err.decode()


def figures_of(url):
    with urllib.request.urlopen(url + "/metrics", timeout=GUARD) as reply:
        return {name: float(value) for name, value in (line.split() for line in reply.read().decode().splitlines() if line[0] != "#")}


def annotate(server, most):
    answered = 0
    while answered < most and (question := server.next()["question"]) is not None:
        server.answer(question)
        answered += 1
    return answered


def test_workers_share_one_label_budget(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    workers = [Worker(quorate, server, f"part-{n}") for n in range(3)]
    for turn in range(30):
        for n, worker in enumerate(workers):
            worker.give(stream(turn * 30 + n * 10, turn * 30 + n * 10 + 10))
        time.sleep(0.02)
        annotate(server, 3)
    predictions = []
    for worker in workers:
        said, err = worker.end()
        assert worker.process.returncode == 0, err
        assert len(said) == 300
        predictions += said
    while annotate(server, 100):
        pass
    status = server.status()
    assert status["labels"]["bought"] <= 40
    assert status["workers"]["sources"] == 3
    assert status["workers"]["examples_of_all"] == 900
    late = [p for p in predictions if int(p["id"][1:]) >= 600]
    right = sum((p["label"] == "spam") == is_spam(int(p["id"][1:])) for p in late)
    assert right > 0.95 * len(late)
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(GUARD)


def test_a_file_is_judged_once(quorate):
    data = quorate.folder / "mails.jsonl"
    data.write_text(stream(0, 200))
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    said, _ = Worker(quorate, server, "mails", "--data", data).end()
    assert [p["position"] for p in said] == list(range(200))
    again, err = Worker(quorate, server, "mails", "--data", data).end()
    assert again == [] and "200 lines of mails are judged already; passed over" in err
    more, _ = Worker(quorate, server, "other", "--data", data).end()
    assert len(more) == 200
    assert server.status()["examples"] <= 200, "an id counts once"


@contextmanager
def desk(quorate, labels):
    """Starts the desk, at one address however often it is called."""
    with reserved_port() as port:
        def start():
            return Server(quorate, "--port", str(port), *COHORT, "--labels", str(labels), new=False)

        yield start


def test_predictions_go_on_while_the_desk_is_away(quorate):
    with desk(quorate, 40) as start:
        predict_meanwhile(quorate, start)


def predict_meanwhile(quorate, start):
    server = start()
    worker = Worker(quorate, server, "a")
    worker.give(stream(0, 50))
    wait_until(lambda: server.status()["examples"] > 0)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(GUARD)
    assert "predictions go on, questions wait" in worker.process.stderr.readline().decode()
    worker.give(stream(50, 150))
    for _ in range(150):
        assert worker.process.stdout.readline()
    server = start()
    said, err = worker.end()
    assert said == [] and worker.process.returncode == 0 and "is back" in err, err
    assert server.status()["workers"]["examples_of_all"] == 150


@pytest.mark.parametrize("kills", [12, pytest.param(100, marks=pytest.mark.full)])
def test_kills_lose_and_double_nothing(quorate, kills):
    """Workers and the desk are killed at random; each source goes on where the desk knows it to be, and all have one model."""
    with desk(quorate, 40) as start:
        kill(quorate, start, kills)


def kill(quorate, start, kills):
    draw = random.Random(1)
    server = start()
    paths = [quorate.folder / f"part-{n}.jsonl" for n in range(2)]
    witness = Worker(quorate, server, "witness", "--share-examples", "0", "--metrics-port", "0")  # follows the log, and is never killed
    url = witness.metrics_url()
    workers = [None, None]

    def go_on():
        for n, path in enumerate(paths):
            if workers[n] is None or workers[n].process.poll() == 0:
                workers[n] = Worker(quorate, server, path.name, "--data", path)

    for turn in range(kills):
        for n, path in enumerate(paths):
            with path.open("a") as out:
                out.write(stream(turn * 400 + n * 200, turn * 400 + n * 200 + 200))
        go_on()
        time.sleep(draw.random() * 0.1)
        if turn % (kills // 12) == 0:
            annotate(server, 3)
        victim = draw.randrange(3)
        if victim == 2:
            server.stop(signal.SIGKILL)
            server = start()
        else:
            workers[victim].process.kill()
            workers[victim].process.communicate()
            workers[victim] = Worker(quorate, server, paths[victim].name, "--data", paths[victim])
    for _ in range(2):  # again for those that ended before the last lines came
        go_on()
        for worker in workers:
            _, err = worker.end()
            assert worker.process.returncode == 0, err
    while annotate(server, 100):
        pass
    status = server.status()
    assert status["workers"]["examples_of_all"] == 400 * kills
    assert status["labels"]["bought"] == 40
    events = [json.loads(line) for line in server.request("GET", "/v1/journal?most=100000", raw=True)[1].splitlines()]
    ids = [json.loads(line)["id"] if isinstance(line, str) else line["id"]
           for event in events for line, known in zip(event.get("examples", []), event["event"].get("was", {}).get("ids", []), strict=False)
           if known is not None]
    assert len(ids) == len(set(ids)) == status["examples"], "each example counts once"

    probes = stream(10**6, 10**6 + 300)
    wait_until(lambda: figures_of(url)["quorate_work_log_record"] == figures_of(server.url)["quorate_journal_durable_events"])
    expected = predictions_of(server, probes)
    for worker in (witness, Worker(quorate, server, "late", "--share-examples", "0")):
        worker.give(probes)
        said, err = worker.end()
        assert [{key: one[key] for key in expected[0]} for one in said] == expected, "its model is the desk's, to the bit: " + err
    server.stop(signal.SIGKILL)
    assert predictions_of(start(), probes) == expected


def predictions_of(server, lines):
    return server.ok("POST", "/v1/predict", lines.encode(), type="application/x-ndjson")["predictions"]


def test_a_token_of_the_role_worker_is_needed(quorate):
    tokens = {role: quorate.ok("serve", "token", "--dir", "desk", "--role", role, "--name", role).out.strip() for role in ("worker", "data")}
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    for name, role in (("none", None), ("data", "data")):
        args = []
        if role:
            (quorate.folder / name).write_text(tokens[role])
            args = ["--token-file", name]
        worker = Worker(quorate, server, "a", *args)
        _, err = worker.end()
        assert worker.process.returncode == 2 and "--role worker" in err and "{" not in err, err
    (quorate.folder / "token").write_bytes(tokens["worker"].encode() + b"\r\n")
    worker = Worker(quorate, server, "a", "--token-file", "token")
    worker.give(stream(0, 20))
    said, err = worker.end()
    assert len(said) == 20 and worker.process.returncode == 0, err


def test_ctrl_c_ends_a_worker_while_the_server_stalls(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    worker = Worker(quorate, server, "a")
    worker.give(stream(0, 50))
    wait_until(lambda: server.status()["examples"] > 0)
    server.process.send_signal(signal.SIGSTOP)
    worker.give(stream(50, 100))
    begin = time.monotonic()
    worker.process.send_signal(signal.SIGINT)
    worker.process.wait(GUARD)
    assert time.monotonic() - begin < 5
    server.process.send_signal(signal.SIGCONT)


def test_a_line_that_is_still_written_is_judged_once_it_is_whole(quorate):
    data = quorate.folder / "mails.jsonl"
    whole = stream(0, 3)
    data.write_text(whole[:-20])
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    said, err = Worker(quorate, server, "mails", "--data", data).end()
    assert len(said) == 3 and "error" in said[2] and "2 lines judged, 1 line unusable" in err, err
    data.write_text(whole[:-1])
    last, err = Worker(quorate, server, "mails", "--data", data).end()
    assert [p["id"] for p in last] == [example(2)["id"]] and "2 lines of mails are judged already" in err, err
    data.write_text(whole + stream(3, 4))
    assert [p["id"] for p in Worker(quorate, server, "mails", "--data", data).end()[0]] == [example(3)["id"]]


def test_a_label_that_the_desk_does_not_have_is_no_label(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    worker = Worker(quorate, server, "a")
    worker.give("".join(json.dumps({"text": "cheap pills", "label": label}) + "\n" for label in ("Spam", "spam", "junk")))
    said, err = worker.end()
    assert ["error" in one for one in said] == [True, False, True]
    assert worker.process.returncode == 1 and "'Spam'" in err and "expected one of ham, spam" in err, err
    assert "JSON" not in err


def test_a_worker_says_what_the_desk_does_not_know(quorate):
    with desk(quorate, 2) as start:
        server = start()
        data = quorate.folder / "mails.jsonl"
        data.write_text(stream(0, 300))
        worker = Worker(quorate, server, "a", "--patience", "1", "--metrics-port", "0")
        url = worker.metrics_url()
        worker.give(stream(0, 50))

        def knows():  # of the worker, not the server: a reply may be lost
            figures = figures_of(url)
            return figures["quorate_work_lines_total"] == 50 and figures["quorate_work_lacking"] == 0

        wait_until(knows)
        server.stop(signal.SIGKILL)
        worker.give(stream(50, 300))
        said, err = worker.end()
        assert len(said) == 300 and worker.process.returncode == 3, err
        assert "the server does not know of 250 lines judged; judge them again with the same --source" in err, err
        again, err = Worker(quorate, start(), "a", "--data", data).end()
        assert [p["position"] for p in again] == list(range(50, 300)), err


def test_a_worker_does_not_go_over_to_another_desk(quorate):
    with reserved_port() as port:
        def start(folder):
            return Server(quorate, "--port", str(port), *COHORT, "--labels", "40", dir=quorate.folder / folder, new=False)

        server = start("one")
        worker = Worker(quorate, server, "a", "--patience", "5")
        worker.give(stream(0, 50))
        wait_until(lambda: server.status()["examples"] > 0)
        server.stop()
        start("other")
        assert worker.process.wait(GUARD) != 0, "though its input waits"
        assert "another desk" in worker.process.stderr.read().decode()


def test_what_is_no_json_is_named_at_once_and_counted(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    worker = Worker(quorate, server, "a")
    worker.give("id,text\n1,cheap pills\n" + stream(0, 3))
    said, err = worker.end()
    assert len(said) == 5 and sum("error" in one for one in said) == 2
    assert worker.process.returncode == 1 and "convert --to jsonl" in err and "3 lines judged, 2 lines unusable" in err, err


def test_lines_without_a_prediction_are_judged_again(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    data = quorate.folder / "mails.jsonl"
    data.write_text(stream(0, 3000))
    with open("/dev/full", "wb") as full:
        worker = quorate.start("work", "--server", server.url, "--source", "mails", "--data", data, stdout=full)
        _, err = worker.communicate(timeout=GUARD)
    assert worker.returncode == 3 and b"standard output: cannot be written" in err, err
    said, err = Worker(quorate, server, "mails", "--data", data).end()
    assert len(said) == 3000, err


def test_a_source_and_a_token_have_no_control_characters(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    refused = quorate("work", "--server", server.url, "--source", "a\nb")
    assert refused.code == 2 and "--source" in refused.err
    (quorate.folder / "token").write_bytes(b"abc\r\nX-Evil: 1\r\n")
    refused = quorate("work", "--server", server.url, "--token-file", "token")
    assert refused.code == 2 and "token: expected a token alone" in refused.err, refused.err
    refused = quorate("serve", "token", "--dir", "other", "--role", "annotator", "--name", "a\nb")
    assert refused.code == 2 and "without control characters" in refused.err


def test_another_kind_of_server_is_said_to_be_one(quorate):
    class Login(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", "/login")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with http.server.HTTPServer(("127.0.0.1", 0), Login) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        done = quorate("work", "--server", f"http://127.0.0.1:{other.server_port}")
        other.shutdown()
    assert done.code != 0 and "status 302, which is not of quorate serve" in done.err, done.err


def test_a_worker_can_be_watched(quorate):
    server = Server(quorate, *COHORT, "--labels", "40", new=False)
    worker = Worker(quorate, server, "a", "--metrics-port", "0")
    url = worker.metrics_url()
    worker.give(stream(0, 50))
    wait_until(lambda: server.status()["examples"] > 0)
    annotate(server, 5)
    wait_until(lambda: figures_of(url)["quorate_labels"] == 5 and figures_of(url)["quorate_work_waiting"] == 0)
    seen = figures_of(url)
    assert seen["quorate_work_lines_total"] == 50 and seen["quorate_work_asked_total"] > 0 and seen["quorate_work_log_record"] > 5
    for path in ("/healthz", "/readyz"):
        assert urllib.request.urlopen(url + path, timeout=GUARD).status == 200
    said, err = worker.end()
    assert len(said) == 50 and worker.process.returncode == 0, err
