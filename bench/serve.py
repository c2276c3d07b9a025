"""`quorate serve` under load: predictions, answers, examples a second, beside `vw --daemon` with the same texts; CPU time of the
server a request, from /proc, as the load comes from the same machine. Prints one table.

    serve.py build/release/quorate [--seconds 5] [--minutes 0] [--json OUT]

--minutes: afterwards, load of all kinds for so long, and the resident memory at ten times of it.
The peer needs the Python package vowpalwabbit (bench/requirements.txt); it runs its own daemon.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WORDS = 20_000
LETTERS = str.maketrans("0123456789", "abcdefghij")  # words are runs of letters
TICK = os.sysconf("SC_CLK_TCK")
DAEMON = """
import sys, pylibvw
from vowpalwabbit import pyvw
w = pyvw.Workspace(sys.argv[1])
pylibvw.vw.run_parser(w)
"""


def text(rng: random.Random, size: int = 1000) -> str:
    """About `size` bytes of words, common ones more often."""
    words: list[str] = []
    length = 0
    while length < size:
        word = f"w{int(WORDS ** rng.random())}".translate(LETTERS)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def cpu_of(pid: int) -> float:
    """Seconds of CPU of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Connection:
    """Requests over one connection that stays open."""

    def __init__(self, port: int):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host = b"127.0.0.1:%d" % port
        self.buffer = b""

    def more(self) -> bytes:
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part

    def http(self, request: bytes) -> bytes:
        self.socket.sendall(request.replace(b"HOST", self.host, 1))
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.more()
        head, _, rest = self.buffer.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(rest) < length:
            rest += self.more()
        self.buffer = rest[length:]
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode() + rest[:length].decode())
        return rest[:length]


def http_request(path: str, body: bytes, kind: str = "application/x-ndjson") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: HOST\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def load(pid: int, clients: int, seconds: float, work) -> dict[str, float]:
    """Runs work(client number, stop) in threads; each call yields the number of items of a request. What it took."""
    taken: list[list[float]] = [[] for _ in range(clients)]
    items = [0] * clients
    failures: list[BaseException] = []
    stop = threading.Event()

    def run(n: int) -> None:
        try:
            for done in work(n):
                now = time.perf_counter()
                taken[n].append(now - last[n])
                items[n] += done
                last[n] = time.perf_counter()
                if stop.is_set():
                    return
        except BaseException as error:  # noqa: BLE001  (told below)
            failures.append(error)

    last = [time.perf_counter()] * clients
    threads = [threading.Thread(target=run, args=(n,)) for n in range(clients)]
    cpu, begin = cpu_of(pid), time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    wall, used = time.perf_counter() - begin, cpu_of(pid) - cpu
    if failures:
        raise failures[0]
    print(".", end="", file=sys.stderr, flush=True)
    times = sorted(t for each in taken for t in each)
    return {"per_second": sum(items) / wall, "cpu_us": 1e6 * used / max(1, sum(items)), "p50_ms": 1e3 * times[len(times) // 2],
            "p99_ms": 1e3 * times[int(0.99 * (len(times) - 1))]}  # fmt: skip


class Served:
    def __init__(self, program: str, folder: Path, *more: str):
        command = [program, "serve", "--dir", str(folder), "--port", "0", "--positive", "yes", "--negative", "no", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().strip().rsplit(":", 1)[1])
        self.pid = self.process.pid

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def rows_of(rng: random.Random, first: int, n: int) -> list[dict]:
    return [{"id": f"m{first + i}", "task": f"t{rng.randrange(50)}", "text": text(rng)} for i in range(n)]


def lines_of(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def label_of(body: str) -> str:
    return "yes" if sum(map(len, body.split())) % 2 else "no"


def teach(port: int, rng: random.Random) -> None:
    """A thousand labels, given with their examples."""
    rows = rows_of(rng, 10_000_000, 1000)
    body = lines_of([row | {"label": label_of(row["text"])} for row in rows])
    Connection(port).http(http_request("/v1/examples", body))


def predictions(port: int, rng: random.Random, batch: int):
    requests = [http_request("/v1/predict", lines_of([{"task": row["task"], "text": row["text"]} for row in rows_of(rng, 0, batch)]))
                for _ in range(max(8, 256 // batch))]  # fmt: skip

    def work(_: int):
        connection = Connection(port)
        for n in range(10**9):
            connection.http(requests[n % len(requests)])
            yield batch

    return work


def answers(port: int):
    def work(n: int):
        connection = Connection(port)
        ask = http_request("/v1/next", json.dumps({"annotator": f"a{n}"}).encode(), "application/json")
        while True:
            question = json.loads(connection.http(ask))["question"]
            if question is None:
                raise RuntimeError("no question is left; expected more examples or labels")
            answer = {"lease": question["lease"], "label": "yes" if int(question["example"][1:]) % 2 else "no"}
            connection.http(http_request("/v1/answer", json.dumps(answer).encode(), "application/json"))
            yield 1

    return work


def ingest(port: int, rng: random.Random, batch: int, start: int):
    bodies = [lines_of(rows_of(rng, 0, batch)) for _ in range(4)]
    counter = iter(range(start, 10**9))

    def work(_: int):
        connection = Connection(port)
        while True:
            n = next(counter)
            body = bodies[n % len(bodies)].replace(b'"id": "m', b'"id": "m%d-' % n)  # new ids each time
            connection.http(http_request("/v1/examples", body))
            yield batch

    return work


class Daemon:
    """The peer's, after the same thousand labels."""

    def __init__(self, folder: Path, rng: random.Random):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        teaching = folder / "teach.vw"
        with open(teaching, "w") as out:
            for _ in range(1000):
                body = text(rng)
                out.write(f"{1 if label_of(body) == 'yes' else -1} |t t{rng.randrange(50)} |x {body}\n")
        learn = f"import vowpalwabbit; vowpalwabbit.Workspace('-q tx --loss_function logistic --quiet -d {teaching} -f {folder}/vw.model').finish()"
        subprocess.run([sys.executable, "-c", learn], capture_output=True, check=True)
        command = [sys.executable, "-c", DAEMON, f"--daemon --foreground --num_children 1 --port {self.port} -t -i {folder}/vw.model --quiet"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)  # fmt: skip
        time.sleep(3)
        group = subprocess.run(["pgrep", "-g", str(self.process.pid)], capture_output=True, text=True, check=True).stdout
        self.pid = max(map(int, group.split()))  # it forks one that does the work
        self.requests = [f"|t t{rng.randrange(50)} |x {text(rng)}\n".encode() for _ in range(256)]

    def predictions(self, batch: int):
        def work(_: int):
            connection = Connection(self.port)
            for n in range(10**9):
                first = n * batch % len(self.requests)
                connection.socket.sendall(b"".join((self.requests + self.requests)[first : first + batch]))
                while connection.buffer.count(b"\n") < batch:
                    connection.buffer += connection.more()
                connection.buffer = b""
                yield batch

        return work

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--json", help="the figures as JSON, too")
    parser.add_argument("--smallest", action="store_true", help="a twentieth of a second and a small pool: does it run at all")
    o = parser.parse_args()
    pool = 2000 if o.smallest else 20_000
    if o.smallest:
        o.seconds = 0.05
    rng = random.Random(1)
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Served(o.program, folder / "predict", "--labels", "1000")
        teach(server.port, rng)
        for how, clients, batch in (("1 client, a text a request", 1, 1), ("16 clients, a text a request", 16, 1), ("1 client, 100 texts at a time", 1, 100)):
            rows.append({"what": "predict", "how": how, "program": "quorate"}
                        | load(server.pid, clients, o.seconds, predictions(server.port, rng, batch)))  # fmt: skip
        server.stop()
        daemon = Daemon(folder, rng)
        for how, batch in (("1 client, a text a request", 1), ("1 client, 100 texts at a time", 100)):
            rows.append({"what": "predict", "how": how, "program": "vw --daemon"} | load(daemon.pid, 1, o.seconds, daemon.predictions(batch)))
        daemon.stop()
        for clients in (1, 16, 256):
            server = Served(o.program, folder / f"answers{clients}", "--learner", "cohort(query=always)", "--labels", "1000000", "--pool", str(pool))
            connection = Connection(server.port)
            for first in range(0, pool, 2000):
                small = [{"id": f"m{first + i}", "task": "t", "text": text(rng, 60)} for i in range(2000)]
                connection.http(http_request("/v1/examples", lines_of(small)))
            rows.append({"what": "answers, durable", "how": f"{clients} clients", "program": "quorate"}
                        | load(server.pid, clients, o.seconds, answers(server.port)))  # fmt: skip
            server.stop()
        server = Served(o.program, folder / "ingest", "--labels", "500")
        rows.append({"what": "examples, journalled", "how": "2 clients, 1,000 a request", "program": "quorate"}
                    | load(server.pid, 2, 2 * o.seconds, ingest(server.port, rng, 1000, 0)))  # fmt: skip
        if o.minutes > 0:
            memory = []
            for part in range(10):
                share = 60 * o.minutes / 10
                load(server.pid, 1, share / 2, ingest(server.port, rng, 100, 10**6 * (part + 1)))
                load(server.pid, 1, share / 2, predictions(server.port, rng, 1))
                memory.append(round(resident_mb(server.pid)))
                print(f"{(part + 1) * o.minutes / 10:.0f} minutes: {memory[-1]} MB resident", file=sys.stderr, flush=True)
            rows.append({"what": "resident memory, MB", "how": f"{o.minutes:.0f} minutes of load", "program": "quorate", "mb": memory,
                         "median_mb": statistics.median(memory)})  # fmt: skip
        server.stop()
    print("| what | how | program | a second | CPU each | median | p99 |\n| --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        if "mb" in r:
            print(f"| {r['what']} | {r['how']} | {r['program']} | {', '.join(map(str, r['mb']))} | | | |")
        else:
            print(f"| {r['what']} | {r['how']} | {r['program']} | {r['per_second']:,.0f} | {r['cpu_us']:.0f} us | {r['p50_ms']:.2f} ms | {r['p99_ms']:.2f} ms |")
    if o.json:
        Path(o.json).write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
