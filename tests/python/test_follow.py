"""quorate.follow against the real server: the same model in this process, one label budget, nothing lost."""
import signal
import threading
import time

import pytest

import quorate
from program import GUARD, reserved_port
from quorate import Client
from served import Running, label, rows


@pytest.fixture
def server(tmp_path):
    running = Running(tmp_path)
    yield running
    running.stop()


def answer_all(client):
    answered = 0
    while (question := client.next("eve")) is not None:
        client.answer(question, label(question))
        answered += 1
    return answered


def wait_for(condition):
    end = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_follower_asks_learns_and_predicts_as_the_server_does(server):
    client = Client(server.url)
    with quorate.follow(server.url, source="part 1") as follower:
        said = follower.decide(rows(0, 60))
        assert [one["id"] for one in said] == [f"m{n}" for n in range(60)] and any(one["asked"] for one in said)
        assert follower.position == 60
        wait_for(lambda: client.status()["examples"] > 0)
        answered = answer_all(client)
        assert answered > 0
        wait_for(lambda: follower.labels == answered)
        assert follower.predict(rows(60, 80)) == client.predict(rows(60, 80))
        assert [one["label"] for one in follower.decide(rows(60, 62))] == ["ham", "spam"]
    assert client.status()["workers"]["examples_of_all"] == 62
    assert quorate.follow(server.url, source="part 1").position == 62, "another run goes on there"


def test_followers_never_exceed_the_budget(server):
    client = Client(server.url)
    followers = [quorate.follow(server.url, source=f"part {n}") for n in range(3)]

    def judge(n):
        for begin in range(1000 * n, 1000 * n + 200, 20):
            followers[n].decide(rows(begin, begin + 20))

    threads = [threading.Thread(target=judge, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        answer_all(client)
    for follower in followers:
        follower.close()
    answer_all(client)
    status = client.status()
    assert status["labels"]["bought"] <= 20 and status["workers"]["examples_of_all"] == 600


def test_predictions_go_on_while_the_server_is_away(tmp_path):
    with reserved_port() as port:
        server = Running(tmp_path, port)
        follower = quorate.follow(server.url, source="a", queue=10)
        follower.decide(rows(0, 20))
        server.stop(signal.SIGKILL)
        said = follower.decide(rows(20, 320))
        assert len(said) == 300 and follower.waiting <= 300
        follower.decide(rows(320, 321))
        assert follower.waiting <= 10, "what has no question is given up"
        server = Running(tmp_path, port)
        follower.close()
        assert Client(server.url).status()["workers"]["examples_of_all"] == 321
        server.stop()


def test_what_cannot_be_judged_or_followed_is_said(server):
    with pytest.raises(ValueError, match="1 to 100 bytes"):
        quorate.follow(server.url, source="x" * 101)
    with quorate.follow(server.url) as follower:
        (said,) = follower.decide([{"id": "a", "text": 1, "label": "neither"}])
        assert "error" in said
        assert follower.decide([]) == [] and follower.predict([]) == []
    with reserved_port() as port, pytest.raises(ConnectionError):
        quorate.follow(f"http://127.0.0.1:{port}", patience=0.2)


def test_classes_are_judged(tmp_path):
    server = Running(tmp_path, labels=("--classes", "art,sport"))
    with quorate.follow(server.url) as follower:
        said = follower.decide([{"id": str(n), "task": "ann", "text": "oil paint"} for n in range(5)])
        assert all(one["label"] in ("art", "sport") and "margin" in one for one in said) and any(one["asked"] for one in said)
    server.stop()
