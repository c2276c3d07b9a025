"""Desks and workers with a log in Kafka, as the tests drive them."""
import json
import signal
import urllib.error
import urllib.request
from collections import Counter

from program import GUARD, wait_until
from serving import Server, example
from test_work import COHORT, annotate

INTERRUPTED = 130


def kafka(options: dict[str, str]) -> list[str]:
    return [part for key, value in options.items() for part in ("--kafka", f"{key}={value}")]


class Worker:
    """`quorate work`, which writes into files, as nobody reads its pipes meanwhile."""

    def __init__(self, scene, *args):
        number = len(scene.workers)
        self.out, self.err = (scene.quorate.folder / f"{scene.log}-{number}.{pipe}" for pipe in ("out", "err"))
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = scene.quorate.start("work", "--log", scene.url, *args, *scene.options, stdout=out, stderr=err)
        scene.workers.append(self)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.out.read_text().splitlines(True) if line.endswith("\n")]

    def said(self) -> str:
        return self.err.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait(GUARD)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.ended(0, INTERRUPTED, -signal.SIGTERM)  # the last one: it had just been started

    def ended(self, *codes: int) -> str:
        code = self.process.wait(GUARD)
        assert code in codes, (code, self.said())
        return self.said()


class Scene:
    """The topics NAME (the log), NAME.events, NAME-emails and NAME-scores; the last two have `partitions`."""

    def __init__(self, quorate, broker, name: str, address: str | None = None, options: dict[str, str] | None = None):
        self.quorate, self.broker, self.log = quorate, broker, name
        self.address, self.options = address, kafka(options or {})
        self.url = broker.url(name, address)
        self.emails, self.scores = f"{name}-emails", f"{name}-scores"
        self.workers: list[Worker] = []
        self.partitions = self.produced = 0

    def topics(self, partitions: int):
        self.partitions = partitions
        self.broker.create(self.emails, partitions)
        self.broker.create(self.scores, partitions)

    def desk(self, *args, dir=None, new=True) -> Server:
        settings = COHORT if new else []
        return Server(self.quorate, "--log", self.url, *settings, *args, *self.options, dir=dir or self.log, new=False)

    def member(self, name: str | None = None, to: bool = True) -> Worker:
        """One with a name has its partitions again as soon as it is back."""
        more = (["--member", name] if name else []) + (["--to", self.broker.url(self.scores, self.address)] if to else [])
        return Worker(self, "--examples", self.broker.url(self.emails, self.address), "--group", self.log, *more,
                      *kafka({"session.timeout.ms": "6000"}))

    def members(self, *names: str, to: bool = True) -> list[Worker]:
        """Returns when the partitions are theirs."""
        found = [self.member(name, to) for name in names]
        wait_until(lambda: self.joined() == len(names) or any(worker.process.poll() is not None for worker in found), "a group")
        for worker in found:
            assert worker.process.poll() is None, worker.said()
        return found

    def joined(self) -> int:
        return self.broker.members(self.log)

    def produce(self, numbers, made=example):
        """Examples over all partitions; their keys are their ids."""
        messages = [(n % self.partitions, f"m{n}", json.dumps(made(n))) for n in numbers]
        self.broker.produce(self.emails, messages)
        self.produced += len(messages)

    def judged(self, server: Server, annotators=lambda: None):
        """Until the desk knows that all examples are judged."""
        def done():
            annotators()
            return server.status()["workers"]["examples_of_all"] >= self.produced
        wait_until(done, "the judgement of all examples")
        assert server.status()["workers"]["examples_of_all"] == self.produced, "each place counts once"

    # What must hold at the end -----------------------------------------------------------------------------------------------------------

    def predicted(self) -> Counter:
        """How often each example is predicted in the topic of predictions; their keys are those of the examples."""
        found = Counter()
        for key, value in self.broker.read(self.scores):
            said = json.loads(value)
            assert key is not None and key.decode() == said["id"] and isinstance(said["position"], int), (key, said)
            found[said["id"]] += 1
        return found

    def records(self) -> list[tuple[int, bytes]]:
        return [(int(key), value) for key, value in self.broker.read(self.log)]

    def check_log(self, server: Server):
        """The topic has each record of the journal once, in order, and the newest moment names the log."""
        self.wait_for_copy(server)
        heads = [(key, value) for key, value in self.broker.read(self.log + ".moments") if key]
        assert heads and all(json.loads(value)["sequence"] == int(key) for key, value in heads)
        records = self.records()
        first = records[0][0]
        assert [key for key, _ in records] == list(range(first, first + len(records)))
        kept = first_kept(server, first)  # of a desk that began from a moment, the later ones
        copied = b"".join(b"%d %d\n%s\n" % (key, len(value), value) for key, value in records if key >= kept)
        assert copied == log_of(server, kept)

    def check_counted_once(self, server: Server):
        """Each example, in the desk."""
        self.wait_for_copy(server)
        counted = Counter(ids(self.records()))
        assert set(counted.values()) <= {1} and len(counted) == server.status()["examples"]

    def check_follower(self, server: Server, probes: list[dict]) -> list[dict]:
        """A worker that starts now has the desk's model: equal predictions to the last bit. Returns them."""
        path = self.quorate.folder / f"{self.log}-probes.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in probes))
        worker = Worker(self, "--data", path, "--source", f"probes-{len(self.workers)}", "--share-examples", "0")
        worker.ended(0)
        found = [{key: value for key, value in one.items() if key not in {"position", "asked"}} for one in worker.lines()]
        assert found == server.ok("POST", "/v1/predict", path.read_bytes(), type="application/x-ndjson")["predictions"]
        return found

    def check_restored(self, server: Server, dir="restored"):
        """A desk without a folder has the model of the one that ends now, from the log. Returns it, running."""
        kept = server.status()
        self.wait_for_copy(server)
        server.stop()
        other = self.desk(dir=dir, new=False)
        found = other.status()
        for key in ("examples", "labels", "workers", "tasks", "gifts"):
            assert found[key] == kept[key], key
        other.stop()
        assert snapshot(self.quorate, dir) == snapshot(self.quorate, self.log)
        return self.desk(dir=dir, new=False)

    def wait_for_copy(self, server: Server):
        """Until the topic has all records that the journal has, or a moment after them."""
        def ends():
            heads = [int(key) for key, _ in self.broker.read(self.log + ".moments") if key]
            return max([*(key + 1 for key, _ in self.records()), *heads], default=0)
        wait_until(lambda: log_page(server, ends()) == b"", "a copy of all records")


def bytes_of(server: Server, path: str) -> bytes:
    with urllib.request.urlopen(server.url + path, timeout=GUARD) as reply:
        return reply.read()


def moment(server: Server) -> dict:
    return json.loads(bytes_of(server, "/v1/model").partition(b"\n")[0])


def log_page(server: Server, first: int) -> bytes:
    return bytes_of(server, f"/v1/log?from={first}&log={moment(server)['log']}")


def first_kept(server: Server, first: int) -> int:
    try:
        log_page(server, first)
    except urllib.error.HTTPError as gone:
        assert gone.code == 410
        return moment(server)["sequence"]
    return first


def log_of(server: Server, first: int) -> bytes:
    """All records from one on, read page by page."""
    found = b""
    while page := log_page(server, first):
        found += page
        while page:
            head, _, page = page.partition(b"\n")
            sequence, size = map(int, head.split())
            page, first = page[size + 1:], sequence + 1
    return found


def ids(records: list[tuple[int, bytes]]) -> list[str]:
    """Of the examples that the desk counted: those of which a record has a new id."""
    found = []
    for _, record in records:
        head, *lines = record.splitlines()
        new = json.loads(head).get("was", {}).get("ids", [])
        found += [json.loads(line)["id"] for line, known in zip(lines, new, strict=False) if known is not None]
    return found


def annotate_all(server: Server):
    while annotate(server, 100):
        pass


def snapshot(quorate, dir: str) -> tuple[str, bytes]:
    """The newest one that a desk left: its name has its place in the log."""
    path = max((quorate.folder / dir).glob("snapshot-*.model"))
    return path.name, path.read_bytes()
