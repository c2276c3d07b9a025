"""The messages of tools/cluster.py, the people who answer questions about them, and the predictions that come back."""

import http.client
import json
import random
import threading
import time
from collections import deque

from kafka_broker import GUARD, Broker

RECENT = 10_000  # predictions of which the accuracy is reported
THINKING = 0.003  # seconds for an answer

# Three kinds of messages are spam for everybody and three for nobody; newsletters are for one user in five, sales for four in five.
KINDS = [
    "prize winner lottery claim jackpot urgent selected reward million congratulations".split(),
    "pills pharmacy discreet cure doctors weight miracle prescription cheap bottle".split(),
    "loan credit debt approved rates instantly refinance cash guaranteed mortgage".split(),
    "lunch noon friday table cafe hungry restaurant pizza dinner reserve".split(),
    "meeting agenda minutes slides room project deadline review report schedule".split(),
    "mum grandma birthday garden kids school photos holiday visit weekend".split(),
    "newsletter issue subscribers editors column weekly stories digest interview edition".split(),
    "sale discount shop coupon shoes basket delivery season outlet brands".split(),
]
SPAM = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.2, 0.8)
COMMON = "please see the attached and let me know when you have time today thanks for your new message about this as we said".split()
PHRASES = 1024


class Failed(Exception):
    """A program ended, or nothing moves."""


class Stream:
    """The messages, drawn as they are sent; the truth about them; the predictions that came back."""

    def __init__(self, broker: Broker, partitions: int, messages: int, users: int):
        self.broker, self.partitions, self.messages, self.users = broker, partitions, messages, users
        self.draw = random.Random(1)
        self.about = [[self.phrase(kind) for _ in range(PHRASES)] for kind in KINDS]
        self.common = [" ".join(self.draw.choices(COMMON, k=5)) for _ in range(PHRASES)]
        self.tastes = [[self.draw.random() < share for share in SPAM] for _ in range(users)]
        self.spam, self.seen = bytearray(messages), bytearray(messages)
        self.sent = self.read = self.judged = 0
        self.right: deque[bool] = deque(maxlen=RECENT)

    def phrase(self, kind: list[str]) -> str:
        return " ".join([*self.draw.choices(kind, k=3), self.draw.choice(self.draw.choice(KINDS))])

    def send(self, stopped: threading.Event) -> None:
        """As fast as the broker takes them, in large batches. Some users are frequent; all appear, as one message in `every` is of the next one."""
        every = max(1, self.messages // self.users)
        producer = self.broker.client.Producer(self.broker.options(**{"enable.idempotence": True, "linger.ms": 100}))
        for n in range(self.messages):
            bits = self.draw.getrandbits(64)
            kind, place = bits & 7, (bits >> 32) / 2**32
            user = int(self.users * place**4) if n % every else n // every % self.users
            self.spam[n] = self.tastes[user][kind]
            text = f"{self.about[kind][bits >> 3 & 1023]} {self.common[bits >> 13 & 1023]}"
            while True:
                try:
                    producer.produce("emails", f'{{"id":"m{n}","task":"u{user}","text":"{text}"}}', f"m{n}", n % self.partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
            if n % 1000 == 0:
                producer.poll(0)
                self.sent = n + 1 - len(producer)
                if stopped.is_set():
                    return
        if producer.flush(GUARD):
            raise Failed("the broker takes no messages")
        self.sent = self.messages

    def follow(self, stopped: threading.Event) -> None:
        """Reads the predictions. Many at once, as each request takes the broker's time."""
        client = self.broker.client
        consumer = client.Consumer(self.broker.options(**{"group.id": "cluster", "enable.auto.commit": False,
                                                          "fetch.min.bytes": 100_000, "fetch.wait.max.ms": 200}))
        consumer.assign([client.TopicPartition("scores", n, 0) for n in range(self.partitions)])
        while not stopped.is_set():
            for message in consumer.consume(1000, 0.2):
                if message.error():
                    raise client.KafkaException(message.error())
                n, said_spam = int(message.key()[1:]), b'"label":"spam"' in message.value()
                self.read += 1
                if not self.seen[n]:  # after a worker was killed, some come twice
                    self.seen[n] = 1
                    self.judged += 1
                    self.right.append(said_spam == self.spam[n])
        consumer.close()

    def answer(self, url: str, person: str, stopped: threading.Event) -> None:
        """Somebody who is always right, after a moment."""
        desk = Desk(url)
        while not stopped.is_set():
            question = desk.ask("POST", "/v1/next", {"annotator": person})["question"]
            time.sleep(THINKING if question else 0.02)
            if question:
                label = "spam" if self.spam[int(question["example"][1:])] else "ham"
                desk.ask("POST", "/v1/answer", {"lease": question["lease"], "label": label, "seconds": THINKING})

    def accuracy(self) -> float:
        right = list(self.right)
        return 100 * sum(right) / max(1, len(right))


class Desk:
    """Requests to the desk on one connection, so one object for each thread."""

    def __init__(self, url: str):
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=GUARD)

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        self.connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        reply = self.connection.getresponse()
        found = json.loads(reply.read())
        if reply.status not in (200, 409):  # 409: the question was withdrawn meanwhile
            raise Failed(f"{method} {path}: {found}")
        return found
