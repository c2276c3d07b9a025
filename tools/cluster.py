"""`./run cluster`: many machines as programs on this one: a Kafka broker, a desk, workers, people who answer, a stream of messages."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from cluster_stream import RECENT, Desk, Failed, Stream
from kafka_broker import GUARD, VERSION, Broker, Unavailable, jars

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("QUORATE") or ROOT / "build/release/quorate").resolve()
STALLED = 60  # seconds in which nothing moves
PEOPLE = ("ann", "bob", "carl")
BEGAN = time.monotonic()


class Programs:
    """The desk, the workers, and this program's own threads."""

    def __init__(self, folder: Path):
        self.folder, self.stopped = folder, threading.Event()
        self.running: dict[str, subprocess.Popen] = {}
        self.threads: list[threading.Thread] = []
        self.failed: list[str] = []
        self.cpu = 0.0  # seconds, of the killed

    def start(self, name: str, *args) -> subprocess.Popen:
        """Ends with this program, however that is. In a session of its own, so that Ctrl-C reaches this program alone."""
        command = ["setpriv", "--pdeathsig", "KILL", PROGRAM, *map(str, args)]
        with open(self.folder / f"{name}.err", "ab") as errors:
            self.running[name] = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                  stderr=errors, start_new_session=True)
        return self.running[name]

    def meanwhile(self, work, *args) -> None:
        def run() -> None:
            try:
                work(*args, self.stopped)
            except Exception as error:  # the main thread reports it
                self.failed.append(f"{work.__name__}: {type(error).__name__}: {error}")
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def check(self, *more: str) -> None:
        """Throws with all that is known if something has failed."""
        ended = [f"{name} ended with {process.returncode}" for name, process in self.running.items() if process.poll() is not None]
        if problems := [*self.failed, *ended, *more]:
            said = [f"{path.stem} said: {path.read_text()[-500:].strip()}" for path in sorted(self.folder.glob("*.err"))]
            raise Failed("\n".join(problems + said))

    def used(self, name: str) -> float:
        """CPU seconds."""
        after_name = Path(f"/proc/{self.running[name].pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self, name: str) -> None:
        self.cpu += self.used(name)
        process = self.running.pop(name)
        process.kill()
        process.wait(GUARD)

    def close(self) -> None:
        self.stopped.set()
        for process in self.running.values():
            process.kill()
            process.wait(GUARD)
        for thread in self.threads:
            thread.join(2)


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


def run(o: argparse.Namespace, ending: ExitStack) -> None:
    say(f"Kafka {VERSION} from Maven Central (fetched the first time)")
    jars()
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=ROOT / "build"))
    ending.callback(shutil.rmtree, folder)
    broker = Broker(folder)
    ending.callback(broker.close)
    broker.start()
    partitions = 4 * o.workers
    for topic in ("emails", "scores"):
        broker.create(topic, partitions)
    say(f"broker ready at {broker.address}: topics emails and scores, {partitions} partitions each")

    programs = Programs(folder)
    ending.callback(programs.close)
    desk = programs.start("desk", "serve", "--dir", "desk", "--port", 0, "--log", broker.url("spam"), "--positive", "spam",
                          "--negative", "ham", "--labels", o.labels, "--prompt", "Is this message spam?")
    url = desk.stdout.readline().decode().strip()
    programs.check(*([] if url else ["no desk"]))
    say(f"desk ready: {url}/team")

    def work(name: str) -> None:
        programs.start(name, "work", "--log", broker.url("spam"), "--examples", broker.url("emails"), "--group", "judges",
                       "--to", broker.url("scores"), "--member", name, "--kafka", "session.timeout.ms=6000")

    names = [f"worker-{n + 1}" for n in range(o.workers)]
    for name in names:
        work(name)
    end = time.monotonic() + STALLED
    while broker.members("judges") < o.workers:
        programs.check(*(["the workers share no partitions"] if time.monotonic() > end else []))
        time.sleep(0.05)
    say(f"workers ready: {o.workers}, which share the partitions; now {o.messages:,} messages of {o.users:,} users")

    stream, desk = Stream(broker, partitions, o.messages, o.users), Desk(url)
    programs.meanwhile(stream.follow)
    programs.meanwhile(stream.send)
    for person in PEOPLE:
        programs.meanwhile(stream.answer, url, person)
    watch(o, stream, desk, programs, names, work)
    if o.keep:
        print(f"Open {url} to label, {url}/team to watch; Ctrl-C ends it.", flush=True)
        try:
            while True:
                time.sleep(1)
                programs.check()
        except KeyboardInterrupt:
            pass


def watch(o, stream: Stream, desk: Desk, programs: Programs, names: list[str], work) -> None:
    """A line each second until all messages are judged; kills a worker meanwhile."""
    began = last = moved = time.monotonic()
    kill, absent, seen, before, lag = o.kill, "", 0, None, o.messages
    print(f"\n{'':7}{'messages':>12}{'predictions':>13}{'examples':>10}{'not yet':>11}{'labels of':>11}{'accuracy of':>13}")
    print(f"{'seconds':>7}{'produced':>12}{'read':>13}{'a second':>10}{'judged':>11}{o.labels:>11,}{f'last {RECENT:,}':>13}")
    while absent or lag > 0 or stream.judged < o.messages:
        while time.monotonic() < last + 1 and not (kill and 3 * stream.judged >= o.messages):
            time.sleep(0.02)
        programs.check()
        found, now, read = desk.ask("GET", "/v1/status"), time.monotonic(), stream.read
        judged, labels = found["workers"]["examples_of_all"], found["labels"]["bought"]
        lag = o.messages - judged
        print(f"{now - began:7.1f}{stream.sent:12,}{read:13,}{(read - seen) / (now - last):10,.0f}{max(0, stream.sent - judged):11,}"
              f"{labels:11,}{stream.accuracy():11.1f} %", flush=True)
        if before != (before := (stream.sent, read, judged)):
            moved = now
        elif now - moved > STALLED:
            programs.check("nothing moves")
        seen, last = read, now
        if absent:
            work(absent)
            print(f"        {absent} is started again", flush=True)
            absent = ""
        elif kill and 3 * stream.judged >= o.messages:
            kill, absent = False, names[-1]
            programs.kill(absent)
            print(f"        {absent} is killed (kill -9)", flush=True)
    if lag < 0:
        raise Failed(f"the desk has counted {-lag:,} messages twice")
    took, cpu = last - began, programs.cpu + sum(map(programs.used, names))
    print(f"\n{o.messages:,} messages in {took:.1f} s: {o.messages / took:,.0f} examples a second by {o.workers} workers, "
          f"{1e6 * cpu / o.messages:.0f} microseconds of their CPUs for each.\n"
          f"Accuracy of the last {len(stream.right):,} predictions: {stream.accuracy():.1f} %. Labels: {labels:,} of {o.labels:,}. "
          f"Lag: {lag}.\n"
          f"The desk has counted each message once; {stream.read - stream.judged:,} were predicted twice.", flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run cluster", description="Show on one machine how many machines judge a stream together.")
    parser.add_argument("--messages", type=int, default=1_000_000, help="length of the stream (default: 1000000)")
    parser.add_argument("--users", type=int, default=10_000, help="users, each a task (default: 10000)")
    parser.add_argument("--workers", type=int, default=3, help="workers (default: 3)")
    parser.add_argument("--labels", type=int, default=2000, help="label budget (default: 2000)")
    parser.add_argument("--kill", action=argparse.BooleanOptionalAction, default=True, help="kill a worker after a third of the messages")
    parser.add_argument("--keep", action="store_true", help="leave all running until Ctrl-C")
    o = parser.parse_args()
    if min(o.messages, o.users, o.workers, o.labels) < 1:
        parser.error("expected numbers of at least 1")
    return o


def main() -> int:
    o, ending = options(), ExitStack()
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in ends:
        signal.signal(number, signal.default_int_handler)
    try:
        run(o, ending)
        return 0
    except KeyboardInterrupt:
        return 130
    except (Failed, Unavailable, RuntimeError, OSError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    finally:
        for number in ends:  # nothing interrupts the end
            signal.signal(number, signal.SIG_IGN)
        ending.close()


if __name__ == "__main__":
    sys.exit(main())
