"""`./run serve`: the labelling server with real examples to label. Usage: serve_demo.py reviews|messages [OPTIONS of serve]"""

import json
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIR = ROOT / "build/serve"
EXAMPLES = 2000
FIRST, PER_SECOND = 200, 5  # the others arrive as a stream


def reviews() -> tuple[list[str], list[dict]]:
    """Product reviews of four kinds of goods, without their labels."""
    with open(ROOT / "data/sentiment-text/all.jsonl", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    random.Random(1).shuffle(found)
    options = ["--positive", "good", "--negative", "bad", "--prompt", "Does the writer like it?"]
    return options, [{key: row[key] for key in ("id", "task", "text")} for row in found[:EXAMPLES]]


def messages() -> tuple[list[str], list[dict]]:
    """Short messages made of a few words: where no data set is at hand."""
    rng = random.Random(1)
    words = {
        "spam": "prize money winner free offer claim now cash".split(),
        "ham": "lunch meeting friday report thanks see you project".split(),
    }
    rows = []
    for i in range(400):
        kind = rng.choice(["spam", "ham"])
        text = " ".join(rng.choice(words[kind] if rng.random() < 0.7 else words["ham"]) for _ in range(8))
        rows.append({"id": f"m{i}", "task": rng.choice(["ann", "bob", "carl"]), "text": text})
    return ["--positive", "spam", "--negative", "ham", "--prompt", "Is this message spam?"], rows


def post(url: str, rows: list[dict]) -> dict:
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    request = urllib.request.Request(f"{url}/v1/examples", lines, {"Content-Type": "application/x-ndjson"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.loads(reply.read())


def main() -> int:
    options, rows = (reviews if sys.argv[1] == "reviews" else messages)()
    new = [] if (DIR / "journal").exists() else [*options, "--labels", "300", "--audit", "0.1"]
    command = [ROOT / "build/release/quorate", "serve", "--dir", DIR, *new, *sys.argv[2:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().strip()
        if not url:
            return server.wait()
        try:
            post(url, rows[:FIRST])  # those that it knows are passed over
            print(f"Open {url} to label, {url}/team to watch; Ctrl-C ends it, and the same command continues.", flush=True)
            for begin in range(FIRST, len(rows), PER_SECOND):
                if server.poll() is not None:
                    break
                time.sleep(1)
                post(url, rows[begin : begin + PER_SECOND])
            server.wait()
        except KeyboardInterrupt:
            pass
        except urllib.error.URLError as error:
            print(f"serve_demo: {error}", file=sys.stderr)
        server.terminate()
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
