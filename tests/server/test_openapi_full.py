"""The server held to its OpenAPI document by Schemathesis; the document and the metrics by their own checkers."""
import json
import shutil
import subprocess
import sys
import urllib.request

import pytest
from program import CHECKOUT
from serving import Server

pytestmark = pytest.mark.full

VERSIONS = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"]


@pytest.fixture(scope="session")
def tools():
    folder = CHECKOUT / "build/schemathesis"
    stamp = folder / "complete-4.32.5"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", *VERSIONS], check=True)
        stamp.touch()
    return folder / "bin"


@pytest.fixture
def server(quorate):
    running = Server(quorate)
    made = quorate.ok("serve", "token", "--dir", "desk", "--role", "owner", "--name", "boss").out.strip()
    running.token = made
    running.post(0, 300, token=made)
    for _ in range(5):
        question = running.ok("POST", "/v1/next", {"annotator": "ann"}, token=made)["question"]
        running.ok("POST", "/v1/answer", {"lease": question["lease"], "label": "spam"}, token=made)
    yield running
    running.stop()


def test_the_document_is_valid_openapi(server, tools, tmp_path):
    (tmp_path / "openapi.json").write_text(json.dumps(server.ok("GET", "/openapi.json")))
    subprocess.run([tools / "openapi-spec-validator", tmp_path / "openapi.json"], check=True)


@pytest.fixture(scope="session")
def promtool():
    """Of Debian's package, unpacked: installed, it would start a daemon."""
    if found := shutil.which("promtool"):
        return found
    folder = CHECKOUT / "build/prometheus"
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*.deb")) and subprocess.run(["apt-get", "download", "prometheus"], cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("no promtool, and apt-get download prometheus failed")
    subprocess.run(["dpkg", "-x", next(folder.glob("*.deb")), folder], check=True)
    return folder / "usr/bin/promtool"


def test_metrics_are_those_of_prometheus(server, promtool):
    request = urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        done = subprocess.run([promtool, "check", "metrics"], input=reply.read(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# A lease may be over (410); which labels there are is a setting, which the document does not know (422).
CONFIG = """[checks]
positive_data_acceptance.expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 410, 422, 429, "5xx"]
"""


@pytest.mark.parametrize("more", [
    ["--exclude-path", "/v1/events", "--max-examples", "250"],
    ["--include-path", "/v1/events", "--phases", "coverage"],  # it never ends
])  # fmt: skip
def test_schemathesis_finds_nothing(server, tools, tmp_path, more):
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    command = [tools / "st", "run", server.url + "/openapi.json", "-H", f"Authorization: Bearer {server.token}", "--checks", "all",
               "--seed", "1", "--continue-on-failure", "--no-color", *more]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    print(next(line for line in done.stdout.splitlines() if " generated, " in line))
