"""Four Ray actors judge a stream of emails by one model, and share one label budget.

    quorate serve --dir desk --positive spam --negative ham --labels 500    # people answer on its page
    python docs/ray_actors.py http://127.0.0.1:8717 emails.jsonl

Each actor follows the server's log (`quorate.follow`), so it learns from every label that anybody gives.
"""

import itertools
import json
import sys

import quorate
import ray


@ray.remote
class Judge:
    def __init__(self, url: str, source: str) -> None:
        self.follower = quorate.follow(url, source=source)

    def decide(self, emails: list[dict]) -> list[dict]:
        return self.follower.decide(emails)

    def close(self) -> int:
        self.follower.close()  # when the server has what was asked
        return self.follower.labels


def main(url: str, path: str, actors: int = 4, at_once: int = 100) -> int:
    """Prints a line for each email. Returns the number of labels that all have bought."""
    judges = [Judge.remote(url, f"{path}, part {n}") for n in range(actors)]
    with open(path) as file:
        emails = map(json.loads, file)
        parts = iter(lambda: list(itertools.islice(emails, at_once)), [])
        for said in ray.util.ActorPool(judges).map(lambda judge, part: judge.decide.remote(part), parts):
            print("\n".join(json.dumps(one) for one in said))
    return max(ray.get([judge.close.remote() for judge in judges]))


if __name__ == "__main__":
    print(f"{main(*sys.argv[1:3])} labels bought", file=sys.stderr)
