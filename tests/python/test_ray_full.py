"""docs/ray_actors.py with the real Ray, from pip in an environment of its own."""
import json
import subprocess
import sys

import pytest

from quorate import Client
from served import ROOT, Running, label, rows

pytestmark = pytest.mark.full

VERSION = "2.60.0"


@pytest.fixture(scope="session")
def python_with_ray():
    """Its interpreter, installed once (about 400 MB)."""
    folder = ROOT / "build/ray"
    wheel = max((ROOT / "build/wheel").glob("quorate-*.whl"), default=None)
    assert wheel, "no wheel in build/wheel: ./run python makes it"
    stamp = folder / f"complete-{VERSION}"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", f"ray=={VERSION}", wheel], check=True)
        stamp.touch()
    subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--force-reinstall", wheel], check=True)
    return folder / "bin/python"


def test_actors_judge_by_one_model_and_share_one_budget(python_with_ray, tmp_path):
    server = Running(tmp_path)
    (tmp_path / "emails.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(0, 2000)))
    running = subprocess.Popen([python_with_ray, ROOT / "docs/ray_actors.py", server.url, tmp_path / "emails.jsonl"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    client = Client(server.url)
    said = []
    while True:
        while (question := client.next("eve")) is not None:
            client.answer(question, label(question))
        try:
            said, err = running.communicate(timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            continue
    assert running.returncode == 0, err
    said = [json.loads(line) for line in said.splitlines()]
    assert [one["id"] for one in said] == [f"m{n}" for n in range(2000)]
    assert sum(one["label"] == ("spam" if int(one["id"][1:]) % 2 else "ham") for one in said[1000:]) > 900
    status = client.status()
    assert status["workers"]["sources"] == 4 and status["workers"]["examples_of_all"] == 2000
    assert 0 < status["labels"]["bought"] <= 20 and "labels bought" in err
    server.stop()
