"""A broker for all tests that leave it running, and one for a test that kills it."""
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "server"))  # serving.py and test_work.py

from broker import Broker  # noqa: E402  (of this folder)
from driving import Scene  # noqa: E402


@pytest.fixture(scope="session")
def running_broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("broker"), secure=True)
    try:
        yield broker.start()
    finally:
        broker.close()


@pytest.fixture
def broker(tmp_path):
    """May be killed; starts before the test, and ends with it."""
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = Broker(folder)
    try:
        yield broker.start()
    finally:
        broker.close()


@pytest.fixture
def scene(quorate, running_broker, request):
    """Topics of its own on the broker that all share."""
    return Scene(quorate, running_broker, request.node.name.replace("[", "-").replace("]", "").removeprefix("test_"))
