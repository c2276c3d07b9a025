"""The real Label Studio, from pip in an environment of its own: 50 answers while its webhook fails and the bridge is killed."""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from program import CHECKOUT

from quorate import Client, ServerError

pytestmark = pytest.mark.full

VERSION = "1.23.2"
LEGACY = "0123456789abcdef0123456789abcdef01234567"
ANSWERS = 50


@pytest.fixture(scope="session")
def label_studio() -> Path:
    """The program, installed once (about 1 GB)."""
    folder = CHECKOUT / "build/labelstudio"
    stamp = folder / f"complete-{VERSION}"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", f"label-studio=={VERSION}"], check=True)
        stamp.touch()
    return folder / "bin/label-studio"


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Studio:
    """Label Studio at work, and what its users do by its REST API."""

    def __init__(self, program, folder):
        self.url = f"http://127.0.0.1:{free_port()}"
        folder.mkdir()
        environment = os.environ | {
            "COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
            "SSRF_PROTECTION_ENABLED": "false", "ML_BLOCK_LOCAL_IP": "false", "USE_DEFAULT_BANNED_SUBNETS": "false",
        }  # fmt: skip
        command = [program, "start", "--no-browser", "--port", self.url.rpartition(":")[2], "--username", "ann@example.com",
                   "--password", "secret123", "--user-token", LEGACY, "--enable-legacy-api-token", "--data-dir", folder]  # fmt: skip
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)
        end = time.monotonic() + 600
        while True:
            try:
                urllib.request.urlopen(self.url + "/health", timeout=10).close()
                break
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end, self.log.read_text()[-3000:]
                time.sleep(1)

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Token {LEGACY}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, headers, method=method), timeout=60) as reply:
            text = reply.read()
        return json.loads(text) if text else None

    def tasks(self, project):
        return self.call("GET", f"/api/tasks?project={project}&fields=all&page_size=1000")["tasks"]

    def annotate(self, task, label):
        value = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
        return self.call("POST", f"/api/tasks/{task}/annotations", {"result": [value], "lead_time": 1.5})["id"]

    def close(self):
        self.process.kill()
        self.process.wait()


class Running:
    """The bridge as a program, which can be killed."""

    def __init__(self, server, studio, token, hook, folder):
        self.words = [sys.executable, "-m", "quorate.labelstudio", "--server", server, "--url", studio.url, "--project", "mail", "--json",
                      "--every", "2", "--ahead", "8", "--listen", hook]  # fmt: skip
        self.environment = os.environ | {"LABEL_STUDIO_TOKEN": token}
        self.log = folder / "bridge.log"
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, env=self.environment)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(60)


def wait_for(what, seconds=180):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "in vain"
        time.sleep(0.3)
    return found


def resident(process):
    """MB of a process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def is_spam(text):
    return "win" in text


def test_fifty_answers_while_everything_fails(label_studio, quorate, tmp_path, capsys):
    begin = time.monotonic()
    studio = Studio(label_studio, tmp_path / "studio")
    started = time.monotonic() - begin
    bridge = None
    try:
        process = quorate.start("serve", "--dir", "desk", "--port", "0", "--positive", "spam", "--negative", "ham", "--labels", "80",
                                "--lease", "30", "--audit", "0.1")  # fmt: skip
        server = Client(process.stdout.readline().decode().strip())
        server.post([{"id": f"m{i}", "task": f"t{i % 4}", "text": ("win money now" if i % 2 else "lunch at noon") + f" w{chr(97 + i % 17)}"}
                     for i in range(400)])  # fmt: skip
        personal = studio.call("POST", "/api/token/")["token"]
        hook = f"127.0.0.1:{free_port()}"
        bridge = Running(server.url, studio, personal, hook, tmp_path)
        project = wait_for(lambda: studio.call("GET", "/api/projects?title=mail")["results"])[0]["id"]
        wait_for(lambda: len(studio.tasks(project)) == 8)
        nowhere = "http://127.0.0.1:9/webhook"

        def webhooks():
            return studio.call("GET", f"/api/webhooks/?project={project}")

        draw, labels, skips, met = random.Random(3), {}, 0, set()
        working, waits = time.monotonic(), []

        def open_task():
            waiting = [t for t in studio.tasks(project) if not t["annotations"] and t["id"] not in met]
            return min(waiting, key=lambda t: t["id"]) if waiting else None

        while len(labels) < ANSWERS:
            count = len(labels)
            if count in (12, 30) and bridge.process.poll() is None and ("killed", count) not in met:
                met.add(("killed", count))
                bridge.kill()
                for _ in range(3):  # people go on
                    if task := open_task():
                        met.add(task["id"])
                        labels[studio.annotate(task["id"], "spam" if is_spam(task["data"]["text"]) else "ham")] = task["id"]
                bridge.start()
                continue
            if count == 20 and "broken" not in met:  # nobody listens there; the next start of the bridge registers it anew
                met.add("broken")
                for one in wait_for(webhooks):
                    studio.call("PATCH", f"/api/webhooks/{one['id']}/", {"url": nowhere})
            asked = time.monotonic()
            task = wait_for(open_task)
            waits.append(time.monotonic() - asked)
            met.add(task["id"])
            if skips < 4 and draw.random() < 0.1:
                studio.call("POST", f"/api/tasks/{task['id']}/annotations", {"result": [], "was_cancelled": True})
                skips += 1
                continue
            try:
                labels[studio.annotate(task["id"], "spam" if is_spam(task["data"]["text"]) else "ham")] = task["id"]
            except urllib.error.HTTPError as error:  # an audit whose annotation was deleted: the task is deleted meanwhile
                assert error.code == 404
                continue
            if count % 9 == 5:  # a mistake, mended
                annotation = draw.choice(sorted(labels))
                value = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["spam"]}}
                studio.call("PATCH", f"/api/annotations/{annotation}", {"result": [value]})
            if count % 13 == 6 and ("deleted", count) not in met:  # deleted: the question is there again
                met.add(("deleted", count))
                annotation = draw.choice(sorted(labels))
                studio.call("DELETE", f"/api/annotations/{annotation}")
                met.discard(labels.pop(annotation))
        worked = time.monotonic() - working

        # What Label Studio has, and what the server has, by ticket. An audit keeps its first answer.
        def in_studio():
            out = {}
            for task in studio.tasks(project):
                for annotation in task["annotations"]:
                    if not annotation["was_cancelled"]:
                        assert task["meta"]["quorate"]["ticket"] not in out, "a question in two tasks"
                        out[task["meta"]["quorate"]["ticket"]] = annotation["result"][0]["value"]["choices"][0]
            return out

        def logged():
            return [json.loads(line) for line in bridge.log.read_text().splitlines() if line.startswith("{")]

        def in_server():
            out = {}
            for ticket in range(600):
                try:
                    found = server.answers(ticket)["answers"]
                except ServerError:
                    continue
                assert len(found) <= 1
                out |= {ticket: one["label"] for one in found if one["annotator"] == "ann@example.com"}
            return out

        def agree():
            kept = {e["ticket"] for e in logged() if e["event"] == "refused"}
            left, right = in_studio(), in_server()
            return all(left.get(t) == right.get(t) or t in kept for t in left.keys() | right.keys())

        wait_for(agree)
        found, kept = in_server(), {e["ticket"] for e in logged() if e["event"] == "refused"}
        assert len(in_studio().keys() & found.keys()) == ANSWERS
        assert found.keys() - in_studio().keys() <= kept, "no answer outlives its annotation, unless its change was refused"
        status = server.status()
        (who,) = [one for one in status["annotators"] if one["name"] == "ann@example.com"]
        assert who["answers"] == len(found), "none is counted twice"
        assert status["labels"]["bought"] <= 80
        exported = [json.loads(line) for line in quorate.ok("journal", "export", "--dir", "desk").out.splitlines()]
        assert {(one["ticket"], one["label"]) for one in exported} == set(found.items()) and len(exported) == len(found)
        memory = resident(bridge.process), resident(studio.process), resident(process)
        bridge.kill(signal.SIGTERM)
        assert bridge.process.returncode == 0
        assert [one["url"] for one in webhooks()] == [nowhere], "its own is taken away"
        held = [path for path in [*(tmp_path / "desk").rglob("*"), bridge.log] if path.is_file()]
        assert all(personal.encode() not in path.read_bytes() for path in held)
        backend(studio, server, project, tmp_path)
        with capsys.disabled():
            events = [e["event"] for e in logged()]
            print(f"\nLabel Studio {VERSION}: started in {started:.0f} s; {ANSWERS} answers, {events.count('skip')} skips, "
                  f"{events.count('undo')} taken back, {len(kept)} audits kept in {worked:.0f} s; wait for the next task: median "
                  f"{sorted(waits)[len(waits) // 2]:.2f} s, longest {max(waits):.1f} s; MB resident: bridge {memory[0]}, "
                  f"Label Studio {memory[1]}, server {memory[2]}; {time.monotonic() - begin:.0f} s in all")  # fmt: skip
    except BaseException:
        if bridge is not None:
            print(bridge.log.read_text()[-4000:])
        print(studio.log.read_text()[-2000:])
        raise
    finally:
        if bridge is not None and bridge.process.poll() is None:
            bridge.kill()
        studio.close()


def backend(studio, server, project, folder):
    """Label Studio connects to the program as an ML backend, and asks it for predictions of tasks of its own."""
    address = f"127.0.0.1:{free_port()}"
    words = [sys.executable, "-m", "quorate.labelstudio", "--server", server.url, "--url", studio.url, "--project", str(project),
             "--ml-backend", address]  # fmt: skip
    with open(folder / "backend.log", "wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=os.environ | {"LABEL_STUDIO_TOKEN": LEGACY})
    try:
        wait_for(lambda: b"ML backend" in (folder / "backend.log").read_bytes())
        config = studio.call("GET", f"/api/projects/{project}")["label_config"]
        other = studio.call("POST", "/api/projects", {"title": "own", "label_config": config})["id"]
        studio.call("POST", "/api/ml", {"url": f"http://{address}", "project": other, "title": "quorate"})
        texts = {"win money now": "spam", "lunch at noon": "ham"}
        studio.call("POST", f"/api/projects/{other}/import", [{"data": {"text": text, "task": "t1"}} for text in texts])
        everything = {"selectedItems": {"all": True, "excluded": []}, "project": other, "ordering": []}
        studio.call("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={other}", everything)
        for task in studio.tasks(other):
            (predicted,) = [one for one in task["predictions"] if one["model_version"] == "quorate"][:1]
            assert predicted["result"][0]["value"]["choices"] == [texts[task["data"]["text"]]]
            assert 0.5 <= predicted["score"] <= 1
        assert LEGACY not in (folder / "backend.log").read_text()
    finally:
        process.terminate()
        process.wait(60)
