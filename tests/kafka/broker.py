"""A real Kafka broker for tests: one node on loopback, which can be killed and started again on its ports and data."""
import fcntl
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from program import CHECKOUT, GUARD, reserved_port, wait_until

VERSION = "4.1.0"
LIB = CHECKOUT / "build/kafka/lib"
USER, PASSWORD = "ann", "secret-of-ann"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.24.3</version></dependency>
</dependencies></project>
"""
# Few threads and partitions, as it shares two cores with what is tested. Topics that a typing error names are not made.
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
SECURE = """ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


def jars() -> Path:
    """The folder of the broker's jars, fetched once; whole or not there at all. Skips where that is impossible."""
    for program, package in (("java", "a JRE 17"), ("mvn", "Maven"), ("openssl", "openssl"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: a Kafka broker needs {package}")
    LIB.parent.mkdir(parents=True, exist_ok=True)
    with open(LIB.parent / ".lock", "w") as lock:  # the tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (LIB / f"kafka_2.13-{VERSION}.jar").exists():
            with tempfile.TemporaryDirectory(dir=LIB.parent) as fetched:
                (Path(fetched) / "pom.xml").write_text(POM)
                done = subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"], cwd=fetched,
                                      capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    pytest.skip(f"no Kafka broker from Maven Central: {done.stdout[-500:]}")
                shutil.rmtree(LIB, ignore_errors=True)
                (Path(fetched) / "lib").rename(LIB)
    return LIB


class Broker:
    """Listens without security on `address`; with `secure` also with TLS on `tls`, and with TLS and SASL on `sasl`."""

    def __init__(self, folder: Path, secure: bool = False):
        self.client = pytest.importorskip("confluent_kafka", reason="no confluent-kafka: pip install -r tests/kafka/requirements.txt")
        self.admin_client = pytest.importorskip("confluent_kafka.admin")
        self.lib = jars()
        self.folder = folder
        self.process = None
        self.held = ExitStack()
        names = ["PLAINTEXT", "CONTROLLER"] + (["SSL", "SASL_SSL"] if secure else [])
        ports = {name: self.held.enter_context(reserved_port()) for name in names}
        self.address, self.tls, self.sasl = (f"127.0.0.1:{ports.get(name, 0)}" for name in ("PLAINTEXT", "SSL", "SASL_SSL"))
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
        text = PROPERTIES + (SECURE if secure else "")
        (folder / "server.properties").write_text(text.format(listeners=listeners, folder=folder, USER=USER, PASSWORD=PASSWORD, **ports))
        if secure:
            self.authorities = folder / "authorities.pem"
            self.make_certificate()
        scram = ["--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"] if secure else []
        code = self.run("kafka.tools.StorageTool", "format", "-t", "Z6uT1uFsQWubXUyY1X9yXg", "-c", "server.properties", *scram).wait(GUARD)
        assert code == 0, self.log()
        self.admin = self.admin_client.AdminClient(self.options())

    def make_certificate(self):
        """Signed by itself, so it is its own authority."""
        key = self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", self.authorities, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
        (self.folder / "broker.pem").write_text(key.read_text() + self.authorities.read_text())

    def run(self, *args) -> subprocess.Popen:
        """A class of the jars, which ends when the tests end, however that is. Compiling as little as possible saves half of the start."""
        with open(self.folder / "broker.log", "ab") as log:
            return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                     "-Djava.net.preferIPv4Stack=true", "-Dlog4j2.level=INFO", "-cp", f"{self.lib}/*", *map(str, args)],
                                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self) -> str:
        return (self.folder / "broker.log").read_text()[-3000:]

    def start(self):
        """Returns when it answers. Call it in the main thread, as the broker ends with the thread that started it."""
        assert self.process is None
        self.process = self.run("kafka.Kafka", "server.properties")
        wait_until(self.answers, "an answer of the broker")
        return self

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log()
        try:
            self.admin.list_topics(timeout=1)
        except self.client.KafkaException:
            return False
        return True

    def kill(self):
        self.process.kill()
        self.process.wait(GUARD)
        self.process = None

    def stop(self):
        self.process.terminate()
        self.process.wait(GUARD)
        self.process = None

    def close(self):
        if self.process:
            self.kill()
        self.held.close()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    # Its topics --------------------------------------------------------------------------------------------------------------------------

    def url(self, topic: str, address: str | None = None) -> str:
        return f"kafka://{address or self.address}/{topic}"

    def options(self, **more) -> dict:
        return {"bootstrap.servers": self.address, "log_level": 0, "reconnect.backoff.max.ms": 500} | more

    def create(self, topic: str, partitions: int = 1) -> str:
        for made in self.admin.create_topics([self.admin_client.NewTopic(topic, partitions, 1)]).values():
            made.result(GUARD)
        return topic

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=GUARD).topics)

    def producer(self):
        return self.client.Producer(self.options(**{"enable.idempotence": True, "linger.ms": 5}))

    def produce(self, topic: str, messages, producer=None):
        """Messages are (partition, key, value)."""
        failed = []
        producer = producer or self.producer()
        for partition, key, value in messages:
            producer.produce(topic, value, key, partition, on_delivery=lambda error, _: error and failed.append(error))
        producer.flush(GUARD)
        assert not failed and not len(producer), failed

    def read(self, topic: str) -> list[tuple[bytes | None, bytes]]:
        """The committed messages of all partitions up to now, as (key, value)."""
        consumer = self.client.Consumer(self.options(**{"group.id": "tests", "isolation.level": "read_committed",
                                                        "enable.auto.commit": False, "enable.partition.eof": True}))
        try:
            partitions = consumer.list_topics(topic, timeout=GUARD).topics[topic].partitions
            consumer.assign([self.client.TopicPartition(topic, n, self.client.OFFSET_BEGINNING) for n in partitions])
            found, ended = [], set()
            while len(ended) < len(partitions):
                message = consumer.poll(GUARD)
                assert message is not None, f"no end of {topic}"
                if message.error() is None:
                    found.append((message.key(), message.value()))
                elif message.error().code() == self.client.KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise self.client.KafkaException(message.error())
            return found
        finally:
            consumer.close()

    def members(self, group: str) -> int:
        """How many have partitions of a group in which nothing moves; 0 while something does."""
        try:
            found = self.admin.describe_consumer_groups([group])[group].result(GUARD)
        except self.client.KafkaException:  # no such group yet
            return 0
        if found.state != self.client.ConsumerGroupState.STABLE:
            return 0
        return sum(bool(member.assignment.topic_partitions) for member in found.members)


def sasl(broker: Broker, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    """Properties with which librdkafka reaches broker.sasl."""
    return {"security.protocol": "SASL_SSL", "ssl.ca.location": str(broker.authorities), "sasl.mechanism": mechanism, "sasl.username": USER,
            "sasl.password": password}
