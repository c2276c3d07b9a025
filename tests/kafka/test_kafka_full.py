"""A log in Kafka under load: programs and the broker are killed, the broker is away for minutes, more is asked than may be bought."""
import http.client
import json
import os
import random
import re
import signal
import statistics
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise, product

import pytest
from driving import Scene, Worker, annotate_all
from program import GUARD, cpu_seconds, wait_until
from serving import Server, is_spam
from test_work import annotate, figures_of

pytestmark = pytest.mark.full

KILLS = int(os.environ.get("QUORATE_KAFKA_KILLS", "100"))
AWAY = float(os.environ.get("QUORATE_KAFKA_AWAY", "180"))  # seconds; more than a transaction may take, which is 60
TURNS, BUDGET = 100, 200


def email(number: int) -> dict:
    """Of 20 users; its words are those of its class three times in four, so that even the best model errs."""
    draw = random.Random(number)
    words = (draw.randrange(30) + 30 * (is_spam(number) == (draw.random() < 0.75)) for _ in range(6))
    text = " ".join(f"w{chr(ord('a') + n // 10)}{chr(ord('a') + n % 10)}" for n in words)
    return {"id": f"m{number}", "task": f"t{number % 20}", "text": text}


PROBES = [email(n) for n in range(1_000_000, 1_003_000)]


def accuracy(said: list[dict]) -> float:
    return statistics.fmean((one["label"] == "spam") == is_spam(int(one["id"][1:])) for one in said)


def answered(server: Server, most: int) -> set[str]:
    """Examples whose answer the desk has acknowledged."""
    found = set()
    while len(found) < most and (question := server.next()["question"]) is not None:
        server.answer(question)
        found.add(question["example"])
    return found


def labels(server: Server) -> list[dict]:
    """Those bought; not those that came with the data."""
    found = map(json.loads, server.request("GET", "/v1/labels?most=100000", raw=True)[1].splitlines())
    return [row for row in found if row["annotator"]]


class Run:
    """Turns of a stream, each of which is answered; with kills, a program dies in each, and sometimes the broker."""

    def __init__(self, scene: Scene, kills: int):
        self.scene, self.draw = scene, random.Random(1)
        self.acknowledged: set[str] = set()
        scene.topics(8)
        self.server = scene.desk("--labels", str(BUDGET))
        names = ["one", "two", "three"]
        self.working: dict[str | None, Worker] = dict(zip(names, scene.members(*names), strict=True))
        for turn in range(max(TURNS, kills)):
            scene.produce(range(turn * 200, turn * 200 + 200), email)
            self.acknowledged |= answered(self.server, 3)
            if turn < kills:
                self.kill_one()
                if turn % 20 == 10:
                    self.working[None] = scene.member()  # joins, is killed as the others are, and leaves
                if turn % 20 == 17:
                    self.working.pop(None).stop()
                if turn % 33 == 25:
                    scene.broker.kill()
                    scene.broker.start()
        scene.judged(self.server, lambda: annotate(self.server, 3))
        annotate_all(self.server)

    def kill_one(self):
        victim = self.draw.choice(["desk", *self.working])
        time.sleep(0.2 * self.draw.random())
        if victim == "desk":
            self.server.stop(signal.SIGKILL)
            self.server = self.scene.desk(new=False)
        else:
            self.working[victim].kill()
            self.working[victim] = self.scene.member(victim)

    def end(self) -> float:
        for worker in self.working.values():
            worker.stop()
        return accuracy(self.scene.check_follower(self.server, PROBES))


def test_kills_lose_and_double_nothing(quorate, broker):
    run = Run(Scene(quorate, broker, "killed"), KILLS)
    scene, server = run.scene, run.server
    status = server.status()
    assert status["labels"]["bought"] == BUDGET and status["open_questions"] == 0
    examples = [row["example"] for row in labels(server)]
    assert len(examples) == len(set(examples)) == BUDGET
    assert run.acknowledged <= set(examples), "no answer that was acknowledged is lost"
    disturbed = run.end()
    assert scene.predicted().keys() == {f"m{n}" for n in range(scene.produced)}
    scene.check_counted_once(server)
    scene.check_log(server)
    scene.check_restored(server).stop()

    calm = []
    for n in range(3):
        other = Run(Scene(quorate, broker, f"calm-{n}"), 0)
        assert set(other.scene.predicted().values()) == {1}, "without kills nothing is predicted twice"
        calm.append(other.end())
        other.server.stop()
    mean, sampling = statistics.fmean(calm), (disturbed * (1 - disturbed) / len(PROBES)) ** 0.5
    print(f"accuracy after {KILLS} kills {disturbed:.4f}, without {', '.join(f'{one:.4f}' for one in calm)}")
    assert disturbed > mean - 2 * max(statistics.stdev(calm), sampling)


def test_a_broker_that_is_away_for_minutes(quorate, broker):
    scene = Scene(quorate, broker, "away")
    scene.topics(4)
    server = scene.desk("--labels", "100")
    workers = scene.members("one", "two")
    scene.produce(range(2000), email)
    scene.judged(server, lambda: annotate(server, 2) if server.status()["labels"]["bought"] < 50 else None)
    piped = Worker(scene, "--source", "pipe")  # its predictions go on
    judge(scene, piped, range(100_000, 100_050))
    scene.judged(server)

    broker.kill()
    began, before = time.monotonic(), server.status()["labels"]["bought"]
    person = threading.Thread(target=annotate, args=(server, 20))  # answers now, or waits for the broker: as the desk likes
    person.start()
    judge(scene, piped, range(100_050, 100_150))
    while time.monotonic() - began < AWAY:
        assert all(one.process.poll() is None for one in (server, piped, *workers))
        assert server.status()["labels"]["limit"] == 100
        time.sleep(1)
    broker.start()
    person.join(GUARD)
    assert not person.is_alive()

    scene.produce(range(2000, 4000), email)
    scene.judged(server, lambda: annotate(server, 2))
    annotate_all(server)
    assert before <= server.status()["labels"]["bought"] == 100
    piped.process.stdin.close()
    piped.ended(0)
    for worker in workers:
        worker.stop()
    assert scene.predicted().keys() == {f"m{n}" for n in range(4000)}
    scene.check_counted_once(server)
    scene.check_follower(server, PROBES[:200])
    scene.check_log(server)
    scene.check_restored(server).stop()


def judge(scene, worker, numbers):
    """Gives lines to a worker that reads a pipe; returns when it has predicted them."""
    worker.process.stdin.write("".join(json.dumps(email(n)) + "\n" for n in numbers).encode())
    worker.process.stdin.flush()
    scene.produced += len(numbers)
    wait_until(lambda: worker.lines() and worker.lines()[-1]["id"] == f"m{numbers[-1]}", "predictions")


@pytest.mark.parametrize(("limits", "budget"), [
    (["--labels", "100"], 100), (["--labels", "100/day"], 100), (["--labels-per-task", "5"], 100),
    (["--labels", "90", "--labels-per-task", "5"], 90)], ids=["total", "rate", "per-task", "both"])
def test_a_backlog_with_ten_times_more_questions_than_labels(scene, limits, budget):
    """The desk stands still while a dozen workers judge: none can know what the others ask."""
    scene.topics(12)
    server = scene.desk(*limits, "--open-questions", "5000")
    workers = scene.members(*(f"w{n}" for n in range(12)))
    scene.produce(range(12), lambda n: email(n) | {"label": "spam" if is_spam(n) else "ham"})  # makes each source known, and asks nothing
    scene.judged(server)
    assert server.status()["labels"]["bought"] == 0 and server.status()["gifts"] == 12

    server.process.send_signal(signal.SIGSTOP)
    scene.produce(range(12, 6000), email)
    try:
        wait_until(lambda: len(scene.broker.read(scene.scores)) == 6000, "all predictions")
    finally:
        server.process.send_signal(signal.SIGCONT)
    asked = sum(json.loads(value)["asked"] for _, value in scene.broker.read(scene.scores))
    assert asked >= 10 * budget, asked
    scene.judged(server)
    assert server.status()["open_questions"] == budget
    annotate_all(server)
    bought = server.status()["labels"]["bought"]
    tasks = Counter(row["task"] for row in labels(server))
    assert sum(tasks.values()) == bought
    # A rate has counted the questions that are withdrawn when the model became certain of them; others are asked instead.
    assert bought <= budget if "100/day" in limits else bought == budget
    if "--labels-per-task" in limits:
        assert max(tasks.values()) == 5, tasks
    for worker in workers:
        worker.stop()
    scene.check_counted_once(server)
    scene.check_follower(server, PROBES[:200])
    scene.check_log(server)
    server.stop()


# Load ------------------------------------------------------------------------------------------------------------------------------------

RATE = int(os.environ.get("QUORATE_KAFKA_RATE", "1000"))  # examples of the stream, a second
ANSWERS, SECONDS, BEHIND, WINDOW = 333, 30, 10_000, 10  # answers a second, for so long; records; seconds that are compared
WORDS = ["".join(letters) for letters in product("abcdefghij", repeat=4)]


@contextmanager
def stream(scene: Scene):
    """RATE emails of 60 words a second, of 100 users, meanwhile."""
    draw, stopped = random.Random(1), threading.Event()
    texts = [" ".join(WORDS[draw.randrange(5000) + 5000 * (is_spam(n) == (draw.random() < 0.6))] for _ in range(60)) for n in range(2001)]

    def run():
        producer, began = scene.broker.producer(), time.monotonic()
        while not stopped.wait(0.01):
            for n in range(scene.produced, int(RATE * (time.monotonic() - began))):
                line = f'{{"id":"m{n}","task":"t{n % 100}","text":"{texts[n % 2001]}"}}'
                producer.produce(scene.emails, line, f"m{n}", n % scene.partitions)
                scene.produced = n + 1
            producer.poll(0)
        assert producer.flush(GUARD) == 0

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(GUARD)


def people(server: Server, seconds: float, count: int = 32) -> int:
    """They give up to ANSWERS a second. Returns how many."""
    end = time.monotonic() + seconds

    def person(me: int) -> int:
        connection, given = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=GUARD), 0

        def post(path: str, body: dict) -> dict:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())

        while (left := end - time.monotonic()) > 0:
            if given >= (seconds - left) * ANSWERS / count:
                time.sleep(0.002)
            elif question := post("/v1/next", {"annotator": f"a{me}"})["question"]:
                number = int(question["example"][1:])  # two answers in seven are wrong, so the model stays uncertain, and asks on
                label = "spam" if is_spam(number) == (number % 7 > 1) else "ham"
                post("/v1/answer", {"lease": question["lease"], "label": label})
                given += 1
        return given

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(person, range(count)))


def check_throughput(scene: Scene, partitions: set[int], moments: dict[str, float]):
    """After each moment: the share of what arrives that is predicted, first predictions alone, and the longest pause."""
    first: dict[bytes, float] = {}
    for key, at in scene.broker.read(scene.scores, lambda message: message.timestamp()[1] / 1000):
        first[key] = min(at, first.get(key, at))
    for name, begin in moments.items():
        pause, count = 0.0, 0
        for n in partitions:
            seen = sorted(at for key, at in first.items() if int(key[1:]) % scene.partitions == n and begin <= at < begin + WINDOW)
            pause = max(pause, *(after - before for before, after in pairwise([begin, *seen, begin + WINDOW])))
            count += len(seen)
        share = count / (WINDOW * RATE * len(partitions) / scene.partitions)
        print(f"{name}: {share:.0%} of {RATE} examples a second, longest pause {pause:.2f} s; load {os.getloadavg()[0]:.1f}")
        assert share >= 0.8 and pause < 3, name


def test_learning_from_333_answers_a_second_and_a_worker_that_is_10000_records_behind(scene):
    scene.topics(12)
    server = scene.desk("--positive", "spam", "--negative", "ham", "--learner", "cohort(query=always)", "--labels", "100000", new=False)
    scene.members("one")
    learning = Worker(scene, "--source", "none", "--metrics-port", "0")  # its pipe stays empty
    url = wait_until(lambda: re.search(r"(http\S+)/metrics", learning.said()), "an address").group(1)
    with stream(scene):
        time.sleep(5)
        used, known = [cpu_seconds(one.process) for one in (learning, server)], server.status()["examples"]
        answers = people(server, SECONDS)
        used = [(cpu_seconds(one.process) - was) / SECONDS for one, was in zip((learning, server), used, strict=True)]
        known = server.status()["examples"] - known
        print(f"{answers / SECONDS:.0f} answers and {known / SECONDS:.0f} examples a second in the log; learning takes {used[0]:.1%} of a "
              f"core, the desk {used[1]:.1%}; load {os.getloadavg()[0]:.1f}")
        assert used[0] <= 0.6

        begin, known, answers = figures_of(url)["quorate_work_log_record"], server.status()["examples"], 0
        learning.process.send_signal(signal.SIGSTOP)
        while (end := figures_of(server.url)["quorate_journal_durable_events"]) < begin + BEHIND:
            answers += people(server, 5)
        known, moments = server.status()["examples"] - known, {"alone": time.time()}
        time.sleep(WINDOW)
        began, cpu, moments["another follows"] = time.monotonic(), cpu_seconds(learning.process), time.time()
        learning.process.send_signal(signal.SIGCONT)
        wait_until(lambda: figures_of(url)["quorate_work_log_record"] >= end, "the end of the log")
        print(f"{end - begin:.0f} records, {answers} answers, {known} examples behind: caught up in {time.monotonic() - began:.1f} s, "
              f"{cpu_seconds(learning.process) - cpu:.2f} s of CPU; load {os.getloadavg()[0]:.1f}")
        time.sleep(WINDOW)
    check_throughput(scene, set(range(12)), moments)


def test_others_go_on_while_a_worker_joins_and_leaves(scene):
    scene.topics(12)
    server = scene.desk("--labels", "100")
    scene.members("one", "two")
    with stream(scene):
        time.sleep(5)
        moments = {"two workers": time.time()}
        time.sleep(WINDOW)
        moments["a third joins"] = time.time()
        third = scene.member()
        wait_until(lambda: scene.joined() == 3, "a group of three")
        found = scene.broker.admin.describe_consumer_groups([scene.log])[scene.log].result(GUARD).members
        others = {part.partition for one in found if one.group_instance_id for part in one.assignment.topic_partitions}
        time.sleep(WINDOW)
        moments["it leaves"] = time.time()
        third.stop()
        time.sleep(WINDOW)
    scene.judged(server)
    check_throughput(scene, others, moments)
    print(f"predicted twice: {len(scene.broker.read(scene.scores)) - scene.produced}")
