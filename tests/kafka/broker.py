"""The broker of tools/kafka_broker.py as the tests use it: with TLS and passwords, and with all that its topics have."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import CHECKOUT, GUARD

sys.path.append(str(CHECKOUT / "tools"))

import kafka_broker  # noqa: E402  (of tools)

USER, PASSWORD = "ann", "secret-of-ann"
SECURE = f"""ssl.keystore.type=PEM
ssl.keystore.location={{folder}}/broker.pem
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


def jars() -> Path:
    """The folder of the broker's jars; skips where they are not available."""
    try:
        return kafka_broker.jars()
    except kafka_broker.Unavailable as missing:
        pytest.skip(str(missing))


class Broker(kafka_broker.Broker):
    """Listens without security on `address`; with `secure` also with TLS on `tls`, and with TLS and SASL on `sasl`."""

    def __init__(self, folder: Path, secure: bool = False):
        scram = ("--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]")
        if secure and shutil.which("openssl") is None:
            pytest.skip("no openssl, which makes the certificate")
        if secure:
            self.authorities = folder / "authorities.pem"
            self.make_certificate(folder)
        try:
            super().__init__(folder, *((("SSL", "SASL_SSL"), SECURE, scram) if secure else ()))
        except kafka_broker.Unavailable as missing:
            pytest.skip(str(missing))
        self.tls, self.sasl = (f"127.0.0.1:{self.ports.get(name, 0)}" for name in ("SSL", "SASL_SSL"))

    def make_certificate(self, folder: Path):
        """Signed by itself, so it is its own authority."""
        key = folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", self.authorities, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
        (folder / "broker.pem").write_text(key.read_text() + self.authorities.read_text())

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

    def read(self, topic: str, part=lambda message: message.value()) -> list[tuple]:
        """The committed messages of all partitions up to now, as (key, value), or another part of them."""
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
                    found.append((message.key(), part(message)))
                elif message.error().code() == self.client.KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise self.client.KafkaException(message.error())
            return found
        finally:
            consumer.close()


def sasl(broker: Broker, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    """Properties with which librdkafka reaches broker.sasl."""
    return {"security.protocol": "SASL_SSL", "ssl.ca.location": str(broker.authorities), "sasl.mechanism": mechanism, "sasl.username": USER,
            "sasl.password": password}
