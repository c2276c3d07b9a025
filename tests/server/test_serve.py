"""`quorate serve` as a process: examples in, questions, answers, undo, restarts, kill -9, budgets, tokens, the journal."""
import json
import random
import re
import signal
import threading
import urllib.request

import pytest
from program import GUARD, wait_until
from serving import SETTINGS, Server, example, is_spam


WORDS = ["--positive", "spam", "--negative", "ham", "--bits", "10"]


def test_questions_are_answered_and_taken_back(quorate):
    server = Server(quorate)
    found = server.post(0, 300)
    assert len(found["examples"]) == 300 and found["asked"] > 10
    assert server.ok("POST", "/v1/examples", [example(300), example(301)])["examples"][1]["id"] == "m301"
    assert server.ok("POST", "/v1/examples", example(0))["examples"][0]["known"]
    assert server.status()["examples"] == 302

    question = server.next()["question"]
    assert question["choices"] == ["ham", "spam"] and question["fields"][0]["value"].startswith(("free", "lunch"))
    saved = server.answer(question)
    assert saved["saved"] and saved["labels"]["bought"] == 1
    assert server.answer(question) | {"labels": 0} == saved | {"labels": 0}  # the same lease and label: the same reply
    other = "ham" if saved["label"] == "spam" else "spam"
    status, problem = server.request("POST", "/v1/answer", {"lease": question["lease"], "label": other, "seconds": 1})
    assert status == 409 and problem["title"] == "Conflict"

    for _ in range(8):
        question = server.next()["question"]
        server.answer(question)
    status, undone = server.request("POST", "/v1/undo", {"annotator": "ann"})
    if status == 200:  # an audit is not taken back
        assert undone["undone"]["ticket"] == question["ticket"] == undone["question"]["ticket"]
        server.answer(undone["question"])
    else:
        assert status == 409
    skipped = server.next("bo")["question"]
    assert server.ok("POST", "/v1/skip", {"lease": skipped["lease"]})["ticket"] == skipped["ticket"]
    until = server.next("bo")["question"]
    assert server.ok("POST", "/v1/renew", {"lease": until["lease"]})["until"] >= until["until"]

    predicted = server.ok("POST", "/v1/predict", [example(3000), example(3001)])["predictions"]
    assert {p["label"] for p in predicted} <= {"spam", "ham"}
    status, why = server.request("GET", f"/v1/explain/{until['ticket']}")
    assert status == 403 or why["features"]
    tasks = [json.loads(line) for line in server.ok("GET", "/v1/tasks?most=3", raw=True).splitlines()]
    assert [t["name"] for t in tasks] == ["t0", "t1", "t2"]
    labels = server.ok("GET", "/v1/labels", raw=True).splitlines()
    assert len(labels) >= 5 and server.ok("GET", "/v1/labels?from=2&most=1", raw=True).splitlines() == labels[2:3]
    open_now = server.ok("GET", "/v1/questions")
    assert any(q["ticket"] == until["ticket"] and q["holder"] == "bo" for q in open_now["questions"]) and open_now["next"] is None
    pages, at = [], 0
    while at is not None:
        page = server.ok("GET", f"/v1/questions?from={at}&most=7")
        assert len(page["questions"]) == 7 or page["next"] is None
        pages, at = pages + page["questions"], page["next"]
    assert [q["ticket"] for q in pages] == [q["ticket"] for q in open_now["questions"]] and len(pages) > 7
    assert server.ok("DELETE", "/v1/examples/m17")["forgotten"]["example"] == "m17"
    assert server.ok("DELETE", "/v1/tasks/t3")["forgotten"]["task"] == "t3"
    events = [json.loads(line) for line in server.ok("GET", "/v1/journal?from=1&most=4", raw=True).splitlines()]
    assert [e["sequence"] for e in events] == [1, 2, 3, 4]
    server.stop()


def test_labels_that_are_left_for_audits_are_named(quorate):
    server = Server(quorate, "--positive", "spam", "--negative", "ham", "--labels", "20", "--audit", "0.5", new=False)
    server.post(0, 400)  # before the first answer: next to none is audited
    while question := (found := server.next())["question"]:
        server.answer(question)
    assert 10 <= server.status()["labels"]["bought"] < 20
    assert found["reason"] == "the labels that are left are for audits of examples to come"
    server.stop()


def test_budgets_hold(quorate):
    server = Server(quorate)
    server.post(0, 600)
    answered = 0
    while question := server.next(f"a{answered % 3}")["question"]:
        server.answer(question)
        answered += 1
    assert 20 < answered <= 40
    assert server.status()["labels"]["bought"] == answered
    assert server.ok("PUT", "/v1/limits", {"labels": answered})["labels"]["limit"] == answered
    assert server.post(600, 1200)["asked"] == 0
    assert server.next()["reason"] == "the label budget is spent"
    assert server.ok("PUT", "/v1/limits", {"labels": answered + 5})["labels"]["limit"] == answered + 5
    assert 1 <= server.post(1200, 2400)["asked"] <= 5  # one may be kept back for an audit
    more = 0
    while question := server.next()["question"]:
        server.answer(question)
        more += 1
    assert more <= 5 and server.status()["labels"]["bought"] == answered + more
    server.stop()


def test_a_restart_goes_on(quorate):
    server = Server(quorate)
    server.post(0, 300)
    for _ in range(5):
        server.answer(server.next()["question"])
    question, before = server.next()["question"], server.status()
    server.stop(signal.SIGINT)
    assert list((quorate.folder / "desk").glob("snapshot-*.desk"))
    server = Server(quorate, new=False)
    assert server.status() | {"model_bytes": 0} == before | {"model_bytes": 0}  # memory depends on the way, too
    assert server.answer(question)["labels"]["bought"] == 6  # its lease still holds
    server.stop()
    refused = quorate("serve", "--dir", "desk", "--audit", "0.2")
    assert refused.code == 2 and "--audit 0.2 cannot be changed" in refused.err
    refused = quorate("serve", "--dir", "desk", "--positive", "ham")
    assert refused.code == 2 and "--positive ham cannot be changed" in refused.err
    refused = quorate("serve", "--dir", "desk", "--labels", "7")
    assert refused.code == 2 and "--labels 7 cannot be changed" in refused.err and "PUT /v1/limits" in refused.err
    refused = quorate("serve", "--dir", "desk", "--labels", "7/day")
    assert refused.code == 2 and "--labels 7/day cannot be changed" in refused.err and "PUT" not in refused.err


def test_no_acknowledged_answer_is_lost_by_kill_9(quorate):
    server, acknowledged, first = Server(quorate), {}, 0
    for run in range(6):
        server.post(first, first + 200)
        server.ok("PUT", "/v1/limits", {"labels": 1000})
        first += 200
        lock = threading.Lock()

        def work(name, server=server, lock=lock):
            try:
                for _ in range(200):
                    question = server.next(name)["question"]
                    if question is None:
                        return
                    saved = server.answer(question)
                    with lock:
                        assert question["ticket"] not in acknowledged
                        acknowledged[question["ticket"]] = saved["label"]
            except (OSError, json.JSONDecodeError):
                return

        workers = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(6)]
        for worker in workers:
            worker.start()
        wanted = len(acknowledged) + 1 + 6 * run
        wait_until(lambda: len(acknowledged) >= wanted or not any(worker.is_alive() for worker in workers), "the work")  # noqa: B023
        server.stop(signal.SIGKILL)
        for worker in workers:
            worker.join()
        server = Server(quorate, new=False)
    assert len(acknowledged) > 10
    assert server.status()["labels"]["bought"] >= len(acknowledged)
    server.stop()
    kept = {row["ticket"]: row["label"] for row in quorate.ok("journal", "export", "--dir", "desk").lines()}
    assert acknowledged.items() <= kept.items()
    assert len(quorate.ok("journal", "export", "--dir", "desk", "--to", "csv").out.splitlines()) == 1 + len(kept)
    for path in (quorate.folder / "desk").rglob("*"):
        if path.is_file():
            said = quorate("journal", "export", "--dir", "desk", "--out", path)
            assert said.code == 2 and "the same file as --dir" in said.err, said
    assert "each as it was written" in quorate.ok("journal", "verify", "--dir", "desk").out


def test_bodies_are_checked(quorate):
    server = Server(quorate)
    for path, body, expected in [("/v1/next", {}, "annotator"), ("/v1/next", {"annotator": 1}, "text"),
                                 ("/v1/next", {"annotator": ""}, "text"), ("/v1/next", {"annotator": "a" * 101}, "text"),
                                 ("/v1/next", {"annotator": "a\n"}, "text"), ("/v1/next", {"annotator": "a", "x": 1}, "annotator"),
                                 ("/v1/next", [], "object"), ("/v1/next", b"{", "object"), ("/v1/next", b'{"annotator":"\xff"}', "object"),
                                 ("/v1/answer", {"lease": "1-a"}, "label"), ("/v1/answer", {"lease": "1-a", "label": "x", "seconds": -1}, "number"),
                                 ("/v1/answer", {"lease": "1-a", "label": "x", "seconds": True}, "number"),
                                 ("/v1/decide", {"ticket": -1, "label": "x"}, "whole"), ("/v1/examples", b"[1]", "array"),
                                 ("/v1/examples", b"[]", "example"), ("/v1/examples", b" ", "array"), ("/v1/predict", b"{}{}", "array"),
                                 ("/v1/next?x=1", {"annotator": "a"}, "none")]:
        status, problem = server.request("POST", path, body)
        assert status == 400 and problem["status"] == 400 and problem["detail"], (path, body, problem)
        assert expected in problem["expected"], problem
    for query in ["from=x", "from=-1", "most=0", "most=100001", "color=red"]:
        assert server.request("GET", f"/v1/labels?{query}")[0] == 400
    assert server.request("PUT", "/v1/limits", {"labels": 1.5})[0] == 400
    assert server.request("POST", "/v1/answer", {"lease": "77-a", "label": "spam"})[0] == 404
    assert server.request("POST", "/v1/answer", {"lease": "x", "label": "spam"})[0] == 404
    assert server.request("POST", "/v1/undo", {"annotator": "ann"})[0] == 409
    assert server.request("GET", "/v1/explain/99")[0] == 404
    assert server.request("GET", "/v1/explain/abc")[0] == 404
    assert server.request("DELETE", "/v1/examples/nothing")[0] == 404
    assert server.request("POST", "/v1/next", b"{}", type="application/x-ndjson")[0] == 415
    assert server.ok("GET", "/v1/journal", raw=True) == ""  # nothing of all this changed anything
    bad = server.ok("POST", "/v1/examples", json.dumps(example(1)).encode() + b"\n{\n" + json.dumps(example(2)).encode(),
                    type="application/x-ndjson")["examples"]
    assert bad[1]["line"] == 2 and bad[1]["error"] and bad[2]["id"] == "m2"
    for path in ("/v1/examples", "/v1/predict"):  # nothing of it can be used
        for body in (b"{\n5\n", b'{"Text": "free money"}\n' * 3000, b'{"id": "a", "text": "x", "label": "maybe"}\n'):
            if path == "/v1/predict" and b"maybe" in body:
                continue
            status, problem = server.request("POST", path, body, type="application/x-ndjson")
            assert status == 422 and "no line can be used: " in problem["detail"], (path, body[:50], problem)
    server.stop()


def test_nobody_is_asked_about_what_cannot_be_learned(quorate):
    server = Server(quorate)
    server.post(0, 40)
    reply = server.ok("POST", "/v1/examples", [{"id": "z1", "Text": "free money", "task": "t1"}, {"id": "z2", "text": "lunch", "Subject": "hello"}])
    one, other = reply["examples"]
    assert one["line"] == 1 and "no key that the model knows, but Text; expected text" in one["error"]
    assert other["left_out"] == ["Subject"] and other["task"] == "all"
    assert server.status()["left_out"] == {"keys": {"Subject": 1}, "without_task": 1}
    predicted = server.ok("POST", "/v1/predict", [{"Text": "free money"}, {"text": "free", "Body": "x"}])["predictions"]
    assert "Text" in predicted[0]["error"] and predicted[1]["left_out"] == ["Body"] and 0 < predicted[1]["threshold"] < 1
    again = server.ok("POST", "/v1/examples", {"id": "z1", "text": "free money", "task": "t1"})["examples"][0]  # it may come again
    assert again["id"] == "z1" and "known" not in again and "left_out" not in again
    server.stop()
    said = server.process.stderr.read().decode()
    assert said.count("leaves out: Subject") == 1 and said.count("without a task are of the task all") == 1
    server = Server(quorate, new=False)
    assert server.status()["left_out"] == {"keys": {"Subject": 1}, "without_task": 1}
    server.stop()


def test_labels_left_for_audits_of_a_complete_pool_go_to_learning(quorate):
    server = Server(quorate, *WORDS, "--labels", "100", "--audit", "0.3", "--learner", "cohort(query=always)", new=False)
    server.post(0, 400)
    rng = random.Random(1)

    def answer_all():
        while question := server.next()["question"]:
            server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": "spam" if rng.random() < 0.5 else "ham"})

    answer_all()
    status = server.status()
    left = status["audits_left"]
    assert 5 <= left == 100 - status["labels"]["bought"] and server.next()["reason"] == "the labels that are left are for audits of examples to come"
    assert server.ok("PUT", "/v1/limits", {"labels": 100, "audits": False})["audits_left"] == 0
    server.stop()
    server = Server(quorate, new=False)
    answer_all()
    after = server.status()
    assert after["labels"]["bought"] == 100 and after["labels"]["audits"] == status["labels"]["audits"]
    assert server.next()["reason"] == "the label budget is spent"
    server.ok("PUT", "/v1/limits", {"labels": 200, "audits": True})
    server.post(400, 800)
    answer_all()
    assert server.status()["labels"]["audits"] > after["labels"]["audits"]
    assert server.request("PUT", "/v1/limits", {"labels": 200, "audits": 1})[0] == 400
    server.stop()


def test_without_audits_none_can_be_closed(quorate):
    server = Server(quorate, *WORDS, new=False)
    assert server.request("PUT", "/v1/limits", {"labels": 100, "audits": False})[0] == 409
    server.stop()


def test_roles(quorate):
    token = {role: quorate.ok("serve", "token", "--dir", "desk", "--role", role, "--name", name).out.strip()
             for role, name in [("annotator", "ann"), ("data", "pipeline"), ("owner", "eva")]}
    server = Server(quorate)
    status, problem = server.request("GET", "/v1/status")
    assert status == 401 and "token" in problem["detail"]
    assert server.request("GET", "/v1/status", token="nonsense")[0] == 401
    server.post(0, 300, token=token["data"])
    asked = server.ok("POST", "/v1/next", {"annotator": "ann"}, token=token["annotator"])["question"]
    assert server.request("POST", "/v1/next", {"annotator": "bo"}, token=token["annotator"])[0] == 403
    assert server.request("POST", "/v1/next", {"annotator": "ann"}, token=token["data"])[0] == 403
    assert server.request("POST", "/v1/examples", example(301), token=token["annotator"])[0] == 403
    assert server.request("PUT", "/v1/limits", {"labels": 1}, token=token["data"])[0] == 403
    assert server.request("GET", "/v1/journal", token=token["data"])[0] == 403
    bos = server.ok("POST", "/v1/next", {"annotator": "bo"}, token=token["owner"])["question"]
    assert server.request("POST", "/v1/answer", {"lease": bos["lease"], "label": "ham"}, token=token["annotator"])[0] == 403
    assert server.ok("POST", "/v1/answer", {"lease": asked["lease"], "label": "ham"}, token=token["annotator"])["saved"]
    for path in ["/healthz", "/readyz", "/openapi.json"]:
        server.ok("GET", path)
    assert "<html" in server.ok("GET", "/", raw=True)
    assert "ann" in quorate.ok("serve", "token", "--dir", "desk", "--list").out
    quorate.ok("serve", "token", "--dir", "desk", "--revoke", "ann")
    # The server looks once a second.
    wait_until(lambda: server.request("POST", "/v1/next", {"annotator": "ann"}, token=token["annotator"])[0] == 401)
    server.stop()


def test_other_addresses_need_tls_and_an_owner(quorate):
    refused = quorate("serve", "--dir", "desk", "--address", "0.0.0.0", "--port", "0", *SETTINGS)
    assert refused.code == 2 and "--tls-certificate" in refused.err
    refused = quorate("serve", "--dir", "desk", "--address", "0.0.0.0", "--port", "0", "--insecure", *SETTINGS)
    assert refused.code == 2 and "--role owner" in refused.err
    refused = quorate("serve", "--dir", "desk", "--port", "0")
    assert refused.code == 2 and "--positive" in refused.err


def test_metrics_events_and_guidelines(quorate):
    (quorate.folder / "guide.md").write_text("# Spam\n")
    server = Server(quorate, "--guidelines", "guide.md", "--name", "mail")
    assert server.ok("GET", "/v1/guidelines", raw=True) == "# Spam\n"
    assert server.status()["name"] == "mail"
    with urllib.request.urlopen(server.url + "/v1/events", timeout=GUARD) as events:
        def lines():  # a connection without news is kept open by comments, at any time
            return (line for line in events if not line.startswith(b":") and line != b"\n")

        assert next(lines()) == b"event: status\n"
        assert json.loads(next(lines())[6:])["examples"] == 0
        server.post(0, 50)
        assert next(lines()) == b"event: status\n"
        assert json.loads(next(lines())[6:])["examples"] == 50
    metrics = server.ok("GET", "/metrics", raw=True)
    values = dict(re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", metrics, re.M))
    assert values["quorate_examples_total"] == "50" and values["quorate_taking_answers"] == "1"
    assert float(values["quorate_journal_bytes"]) > 1000
    for name in re.findall(r"^# TYPE (\w+) (?:gauge|counter)$", metrics, re.M):
        assert re.search(rf"^# HELP {name} \S", metrics, re.M) and re.search(rf"^{name}[ {{]", metrics, re.M)
    server.stop()


def test_the_journal_can_be_read_exported_and_rebuilt(quorate):
    server = Server(quorate)
    server.post(0, 300)
    for _ in range(12):
        server.answer(server.next()["question"])
    server.stop()
    rows = quorate.ok("journal", "export", "--dir", "desk").lines()
    assert len(rows) == 12
    assert all(r["annotator"] == "ann" and r["seconds"] == 1.5 and 0 < r["probability"] <= 1 for r in rows)
    assert all(r["data"]["id"] == r["example"] and (r["label"] == "spam") == is_spam(int(r["example"][1:])) for r in rows)
    studio = quorate.ok("journal", "export", "--dir", "desk", "--to", "labelstudio").json()
    assert [t["annotations"][0]["result"][0]["value"]["choices"][0] for t in studio] == [r["label"] for r in rows]
    quorate.ok("journal", "export", "--dir", "desk", "--to", "examples", "--out", "labels.jsonl")
    learned = quorate.ok("train", "--data", "labels.jsonl", "--model", "of-export", "--positive", "spam", "--json").json()
    assert learned["examples"] == len(rows)
    quorate.ok("journal", "export", "--dir", "desk", "--out", "answers.jsonl")
    refused = quorate("train", "--data", "answers.jsonl", "--model", "none")
    assert refused.code == 1 and "quorate journal export --to examples" in refused.err
    (quorate.folder / "tasks.json").write_text(json.dumps(studio))
    refused = quorate("look", "tasks.json", "--format", "jsonl")
    assert refused.code == 1 and "jq -c" in refused.err
    shown = quorate.ok("journal", "show", "--dir", "desk", "--from", "2", "--until", "5").lines()
    assert [e["sequence"] for e in shown] == [2, 3, 4]

    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "same")
    server = Server(quorate, dir="same", new=False)
    assert server.status()["labels"]["bought"] == 12
    server.stop()
    taken = next(r for r in rows if not r["audit"])
    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "without", "--without", taken["ticket"])
    left = quorate.ok("journal", "export", "--dir", "without").lines()
    assert [r["ticket"] for r in left] == [r["ticket"] for r in rows if r != taken]
    refused = quorate("journal", "rebuild", "--dir", "desk", "--out", "none", "--without", taken["ticket"], "--without", "99999")
    assert refused.code == 2 and "--without 99999" in refused.err and not (quorate.folder / "none").exists()
    refused = quorate("journal", "rebuild", "--dir", "desk", "--out", "none", "--without", "")
    assert refused.code == 2 and not (quorate.folder / "none").exists()
    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "none", "--without", taken["ticket"], "--without", taken["ticket"])

    path = next((quorate.folder / "desk/journal").glob("*.qj"))
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    found = quorate("journal", "verify", "--dir", "desk")
    assert found.code == 1 and path.name in found.err
    found = quorate("serve", "--dir", "desk", "--port", "0")
    assert found.code == 1 and path.name in found.err


def test_the_export_has_each_answers_own_probability_and_annotator(quorate):
    """Also of answers that are held back, and of one that was taken back by another tool and given anew."""
    learner = ["--learner", "perceptron(query=margin(b=0.3))", "--pool", "0", "--hold", "0.02"]
    server = Server(quorate, "--positive", "spam", "--negative", "ham", *learner, new=False)
    # Learned from at once, so that no probability is 1, however soon the answers are learned from.
    server.ok("POST", "/v1/examples", [example(n, id=f"gift{n}", label="spam" if is_spam(n) else "ham") for n in range(40)])
    answered = 0
    for n in range(300):
        server.post(n, n + 1)
        if answered < 10 and (question := server.next()["question"]):
            last, answered = question, answered + 1
            server.answer(last)
    put = {"annotator": "ann", "label": None, "source": "a tool", "holder": "bob"}
    assert server.ok("PUT", f"/v1/answers/{last['ticket']}", put)["label"] is None
    server.answer(server.ok("POST", "/v1/next", {"annotator": "bob", "hold": 1})["question"])
    wait_until(lambda: len(server.request("GET", "/v1/labels", raw=True)[1].splitlines()) == 50)  # none is held back any more
    labels = [json.loads(line) for line in server.request("GET", "/v1/labels", raw=True)[1].splitlines()][40:]
    server.stop()
    rows = quorate.ok("journal", "export", "--dir", "desk").lines()
    assert sorted(r["annotator"] for r in rows) == ["ann"] * 9 + ["bob"]
    assert len({r["probability"] for r in rows}) > 1
    in_order = sorted(rows, key=lambda r: r["at"])  # as they were learned from
    assert [r["probability"] for r in in_order] == [label["probability"] for label in labels]


def test_a_decision_is_exported_until_an_answer_changes(quorate):
    server = Server(quorate, "--opinions", "1")
    server.post(0, 1)
    question = server.next("eve")["question"]
    server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": "spam"})
    server.ok("POST", "/v1/answer", {"lease": server.next("bob")["question"]["lease"], "label": "ham"})
    server.ok("POST", "/v1/decide", {"ticket": question["ticket"], "label": "ham"})
    assert [row["settled"] for row in quorate.ok("journal", "export", "--dir", "desk").lines()] == ["ham"] * 2
    server.ok("POST", "/v1/undo", {"annotator": "bob"})
    assert [row["settled"] for row in quorate.ok("journal", "export", "--dir", "desk").lines()] == [None]
    server.stop()


def test_the_export_has_what_was_asked_from_the_pool(quorate):
    server = Server(quorate, "--open-questions", "2", "--learner", "cohort(query=always)")
    server.post(0, 300)
    for _ in range(30):
        server.answer(server.next()["question"])
    server.stop()
    rows = quorate.ok("journal", "export", "--dir", "desk").lines()
    assert len(rows) == 30 and len({r["example"] for r in rows}) == 30
    assert all(r["data"] == example(int(r["example"][1:])) and r["task"] == r["data"]["task"] for r in rows)
    tickets = [r["ticket"] for r in rows]
    taken = rows[-1]["ticket"]  # asked last, and so from the pool
    assert taken == max(tickets)
    quorate.ok("journal", "rebuild", "--dir", "desk", "--out", "without", "--without", taken)
    assert [r["ticket"] for r in quorate.ok("journal", "export", "--dir", "without").lines()] == tickets[:-1]


@pytest.mark.parametrize("classes", ["sport,news,art"])
def test_classes(quorate, classes):
    process = quorate.start("serve", "--dir", "c", "--port", "0", "--classes", classes, "--labels", "60", "--bits", "10")
    server = Server.__new__(Server)
    server.process, server.url = process, process.stdout.readline().decode().strip()
    names = classes.split(",")
    rows = [{"id": f"m{n}", "text": f"{names[n % 3]} word{n % 7}"} for n in range(200)]
    server.ok("POST", "/v1/examples", rows)
    for _ in range(10):
        question = server.next()["question"]
        if question is None:
            break
        assert question["choices"] == names
        server.ok("POST", "/v1/answer", {"lease": question["lease"], "label": names[int(question["example"][1:]) % 3]})
    assert server.status()["labels"]["bought"] > 0
    assert server.ok("POST", "/v1/predict", rows[0])["predictions"][0]["label"] in names
    server.stop()
