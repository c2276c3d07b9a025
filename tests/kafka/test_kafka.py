"""A log in Kafka: the desk copies its journal into a topic, workers follow it there and read their examples from partitions."""
import json
import re
import signal
import subprocess
import time
from collections import Counter

import pytest
from broker import sasl
from driving import Scene, Worker, annotate_all, bytes_of, kafka
from program import GUARD, wait_until
from serving import Server, example, is_spam
from test_work import COHORT, annotate

pytestmark = pytest.mark.check
SERVE = ["serve", "--dir", "desk", "--port", "0", *COHORT, "--labels", "5"]
WORK = ["work", "--data", "-"]
NOWHERE = "kafka://127.0.0.1:1/labels"


def test_two_workers_of_a_group_share_one_budget(scene):
    scene.topics(8)
    server = scene.desk("--labels", "30")
    workers = scene.members("one", "two", to=False)
    for turn in range(16):
        scene.produce(range(turn * 100, turn * 100 + 100))
        annotate(server, 3)
    scene.judged(server, lambda: annotate(server, 3))
    annotate_all(server)

    said = [worker.lines() for worker in workers]
    assert min(map(len, said)) > 0, "both have partitions"
    assert Counter(one["id"] for lines in said for one in lines) == Counter(f"m{n}" for n in range(1600))
    late = [one for lines in said for one in lines if one["position"] >= 150]
    assert sum((one["label"] == "spam") == is_spam(int(one["id"][1:])) for one in late) > 0.95 * len(late)
    status = server.status()
    assert status["labels"]["bought"] == status["labels"]["limit"] == 30
    assert status["workers"]["sources"] == 8
    for worker in workers:
        worker.stop()
    scene.check_counted_once(server)
    scene.check_follower(server, [example(n) for n in range(5000, 5100)])
    scene.check_log(server)
    figures = dict(line.split() for line in bytes_of(server, "/metrics").decode().splitlines() if not line.startswith("#") and " " in line)
    assert figures["quorate_log_topic_records"] == figures["quorate_journal_durable_events"]


def test_predictions_go_to_a_topic_by_the_keys_of_the_examples(scene):
    scene.topics(2)
    server = scene.desk("--labels", "20")
    worker, = scene.members("one")
    scene.produce(range(200))
    scene.broker.produce(scene.emails, [(0, None, json.dumps(example(900)))])
    wait_until(lambda: len(scene.broker.read(scene.scores)) == 201, "all predictions")
    worker.stop()
    assert worker.out.read_bytes() == b""
    keys = {json.loads(value)["id"]: key for key, value in scene.broker.read(scene.scores)}
    assert keys == {f"m{n}": b"m%d" % n for n in range(200)} | {"m900": None}
    server.stop()


def test_a_worker_goes_on_where_its_group_stood(scene):
    scene.topics(2)
    server = scene.desk("--labels", "20")
    for turn in range(2):
        worker, = scene.members("one")
        scene.produce(range(turn * 100, turn * 100 + 100))
        scene.judged(server, lambda: annotate(server, 5))
        worker.stop() if turn == 0 else worker.kill()
    worker, = scene.members("one")
    scene.produce(range(200, 300))
    scene.judged(server)
    worker.stop()
    scene.check_counted_once(server)
    assert scene.predicted().keys() == {f"m{n}" for n in range(300)}


def test_messages_that_expired_are_named_and_the_rest_is_judged(scene):
    scene.topics(1)
    server = scene.desk("--labels", "20")
    worker, = scene.members("one")
    scene.produce(range(100))
    scene.judged(server, lambda: annotate(server, 5))
    worker.stop()
    scene.produce(range(100, 200))
    scene.broker.expire(scene.emails, 0, 150)  # as retention does while no worker runs
    worker, = scene.members("one")
    scene.produce(range(200, 250))
    wait_until(lambda: scene.predicted().keys() >= {f"m{n}" for n in range(150, 250)}, "the predictions of the rest")
    worker.stop()
    assert "/0: messages 100 to 149 were removed before they were read" in worker.said()
    assert not scene.predicted().keys() & {f"m{n}" for n in range(100, 150)}
    scene.check_counted_once(server)


def test_the_log_outlives_the_folder_of_the_desk(scene):
    scene.topics(2)
    server = scene.desk("--labels", "20")
    worker, = scene.members("one")
    scene.produce(range(300))
    scene.judged(server, lambda: annotate(server, 5))
    server = scene.check_restored(server)
    scene.produce(range(300, 400))  # the worker has found the new desk
    scene.judged(server, lambda: annotate(server, 5))
    annotate_all(server)
    assert server.status()["labels"]["bought"] == 20
    worker.stop()
    scene.check_counted_once(server)
    scene.check_follower(server, [example(n) for n in range(5000, 5050)])
    scene.check_log(server)


def test_a_second_desk_fences_the_first(scene):
    server = scene.desk("--labels", "20")
    server.post(0, 60)
    assert annotate(server, 5) == 5
    scene.wait_for_copy(server)
    second = scene.desk(dir="second", new=False)
    try:  # the first one notices when it writes, or before
        server.post(60, 70)
    except (AssertionError, OSError):
        pass
    assert server.process.wait(GUARD) != 0
    said = server.process.stderr.read().decode()
    assert re.search(r"another desk|other desk|fenced|took", said), said
    assert scene.log in said, said
    assert second.status()["labels"]["bought"] >= 5
    second.post(70, 130)
    annotate_all(second)
    assert second.status()["labels"]["bought"] == 20
    scene.check_log(second)


def test_a_desk_with_another_journal_is_refused(scene):
    scene.desk("--labels", "20").stop()
    other = Server(scene.quorate, *COHORT, "--labels", "20", dir="other", new=False)
    other.post(0, 60)
    other.stop()
    refused = scene.quorate("serve", "--dir", "other", "--port", "0", "--log", scene.url)
    assert refused.code != 0 and scene.log in refused.err and re.search(r"another|differ|other", refused.err), refused
    again = scene.desk(new=False)
    again.post(0, 10)
    assert again.status()["examples"] == 10


def test_a_journal_that_the_log_lacks_records_of_is_copied(scene):
    """A desk that began without a log, or whose broker was away when it ended."""
    server = Server(scene.quorate, *COHORT, "--labels", "20", new=False)
    server.post(0, 250)
    annotate_all(server)
    server.stop()
    server = scene.desk(dir="desk", new=False)
    scene.check_log(server)
    scene.check_follower(server, [example(n) for n in range(5000, 5050)])


def test_what_is_forgotten_leaves_the_topics(scene):
    server = scene.desk("--labels", "20", "--keep-journal", "0", "--hold", "0")
    server.ok("POST", "/v1/examples", {"id": "m1000", "task": "ann", "text": "secretword of ann"})
    server.post(0, 60)
    scene.wait_for_copy(server)
    topics = [scene.log + part for part in ("", ".moments", ".events")]
    assert any(b"secretword" in value for topic in topics for _, value in scene.broker.read(topic))
    server.ok("DELETE", "/v1/tasks/ann")
    wait_until(lambda: not any(b"secretword" in value for topic in topics for _, value in scene.broker.read(topic)), "an end of the word")
    server.post(60, 80)
    scene.check_follower(server, [example(n) for n in range(5000, 5050)])
    scene.check_restored(server)


# Errors ----------------------------------------------------------------------------------------------------------------------------------


def test_workers_make_no_topics_and_name_the_missing_one(scene):
    data = scene.quorate.folder / "emails.jsonl"
    data.write_text(json.dumps(example(0)) + "\n")
    refused = scene.quorate("work", "--log", scene.url, "--data", data, "--patience", "2")
    assert refused.code != 0 and scene.log in refused.err, refused
    scene.desk("--labels", "20")
    for more in (["--examples", scene.broker.url("nowhere-emails"), "--group", "g"],
                 ["--data", data, "--to", scene.broker.url("nowhere-scores")]):
        refused = scene.quorate("work", "--log", scene.url, *more, "--patience", "2")
        assert refused.code != 0 and "nowhere-" in refused.err, refused
    assert {scene.log, f"{scene.log}.events"} <= scene.broker.topics()
    assert not any(name.startswith("nowhere") for name in scene.broker.topics())


@pytest.mark.parametrize("command", [SERVE, [*WORK, "--patience", "2"]], ids=["serve", "work"])
def test_an_address_without_a_broker_is_named(quorate, command):
    refused = quorate(*command, "--log", NOWHERE)
    assert refused.code != 0 and "127.0.0.1:1" in refused.err, refused
    assert not (quorate.folder / "desk").exists() or not list((quorate.folder / "desk").glob("snapshot-*"))


@pytest.mark.parametrize(("args", "named"), [
    (["--log", "kafka://127.0.0.1:1"], "kafka://127.0.0.1:1"),
    (["--log", "http://127.0.0.1:1/labels"], "kafka://"),
    (["--log", "kafka://127.0.0.1:1/two/parts"], "two/parts"),
    (["--log", NOWHERE, "--kafka", "no.such.key=1"], "no.such.key"),
    (["--log", NOWHERE, "--kafka", "fetch.min.bytes=many"], "fetch.min.bytes"),
    (["--log", NOWHERE, "--kafka", "linger.ms"], "linger.ms")])
@pytest.mark.parametrize("command", [SERVE, WORK], ids=["serve", "work"])
def test_bad_options_are_named(quorate, command, args, named):
    refused = quorate(*command, *args)
    assert refused.code == 2 and named in refused.err and refused.err.count("\n") <= 2, refused


@pytest.mark.parametrize(("args", "named"), [
    ([], "--log"),
    (["--log", NOWHERE, "--server", "http://127.0.0.1:1"], "--server"),
    (["--log", NOWHERE, "--examples", "kafka://127.0.0.1:1/emails"], "--group"),
    (["--log", NOWHERE, "--data", "-", "--group", "g"], "--group"),
    (["--log", NOWHERE, "--data", "a.jsonl", "--examples", "kafka://127.0.0.1:1/emails", "--group", "g"], "--data")])
def test_options_of_work_that_do_not_go_together_are_named(quorate, args, named):
    refused = quorate("work", *args)
    assert refused.code == 2 and named in refused.err, refused


# TLS and SASL ----------------------------------------------------------------------------------------------------------------------------


def test_scram_works_or_says_which_librdkafka_it_needs(quorate, running_broker):
    """librdkafka before 2.6.1 sends a nonce that brokers of Kafka 4 refuse."""
    scene = Scene(quorate, running_broker, "secure-scram", running_broker.sasl, sasl(running_broker, "SCRAM-SHA-256"))
    said = quorate("work", "--log", scene.url, "--data", "-", "--patience", "2", *scene.options)
    assert "no such topic" in said.err or "expected 2.6.1, or sasl.mechanism=PLAIN" in said.err, said


@pytest.mark.parametrize("mechanism", ["TLS", "PLAIN"])
def test_brokers_with_tls_and_passwords(quorate, running_broker, mechanism):
    broker = running_broker
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(broker.authorities)}
    address, options = (broker.tls, tls) if mechanism == "TLS" else (broker.sasl, sasl(broker, mechanism))
    scene = Scene(quorate, broker, f"secure-{mechanism}", address, options)
    scene.topics(2)
    server = scene.desk("--labels", "10")
    worker, = scene.members("one")
    scene.produce(range(100))
    scene.judged(server)
    annotate_all(server)
    assert server.status()["labels"]["bought"] == 10
    worker.stop()
    assert scene.predicted().keys() == {f"m{n}" for n in range(100)}

    wrong = {"security.protocol": "SSL"} if mechanism == "TLS" else sasl(broker, mechanism, "wrong")
    refused = quorate("work", "--log", scene.url, "--data", "-", "--patience", "2", *kafka(wrong))
    assert refused.code != 0 and address in refused.err, refused
    assert re.search("certificate|authorit" if mechanism == "TLS" else "(?i)authentication|sasl", refused.err), refused
    assert "secret" not in refused.err and "wrong" not in refused.err


def test_a_worker_reads_a_file_and_writes_a_topic(scene):
    scene.topics(1)
    server = scene.desk("--labels", "10")
    data = scene.quorate.folder / "emails.jsonl"
    data.write_text("".join(json.dumps(example(n)) + "\n" for n in range(100)))
    for turn in range(2):
        said = Worker(scene, "--data", data, "--source", "emails", "--to", scene.broker.url(scene.scores)).ended(0)
        assert turn == 0 or "100 lines of emails are judged already" in said
    found = [(key, json.loads(value)) for key, value in scene.broker.read(scene.scores)]
    assert [one["position"] for _, one in found] == list(range(100)) and {key for key, _ in found} == {None}
    assert server.status()["workers"]["examples_of_all"] == 100


def test_a_broker_that_does_not_reply_is_waited_for_aloud_until_an_interrupt(program, tmp_path):
    command = [program, "serve", "--dir", "d", "--positive", "spam", "--negative", "ham", "--log", "kafka://127.0.0.1:1/x", "--port", "0"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    began = time.monotonic()
    said = server.stderr.readline()
    assert time.monotonic() - began < 8
    assert "kafka://127.0.0.1:1" in said and "waits for it up to 10 s" in said
    server.send_signal(signal.SIGINT)
    assert server.wait(5) == 130
    assert "interrupted" in server.stderr.read()
