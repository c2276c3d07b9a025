"""quorate.Client against the real server."""
import asyncio
import json
import random
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from program import GUARD, reserved_port
from quorate import AsyncClient, Client, ServerError
from served import PROGRAM, Running, label, rows


@pytest.fixture
def server(tmp_path):
    running = Running(tmp_path)
    yield running
    running.stop()


def test_a_program_posts_answers_and_predicts(server):
    client = Client(server.url)
    assert any(found["asked"] for found in client.post(rows(0, 20)))
    answered = 0
    while (question := client.next("eve")) is not None:
        assert client.answer(question, label(question), 1.5)["saved"]
        answered += 1
    assert answered >= 5 and client.status()["labels"]["bought"] == answered
    assert [p["label"] for p in client.predict(rows(0, 2))] == ["ham", "spam"]
    undone = client.undo("eve")
    assert client.answer(undone["question"], undone["undone"]["label"])["labels"]["bought"] == answered
    client.set_limit(answered)
    assert client.status()["labels"]["limit"] == answered
    assert client.forget_example("m1")["forgotten"]["example"] == "m1"
    assert client.forget_task("ann")["forgotten"]["task"] == "ann"
    with pytest.raises(ServerError, match="no example of it was posted") as error:
        client.forget_task("ann")
    assert error.value.status == 404


def test_what_was_sent_twice_counts_once(server):
    client = Client(server.url)
    client.post(rows(0, 5))
    assert all(found["known"] for found in client.post(rows(0, 5)))
    question = client.next("eve")
    client.answer(question, label(question))
    client.answer(question, label(question))
    assert client.status()["labels"]["bought"] == 1
    with pytest.raises(ValueError, match="expected an id"):
        client.post([{"text": "no id"}])
    assert client.post([]) == [] and client.predict([]) == []


@pytest.fixture
def port():
    with reserved_port() as port:
        yield port


def test_a_restart_of_the_server_goes_unnoticed(tmp_path, port, monkeypatch):
    running = Running(tmp_path, port)
    client = Client(running.url)
    client.post(rows(0, 5))
    running.stop(signal.SIGKILL)
    with pytest.raises(ConnectionError, match=str(port)):
        Client(running.url, patience=0.2).status()

    refused = threading.Event()

    def wait(seconds):
        refused.set()
        time.sleep(seconds)

    monkeypatch.setattr("quorate.client.time", SimpleNamespace(monotonic=time.monotonic, sleep=wait))

    async def both():
        posted = asyncio.create_task(AsyncClient(running.url, patience=GUARD).post(rows(0, 8)))
        assert await asyncio.to_thread(refused.wait, GUARD)
        again = await asyncio.to_thread(Running, tmp_path, port)
        return again, await posted

    # In a thread of its own: while a browser is open (tests of the page), Playwright's loop runs in this one.
    with ThreadPoolExecutor(1) as thread:
        running, found = thread.submit(lambda: asyncio.run(both())).result()
    assert [row.get("known", False) for row in found] == [True] * 5 + [False] * 3
    running.stop()


@pytest.mark.full
def test_fifty_kills_lose_and_double_nothing(tmp_path, port):
    url, done, posted, answered = f"http://127.0.0.1:{port}", threading.Event(), [0], []

    def by_chance(question):  # so that no question ever becomes too sure to be asked
        return "spam" if hash(question["example"]) % 2 else "ham"

    def post():
        client = Client(url)
        while not done.wait(0.01):
            assert len(client.post(rows(posted[0], posted[0] + 7))) == 7
            posted[0] += 7

    def annotate(name):
        client = Client(url)
        while not done.is_set():
            if question := client.next(name):
                client.answer(question, by_chance(question))
                answered.append((question["example"], name, by_chance(question)))
            else:
                time.sleep(0.01)

    async def annotate_async(name):
        client = AsyncClient(url)
        while not done.is_set():
            if question := await client.next(name):
                await client.answer(question, by_chance(question))
                answered.append((question["example"], name, by_chance(question)))
            else:
                await asyncio.sleep(0.01)

    rng = random.Random(35)
    running = Running(tmp_path, port, new=("--labels", "1000000", "--learner", "cohort(query=always)"))
    with ThreadPoolExecutor(4) as threads:
        work = [threads.submit(post), threads.submit(annotate, "ann"), threads.submit(annotate, "bob"),
                threads.submit(lambda: asyncio.run(annotate_async("eve")))]  # fmt: skip
        try:
            for _ in range(50):
                enough = len(answered) + rng.randrange(40)
                while len(answered) < enough and not any(one.done() for one in work):
                    time.sleep(0.001)
                running.stop(signal.SIGKILL)
                running = Running(tmp_path, port)
        finally:
            done.set()
        for one in work:
            one.result()
    status = Client(url).status()
    running.stop()
    assert status["examples"] == posted[0]
    exported = subprocess.run([PROGRAM, "journal", "export", "--dir", tmp_path / "desk"], check=True, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in exported.splitlines()]
    assert sorted((one["example"], one["annotator"], one["label"]) for one in found) == sorted(answered)
    assert len({one["example"] for one in found}) == len(found) == status["labels"]["bought"]
    print(f"{posted[0]} examples, {len(found)} answers")


def test_an_address_is_checked():
    with pytest.raises(ValueError, match="expected one that begins with http"):
        Client("127.0.0.1:8717")
