"""A real Kafka broker, for tools/cluster.py and the tests: one node on loopback, which can be killed and started again on its data."""

import fcntl
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

VERSION = "4.1.0"
LIB = Path(__file__).resolve().parents[1] / "build/kafka/lib"
GUARD = 300  # seconds after which something hangs
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.24.3</version></dependency>
</dependencies></project>
"""
# Few threads and partitions, as it shares a machine with its users. Topics that a typing error names are not made.
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{CONTROLLER}
listeners={listeners}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=2
log.cleaner.dedupe.buffer.size=8388608
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
"""


class Unavailable(Exception):
    """A program, the client library or the network that a broker needs is not there."""


def jars() -> Path:
    """The folder of the broker's jars, fetched once; whole or not there at all."""
    for program, package in (("java", "a JRE 17"), ("mvn", "Maven"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            raise Unavailable(f"no {program}: a Kafka broker needs {package}")
    LIB.parent.mkdir(parents=True, exist_ok=True)
    with open(LIB.parent / ".lock", "w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (LIB / f"kafka_2.13-{VERSION}.jar").exists():
            with tempfile.TemporaryDirectory(dir=LIB.parent) as fetched:
                (Path(fetched) / "pom.xml").write_text(POM)
                command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
                done = subprocess.run(command, cwd=fetched, capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    raise Unavailable(f"no Kafka broker from Maven Central: {done.stdout[-500:]}")
                shutil.rmtree(LIB, ignore_errors=True)
                (Path(fetched) / "lib").rename(LIB)
    return LIB


class Broker:
    """Listens on `address`, without security; on `ports[NAME]` for each further listener, whose settings are in `properties`."""

    def __init__(self, folder: Path, listeners: tuple[str, ...] = (), properties: str = "", format_options: tuple[str, ...] = ()):
        try:
            import confluent_kafka
            import confluent_kafka.admin
        except ImportError as error:
            raise Unavailable("no confluent-kafka: pip install -r tests/kafka/requirements.txt") from error
        self.client, self.admin_client = confluent_kafka, confluent_kafka.admin
        self.lib = jars()
        self.folder = folder
        self.process: subprocess.Popen | None = None
        self.held = {name: socket.socket() for name in ("PLAINTEXT", "CONTROLLER", *listeners)}
        for held in self.held.values():  # bound here, but without listening: nobody else gets the port while the broker is down
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
        self.ports = {name: held.getsockname()[1] for name, held in self.held.items()}
        self.address = f"127.0.0.1:{self.ports['PLAINTEXT']}"
        listening = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        text = (PROPERTIES + properties).format(listeners=listening, folder=folder, **self.ports)
        (folder / "server.properties").write_text(text)
        made = self.run("kafka.tools.StorageTool", "format", "-t", "Z6uT1uFsQWubXUyY1X9yXg", "-c", "server.properties", *format_options)
        if made.wait(GUARD) != 0:
            raise RuntimeError(self.log())
        self.admin = self.admin_client.AdminClient(self.options())

    def run(self, *args) -> subprocess.Popen:
        """A class of the jars, which ends when this process ends, however that is. Compiling as little as possible saves half of the
        start. A session of its own, so that Ctrl-C leaves the order of the end to this process."""
        with open(self.folder / "broker.log", "ab") as log:
            return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                     "-Djava.net.preferIPv4Stack=true", "-Dlog4j2.level=INFO", "-cp", f"{self.lib}/*", *map(str, args)],
                                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def log(self) -> str:
        return (self.folder / "broker.log").read_text()[-3000:]

    def start(self):
        """Returns when it answers. Call it in the main thread, as the broker ends with the thread that started it."""
        assert self.process is None
        self.process = self.run("kafka.Kafka", "server.properties")
        end = time.monotonic() + GUARD
        while not self.answers():
            if time.monotonic() > end:
                raise RuntimeError(f"no answer of the broker within {GUARD} s: {self.log()}")
        return self

    def answers(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError(self.log())
        try:
            self.admin.list_topics(timeout=1)
        except self.client.KafkaException:
            return False
        return True

    def kill(self):
        self.process.kill()
        self.process.wait(GUARD)
        self.process = None

    def close(self):
        if self.process:
            self.kill()
        for held in self.held.values():
            held.close()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def url(self, topic: str, address: str | None = None) -> str:
        return f"kafka://{address or self.address}/{topic}"

    def options(self, **more) -> dict:
        return {"bootstrap.servers": self.address, "log_level": 0, "reconnect.backoff.max.ms": 500} | more

    def create(self, topic: str, partitions: int = 1) -> str:
        for made in self.admin.create_topics([self.admin_client.NewTopic(topic, partitions, 1)]).values():
            made.result(GUARD)
        return topic

    def expire(self, topic: str, partition: int, offset: int):
        """Removes the messages before that offset, as the retention of a topic does."""
        which = self.client.TopicPartition(topic, partition, offset)
        for removed in self.admin.delete_records([which]).values():
            removed.result(GUARD)

    def members(self, group: str) -> int:
        """How many have partitions of a group in which nothing moves; 0 while something does."""
        try:
            found = self.admin.describe_consumer_groups([group])[group].result(GUARD)
        except self.client.KafkaException:  # no such group yet
            return 0
        if found.state != self.client.ConsumerGroupState.STABLE:
            return 0
        return sum(bool(member.assignment.topic_partitions) for member in found.members)
