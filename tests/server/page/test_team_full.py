"""Three people in three browsers label reviews with the real server until its budget is spent; the model is as good as a simulated one."""
import json
import random
import select
import statistics
import threading
import time
import urllib.request
from pathlib import Path

import pytest

REVIEWS = Path(__file__).resolve().parents[3] / "data/sentiment-text/all.jsonl"
LABELS = 300
TEST = 2000
SETTLE = 330  # ms in which a key is taken for the second press of the last one


def words(text):
    return " ".join(text.split())


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def call(url, path, body=None, kind="application/json"):
    request = urllib.request.Request(url + path, body if body is None else body.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


@pytest.mark.full
@pytest.mark.skipif(not REVIEWS.exists(), reason="./run data sentiment-text")
def test_a_team_in_the_browser_teaches_what_a_simulation_teaches(browser, quorate, tmp_path, record_property):
    rows = [json.loads(line) for line in REVIEWS.read_text(encoding="utf-8").splitlines()]
    random.Random(1).shuffle(rows)
    test, stream = rows[:TEST], rows[TEST:]
    (tmp_path / "test.jsonl").write_text(jsonl(test))
    (tmp_path / "stream.jsonl").write_text(jsonl(stream))
    simulated = quorate.ok("simulate", "--data", tmp_path / "stream.jsonl", "--test", tmp_path / "test.jsonl", "--learner", "cohort",
                           "--labels", LABELS, "--runs", 10, "--json", timeout=600).json()
    expected = simulated["mean"]["accuracy"]

    process = quorate.start("serve", "--dir", "desk", "--port", "0", "--positive", "good", "--negative", "bad", "--labels", LABELS,
                            "--prompt", "Does the writer like it?")
    assert select.select([process.stdout], [], [], 60)[0]
    url = process.stdout.readline().decode().strip()
    key_of = {words(row["text"])[:400]: "2" if row["label"] == 1 else "1" for row in rows}
    posted = iter([{key: row[key] for key in ("id", "task", "text")} for row in stream])
    done = threading.Event()

    def post():  # as a stream: some hundred at once, then more while people answer
        for size in [300] + [20] * len(stream):
            chunk = [row for _, row in zip(range(size), posted, strict=False)]
            if not chunk or done.is_set():
                break
            call(url, "/v1/examples", jsonl(chunk), "application/x-ndjson")
            time.sleep(0.3)

    feeder = threading.Thread(target=post)
    feeder.start()
    team = []
    for name in ("ann", "bob", "eve"):
        context = browser.new_context(viewport={"width": 1000, "height": 820})
        context.add_init_script(f"localStorage.setItem('quorate.name', '\"{name}\"')")
        page = context.new_page()
        page.goto(url)
        team.append(page)
    seconds, answered, idle = [], 0, 0
    while idle < 50:
        for page in team:
            if not page.locator("#ask").is_visible():
                idle += 1
                page.wait_for_timeout(100)
                continue
            page.wait_for_timeout(SETTLE)
            key = key_of[words(page.locator("article").inner_text())[:400]]
            begin = time.monotonic()
            page.keyboard.press(key)
            page.locator("#saved.saved", has_text="good" if key == "2" else "bad").wait_for()
            seconds.append(time.monotonic() - begin)
            answered, idle = answered + 1, 0
            if answered == LABELS // 2:
                page.screenshot(path=tmp_path / "label.png")
    team[0].goto(url + "/team")
    team[0].get_by_text("ann").first.wait_for()
    team[0].screenshot(path=tmp_path / "team.png")
    done.set()
    feeder.join()
    status = call(url, "/v1/status")
    assert status["labels"]["bought"] == LABELS == answered
    found = call(url, "/v1/predict", jsonl({"id": row["id"], "task": row["task"], "text": row["text"]} for row in test),
                 "application/x-ndjson")["predictions"]
    accuracy = statistics.mean((one["label"] == "good") == (row["label"] == 1) for one, row in zip(found, test, strict=True))
    process.terminate()
    assert process.wait(60) == 0
    figures = f"team {accuracy:.4f}, simulated {expected:.4f}; saved after {1000 * statistics.median(seconds):.0f} ms (median)"
    record_property("figures", figures)
    print(figures)
    assert accuracy >= expected - 0.01, figures
    assert statistics.median(seconds) < 0.25, figures
