"""quorate labelstudio: a real server, and a stand-in for Label Studio that fails where it is told to."""
import base64
import io
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from fake_label_studio import PERSONAL, TOKEN, FakeLabelStudio
from program import CHECKOUT, GUARD, reserved_port, wait_until

from quorate import Client, ServerError
from quorate.labelstudio import Bridge, Form, Listener, Log, SetupError, main
from quorate.labelstudio import LabelStudio as Studio
from quorate.labelstudio.form import image


def rows(begin, end):
    return [
        {"id": f"m{i}", "task": f"t{i % 3}", "text": ("win money now" if i % 2 else "lunch at noon") + f" w{chr(97 + i % 7)}"}
        for i in range(begin, end)
    ]  # fmt: skip


def start_server(quorate, *more, port="0", new=("--positive", "spam", "--negative", "ham", "--labels", "40"), **environment):
    process = quorate.start("serve", "--dir", "desk", "--port", port, *new, *more, env=os.environ | environment)
    ready, _, _ = select.select([process.stdout], [], [], GUARD)
    assert ready, "no address"
    url = process.stdout.readline().decode().strip()
    assert url.startswith("http"), process.stderr.read().decode()
    return url, process


@pytest.fixture
def server(quorate):
    return Client(start_server(quorate)[0])


@pytest.fixture
def studio():
    fake = FakeLabelStudio()
    yield fake
    fake.close()


def bridge(studio, server, project="mail", token=TOKEN, **more):
    lines = io.StringIO()
    made = Bridge(Studio(studio.url, token), server, project, Log(True, lines), **{"ahead": 4} | more)
    made.lines = lines
    return made


def ticket(studio, task):
    return studio.tasks[task]["meta"]["quorate"]["ticket"]


def answers(server, ticket):
    return {(a["annotator"], a["label"]) for a in server.answers(ticket)["answers"]}


def events(bridge, name):
    return [one for one in map(json.loads, bridge.lines.getvalue().splitlines()) if one["event"] == name]


def test_answers_skips_changes_and_deletions_come_back(studio, server):
    one = bridge(studio, server)
    one.run_pass()  # nothing is asked yet
    assert not studio.projects
    server.post(rows(0, 20))
    one.run_pass()
    tasks = studio.waiting()
    assert len(tasks) == 4 and all(studio.tasks[t]["predictions"][0]["result"][0]["value"]["choices"] for t in tasks)
    first, second, third, fourth = tasks
    a, b = studio.annotate(first, "spam"), studio.annotate(second, "ham", user=2)
    skip = studio.skip(third)
    one.run_pass()
    assert answers(server, ticket(studio, first)) == {("ann@example.com", "spam")}
    assert answers(server, ticket(studio, second)) == {("bob@example.com", "ham")}
    assert server.status()["labels"]["bought"] == 2
    assert server.answers(ticket(studio, third))["holder"] is None, "skipped: others may be asked"
    assert len(studio.waiting()) == 4, "others took their places"
    studio.change(a, "ham")
    studio.delete(b)
    studio.change(skip, "spam")  # somebody thought again
    one.run_pass()
    assert answers(server, ticket(studio, first)) == {("ann@example.com", "ham")}
    found = server.answers(ticket(studio, second))
    assert found["open"] and found["holder"] == "labelstudio" and not found["answers"]
    assert answers(server, ticket(studio, third)) == {("ann@example.com", "spam")}
    assert server.status()["labels"]["bought"] == 3 - 1 + 1, "the label that was taken back stays paid"
    assert [len(events(one, name)) for name in ("answer", "undo", "skip")] == [4, 1, 1]
    before = len(one.lines.getvalue())
    one.run_pass()
    another = bridge(studio, server)
    another.run_pass()
    assert len(one.lines.getvalue()) == before and not events(another, "answer"), "each annotation once"
    studio.annotate(second, "spam")
    another.run_pass()
    assert answers(server, ticket(studio, second)) == {("ann@example.com", "spam")}


def test_nothing_is_lost_or_doubled_whatever_fails(studio, server):
    """Random work of two people, with requests that fail before or after they did something, and programs that end
    anywhere."""
    server.post(rows(0, 60))
    draw = random.Random(7)
    done, one = {}, bridge(studio, server, ahead=6)
    labels = ["spam", "ham"]
    for step in range(150):
        if draw.random() < 0.2:
            one = bridge(studio, server, ahead=6)  # it was killed
        waiting = studio.waiting()
        action = draw.random()
        if action < 0.5 and waiting:
            task = draw.choice(waiting)
            done[studio.annotate(task, draw.choice(labels), user=draw.choice([1, 2]))] = task
        elif action < 0.6 and waiting:
            studio.skip(draw.choice(waiting))
        elif action < 0.75 and done:
            studio.change(draw.choice(sorted(done)), draw.choice(labels))
        elif action < 0.85 and done:
            annotation = draw.choice(sorted(done))
            studio.delete(annotation)
            del done[annotation]
        share = draw.choice([0, 0.1, 0.3])
        studio.trouble = lambda method, path: draw.choice(["before", "after"]) if draw.random() < share else None
        try:
            one.run_pass()
        except ConnectionError:
            pass
    studio.trouble = lambda method, path: None
    for _ in range(3):
        one.run_pass()
    tickets = [ticket(studio, task) for task in studio.tasks if studio.of(task)]
    assert len(tickets) == len(set(tickets)), "no question is answered in two tasks"
    expected, found = {}, {}
    for annotation, task in done.items():
        item = studio.annotations[annotation]
        expected[ticket(studio, task)] = {(studio.users[item["completed_by"]], item["result"][0]["value"]["choices"][0])}
    for number in range(60):
        try:
            if given := answers(server, number):
                found[number] = given
        except ServerError:
            pass
    assert found == expected
    learned = server._call("GET", "/v1/status")
    assert sum(a["answers"] for a in learned["annotators"]) == len(expected) > 15


def test_an_answer_counts_after_the_lease_has_gone_elsewhere(studio, quorate, tmp_path):
    if subprocess.run(["ldd", quorate.path], capture_output=True, check=False).returncode != 0:
        pytest.skip("a static program loads no other clock")
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    library, ahead = tmp_path / "clock.so", tmp_path / "ahead"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, CHECKOUT / "tests/server/clock.c", "-ldl"], check=True)
    server = Client(start_server(quorate, LD_PRELOAD=library.name, LD_LIBRARY_PATH=str(tmp_path), CLOCK_AHEAD=str(ahead))[0])
    server.post(rows(0, 3))
    bridge(studio, server).run_pass()
    tasks = studio.waiting()
    (tmp_path / "later").write_text("301")
    (tmp_path / "later").rename(ahead)  # nobody renews for longer than a lease
    taken = {question["ticket"]: question for question in (server.next("eve"), server.next("eve"))}
    late, kept = [task for task in tasks if ticket(studio, task) in taken]
    studio.annotate(late, "spam")
    one = bridge(studio, server)
    one.run_pass()
    assert answers(server, ticket(studio, late)) == {("ann@example.com", "spam")}
    assert kept not in studio.tasks, "eve has it"
    with pytest.raises(ServerError, match="answered by another tool"):
        server.answer(taken[ticket(studio, late)], "ham")
    server.set_limit(1)  # all others are withdrawn
    (rest,) = studio.waiting()
    studio.annotate(rest, "ham", user=2)
    one.run_pass()
    status = server.status()
    assert status["labels"]["bought"] == 1 and status["gifts"] == 1, "an answer to what is not asked any more is a gift"
    studio.annotate(late, "ham", user=2)
    one.run_pass()
    one.run_pass()
    assert [e["reason"] for e in events(one, "refused")] == [f"ticket {ticket(studio, late)}: somebody else answered it before"]


def test_questions_answered_elsewhere_leave_the_project(studio, server):
    server.post(rows(0, 2))
    one = bridge(studio, server)
    one.run_pass()
    gone, other = studio.waiting()
    server.put_answer(ticket(studio, gone), "eve", "spam", "page")
    server.forget_example(studio.tasks[other]["meta"]["quorate"]["example"])
    one.run_pass()
    assert not studio.tasks and len(events(one, "removed")) == 2


def test_audits_have_no_prediction_and_can_be_changed(studio, quorate):
    server = Client(start_server(quorate, "--audit", "0.5", new=("--positive", "spam", "--negative", "ham", "--labels", "200"))[0])
    one, hidden, read = bridge(studio, server, ahead=6), [], 0
    while len(hidden) < 2:
        server.post(rows(read, read := read + 10))
        for task in studio.waiting():
            studio.annotate(task, "spam" if "win" in studio.tasks[task]["data"]["text"] else "ham")
        one.run_pass()
        hidden = [task for task in studio.waiting() if "predictions" not in studio.tasks[task]]
        assert read < 2000
    right, wrong = ("spam", "ham") if "win" in studio.tasks[hidden[0]]["data"]["text"] else ("ham", "spam")
    annotation = studio.annotate(hidden[0], right)
    one.run_pass()
    studio.change(annotation, wrong)
    one.run_pass()
    one.run_pass()
    assert events(one, "refused") == []
    assert answers(server, ticket(studio, hidden[0])) == {("ann@example.com", wrong)}
    for task in (hidden[1], 1_000_000):  # the ML backend does not tell either
        body = {"label_config": one.form.config, "tasks": [{"id": task, "data": {"text": "win"}, "meta": studio.tasks.get(task, {}).get("meta", {})}]}
        found = post(backend(server).url + "/predict", body)["results"][0]
        assert (found["result"] == []) == (task in hidden)


def test_a_second_opinion_is_left_to_the_page(studio, quorate):
    server = Client(start_server(quorate, "--opinions", "1")[0])
    server.post(rows(0, 3))
    one = bridge(studio, server, ahead=2)
    one.run_pass()
    task = studio.waiting()[0]
    studio.annotate(task, "spam")
    for _ in range(3):
        one.run_pass()
    assert len({ticket(studio, t) for t in studio.tasks}) == len(studio.tasks) == 3
    question = server.next("eve")
    assert question["ticket"] == ticket(studio, task)
    server.answer(question, "ham")
    assert len(server.status()["disagreements"]) == 1


def test_a_personal_token_is_refreshed_and_no_token_is_shown(studio, server, tmp_path):
    server.post(rows(0, 3))
    one = bridge(studio, server, token=PERSONAL)
    one.run_pass()
    studio.access.clear()  # it ran out
    one.run_pass()
    assert studio.waiting()
    with pytest.raises(RuntimeError) as error:
        bridge(studio, server, token="wrong" * 8).run_pass()
    assert "Invalid token" in str(error.value) and "wrong" not in str(error.value)


def test_a_project_is_checked(studio, server):
    server.post(rows(0, 3))
    config = '<View><Text name="t" value="${}"/><Choices name="c" toName="t" {}><Choice value="ham"/><Choice value="{}"/></Choices></View>'
    for number, (text, more, choice, message) in enumerate([
        ("text", "", "junk", "its choices are ham, junk; expected ham, spam"),
        ("text", 'choice="multiple"', "spam", "expected choice=\"single\""),
        ("body", "", "spam", r"shows \$body; expected some of \$columns, \$task, \$text"),
    ]):  # fmt: skip
        studio.projects[900 + number] = {"id": 900 + number, "title": f"p{number}", "label_config": config.format(text, more, choice)}
        with pytest.raises(SetupError, match=message):
            bridge(studio, server, f"p{number}").run_pass()
    studio.projects[910] = {"id": 910, "title": "good", "label_config": config.format("text", "", "spam")}
    bridge(studio, server, "good").run_pass()
    bridge(studio, server, "910").run_pass()
    assert {task["project"] for task in studio.tasks.values()} == {910}
    studio.projects[911] = {"id": 911, "title": "good", "label_config": ""}
    with pytest.raises(SetupError, match="projects 910, 911 have this title"):
        bridge(studio, server, "good").run_pass()
    with pytest.raises(SetupError, match="no project has this number"):
        bridge(studio, server, "77").run_pass()


def test_a_form_is_made_for_any_question():
    fields = [
        {"name": "subject line", "kind": "text", "value": "a <b>"}, {"name": "picture", "kind": "image", "value": "2,1:0 255"},
        {"name": "size", "kind": "number", "value": "7"}, {"name": "task", "kind": "category", "value": "x"},
    ]  # fmt: skip
    question = {"prompt": 'Is "it" <spam>?', "task": "ann", "choices": ["a & b", "c"], "fields": fields}
    form = Form.make(question)
    assert form.choices == ["a & b", "c"] and form.variables == {"task", "subject_line", "picture", "columns"}
    form.check(question)
    data = form.data(question | {"fields": fields[:1]})
    assert data["picture"] == "" and data["task"] == "ann"
    data = form.data(question)
    assert data["columns"] == {"size": "7", "task": "x"} and data["size"] == 7
    assert data["picture"].startswith("data:image/png;base64,") and image("2,1:0") == "2,1:0"
    assert base64.b64decode(data["picture"].partition(",")[2]).startswith(b"\x89PNG")


def post(url, body, **headers):
    data = json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"} | headers), timeout=GUARD) as reply:
        return json.loads(reply.read())


def backend(server, **more):
    return Listener("127.0.0.1:0", lambda: None, Log(True, io.StringIO()), server=lambda: Client(server.url), secret=None, **more)


def test_the_ml_backend_protocol(server):
    server.post([row | {"label": "spam" if "win" in row["text"] else "ham"} for row in rows(0, 40)])
    listener = backend(server, password="secret")
    code = base64.b64encode(b"user:secret").decode()
    config = '<View><Text name="t" value="$text"/><Choices name="c" toName="t"><Choice value="ham"/><Choice value="spam"/></Choices></View>'
    with urllib.request.urlopen(listener.url + "/health", timeout=GUARD) as reply:
        assert json.loads(reply.read())["status"] == "UP"
    version = post(listener.url + "/setup", {"access_token": "x", "schema": config}, Authorization=f"Basic {code}")["model_version"]
    tasks = [{"id": 1, "data": {"text": "win money now"}, "meta": {}}, {"id": 2, "data": {"text": "lunch at noon"}}]
    found = post(listener.url + "/predict", {"tasks": tasks, "label_config": config}, Authorization=f"Basic {code}")["results"]
    assert [one["result"][0]["value"]["choices"] for one in found] == [["spam"], ["ham"]]
    assert all(one["model_version"] == version and 0.5 < one["score"] <= 1 for one in found)
    assert found[0]["result"][0]["from_name"] == "c" and found[0]["result"][0]["to_name"] == "t"
    for path, body, headers, status in [
        ("/predict", {}, {}, 401), ("/predict", {}, {"Authorization": "Basic !"}, 401), ("/train", {}, {"Authorization": f"Basic {code}"}, 404),
        ("/predict", {"tasks": 7}, {"Authorization": f"Basic {code}"}, 400),
    ]:  # fmt: skip
        with pytest.raises(urllib.error.HTTPError) as error:
            post(listener.url + path, body, **headers)
        assert error.value.code == status
        error.value.close()
    listener.close()


@pytest.fixture
def port():
    with reserved_port() as port:
        yield str(port)


def test_the_program(studio, quorate, tmp_path, monkeypatch, port):
    """Webhooks are hints; both servers may go; the token is in no log and in no journal; the webhook is taken away."""
    url, process = start_server(quorate, port=port)
    server = Client(url)
    server.post(rows(0, 20))
    script = tmp_path / "quorate-labelstudio"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m quorate.labelstudio "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    bare = quorate("labelstudio", "--once", "--json")
    if not (quorate.path.parent / script.name).exists():  # the program of a wheel finds it there
        assert bare.code == 2 and "pip install quorate" in bare.err
    environment = os.environ | {"LABEL_STUDIO_TOKEN": TOKEN, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    words = ["labelstudio", "--server", url, "--url", studio.url, "--project", "mail", "--json", "--every", "600", "--listen", "127.0.0.1:0"]
    program = quorate.start(*words, env=environment)
    hook = wait_until(lambda: list(studio.webhooks.values()))[0]
    assert TOKEN not in json.dumps(hook) and not hook["send_payload"]
    wait_until(studio.waiting)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        post(hook["url"], {}, **{"X-Quorate": "guess"})
    task = studio.waiting()[0]
    studio.annotate(task, "spam")
    for _ in range(2):  # it comes twice
        post(hook["url"], {"action": "ANNOTATION_CREATED"}, **hook["headers"])
    shown, logged = "", []

    def read_until(event):
        while not logged or logged[-1] != event:
            nonlocal shown
            shown += (line := program.stdout.readline().decode())
            logged.append(json.loads(line)["event"])

    read_until("answer")  # so it has the reply, and the server's end is no part of it
    assert server.status()["labels"]["bought"] == 1
    process.send_signal(signal.SIGKILL)
    process.wait(GUARD)
    studio.annotate(studio.waiting()[0], "ham")
    post(hook["url"], {}, **hook["headers"])
    read_until("down")  # it cannot reach the server, and goes on
    start_server(quorate, port=port, new=())
    read_until("answer")
    assert server.status()["labels"]["bought"] == 2
    program.send_signal(signal.SIGTERM)
    out, err = program.communicate(timeout=GUARD)
    assert program.returncode == 0, err
    assert not studio.webhooks
    logged += [json.loads(line)["event"] for line in out.decode().splitlines()]
    assert logged.count("answer") == 2 and logged.count("down") == 1
    assert TOKEN not in shown + (out + err).decode()
    assert all(TOKEN.encode() not in path.read_bytes() for path in (tmp_path / "desk").rglob("*") if path.is_file())


def test_errors_of_the_program(studio, server, monkeypatch, capsys, tmp_path, port):
    monkeypatch.setattr(signal, "signal", lambda *args: None)
    monkeypatch.setattr("quorate.labelstudio.program.Client", lambda url, token, patience: Client(url, token, patience=0.05))
    words = ["--server", server.url, "--url", studio.url, "--project", "mail", "--once"]
    monkeypatch.delenv("LABEL_STUDIO_TOKEN", raising=False)

    def error(*more):
        code = main([*words, *more])
        return code, capsys.readouterr()

    code, shown = error()
    assert code == 2 and "LABEL_STUDIO_TOKEN" in shown.err
    (tmp_path / "token").write_text("wrong\n")
    code, shown = error("--token-file", str(tmp_path / "token"))
    assert code == 2 and "refuses the token: Invalid token" in shown.err and "wrong" not in shown.err
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", TOKEN)
    assert error("--ml-backend", "0.0.0.0:0")[0] == 2
    assert error("--listen", "nowhere")[0] == 2
    studio.trouble = lambda method, path: "before"
    code, shown = error()
    assert code == 3 and re.search(r"Label Studio at http.*: 500 trouble", shown.out)
    studio.trouble = lambda method, path: None
    assert main(["--server", f"http://127.0.0.1:{port}", *words[2:]]) == 3
    server.post(rows(0, 3))
    assert error()[0] == 0 and len(studio.waiting()) == 3
    with pytest.raises(SystemExit):
        main([*words, "--ahead", "0"])
    assert subprocess.run([sys.executable, "-m", "quorate.labelstudio", "--help"], capture_output=True, check=True).stdout


def test_only_an_owner_answers_for_others(quorate):
    tokens = {role: quorate.ok("serve", "token", "--dir", "desk", "--role", role, "--name", role).out.strip() for role in ("owner", "annotator")}
    url, _ = start_server(quorate)
    owner, annotator = Client(url, tokens["owner"]), Client(url, tokens["annotator"])
    owner.post(rows(0, 3))
    assert annotator.next("annotator") and owner.next("tool", hold=5)
    for refused in (
        lambda: annotator.next("annotator", hold=5), lambda: annotator.put_answer(0, "annotator", "spam", "x"), lambda: annotator.answers(0),
    ):  # fmt: skip
        with pytest.raises(ServerError) as error:
            refused()
        assert error.value.status == 403
    for hold in (0, 1001):
        with pytest.raises(ServerError, match="hold"):
            owner.next("tool", hold=hold)
