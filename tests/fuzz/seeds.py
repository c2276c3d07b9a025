"""Seed inputs for the fuzz targets: seeds.py QUORATE FOLDER writes FOLDER/TARGET/NAME."""
import gzip
import json
import lzma
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import samples  # noqa: E402

QUORATE, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
ROWS = samples.rows(12, seed=3)
KNOWN = json.loads(subprocess.run([QUORATE, "describe", "--json"], check=True, stdout=subprocess.PIPE).stdout)
LEARNERS = [one["default"] for one in KNOWN] + ["cohort(store=hashed(bits=8))", "cmtl(query=margin(b=1))", "amtl(query=similarity)",
                                                "shampo-second-order(diagonal=true)", "budget-projectron(budget=3)"]


def seed(target: str, name: object, content: bytes | str) -> None:
    path = OUT / target / str(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def texts() -> dict[str, list[str]]:
    """A few files of each format."""
    return {
        "csv": [samples.csv(ROWS), 'id,label,text,c,time\n1,spam,"a, ""b""\nc",red,2026-11-21T13:15:00Z\n2,ham,d,,1e9\n'],
        "jsonl": [samples.jsonl(ROWS), '{"label":"spam","text":"\\u00e9t\\u00e9 x","x":[1,2.5,null],"time":17,"log":[[{}]]}\n'
                  '{"label":-1,"x":{"a":true,"b":"red","c":null,"7":1e-3}}\n'],
        "svmlight": [samples.svmlight(ROWS), "1 task:t time:2026-11-21 1:0.5 7:1e-3 # id\n-1 qid:3 2:2\n"],
        "vw": [samples.vw(ROWS), "1 'id |task u |time 1764000000 |words a b:2 c:-1e-3\n-1 | d\n"],
    }


for target, files in texts().items():
    for n, text in enumerate(files):
        for options in (0, 3, 0x7F):
            seed(target, f"{n}-{options}", bytes([options]) + text.encode())
packed = samples.svmlight(ROWS).encode()
for n, pack in enumerate((bytes, gzip.compress, lzma.compress)):
    seed("packed", n, bytes([n]) + pack(packed))
zstd = subprocess.run(["zstd", "-c"], input=packed, capture_output=True, check=True)
seed("packed", 3, bytes([3]) + zstd.stdout)
for n, text in enumerate(["2026-11-21", "2026-11-21T13:15:00.25+01:00", "1764000000", "-0.5", "1e9", "50/1000", "20/day", "500"]):
    seed("time", n, text)
for n, text in enumerate(LEARNERS):
    seed("spec", n, text)
rng = random.Random(1)
for n in range(4 * len(LEARNERS)):
    seed("session", n, bytes([n, n % len(LEARNERS)]) + rng.randbytes(400))
for n in range(32):  # two segments and what damages one; a segment as it is
    seed("journal", n, bytes([0]) + rng.randbytes(60))
    seed("journal", f"cut-{n}", bytes([0]) + rng.randbytes(40) + bytes([n % 4 * 4, n, n, 0]))
for n in range(48):
    seed("desk", n, rng.randbytes(11) + rng.randbytes(600))
    seed("history", n, rng.randbytes(2000))
EXAMPLE = '{"id":"m%d","task":"ann","text":"win money","x":%d}'
REQUESTS = ["GET /v1/status", "GET /v1/tasks?from=0&most=5", "GET /v1/questions", "GET /v1/labels", "GET /v1/journal?from=0",
            "GET /v1/explain/0", "GET /v1/answers/0", "GET /healthz", "GET /readyz", "GET /metrics", "HEAD /", "GET /openapi.json",
            "DELETE /v1/tasks/ann", "DELETE /v1/examples/m1", 'POST /v1/next json {"annotator":"eve","hold":2}',
            'POST /v1/answer json {"lease":"LEASE","label":"spam","seconds":2.5}', 'POST /v1/skip json {"lease":"LEASE"}',
            'POST /v1/undo json {"annotator":"eve"}', 'POST /v1/renew json {"lease":"LEASE"}',
            'POST /v1/decide json {"ticket":0,"label":"ham"}', 'PUT /v1/limits json {"labels":7}',
            'PUT /v1/answers/0 json {"annotator":"eve","label":"ham","source":"tool"}',
            "POST /v1/predict json " + EXAMPLE % (1, 2), "POST /v1/examples json [" + EXAMPLE % (1, 2) + "," + EXAMPLE % (2, 9) + "]",
            "POST /v1/examples lines " + EXAMPLE % (3, 4) + "\x1e" + EXAMPLE % (4, 5),
            'POST /v1/examples json {"id":"m5","task":"ann","text":"see","label":"spam"}']
seed("http", "all", "\n".join(REQUESTS))
for n in range(40):
    seed("http", n, "\n".join([REQUESTS[-3], *rng.choices(REQUESTS, k=12)]))
seed("journal", "segment", bytes([1]) + bytes(8) + bytes.fromhex("96000000") + rng.randbytes(20) + b"payload\n")

with tempfile.TemporaryDirectory() as folder:
    data = Path(folder) / "data.svm"
    data.write_text(samples.svmlight(ROWS))
    train = [QUORATE, "train", "--data", data, "--quiet", "--model"]
    subprocess.run([*train, Path(folder) / "cached", "--cache", Path(folder) / "cache"], check=True, capture_output=True)
    for file in (Path(folder) / "cache").glob("*.instances"):
        seed("cache", "block", file.read_bytes().split(b"\n", 1)[1])
    for n, learner in enumerate(LEARNERS):
        for m, options in enumerate(([], ["--labels", "8", "--labels", "3/5", "--audit", "0.3", "--bits", "0"])):
            model = Path(folder) / f"{n}-{m}"
            subprocess.run([*train, model, "--learner", learner, *options], check=True, capture_output=True)
            seed("model", model.name, model.read_bytes())
    subprocess.run([*train, Path(folder) / "classes", "--classes", "one-vs-one"], check=True, capture_output=True)
    seed("model", "classes", (Path(folder) / "classes").read_bytes())
