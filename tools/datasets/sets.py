"""The data sets: for each a function that reads its originals, checks the published counts and writes its files.

Formats, all lines ending in one newline:
  .svm    label task:NAME index:value ... # id     indices from 1, ascending; a value of 0 is left out
  .vw     label 'id |task NAME |w word ...
  .csv    id,task,label,<features>
  .jsonl  {"id": ..., "task": ..., "label": ..., "text": ...}
Binary labels are 1 and -1 (+1 and -1 in .svm), class labels 0, 1, ...; numbers are as short as reads back the same.
"""
import hashlib
import html
import io
import json
import random
import re
import struct
import tarfile
from collections import Counter
from typing import Callable, Iterable, NamedTuple

from datasets import sources
from datasets.fetch import DataError, FetchError
from datasets.output import Job


def number(value: float) -> str:
    """The shortest text that reads back as `value`; whole numbers without a decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def svm_row(label: str, task: str | None, pairs: Iterable[tuple[int, str]], example: str) -> str:
    head = f"{label} task:{task}" if task else label
    return " ".join([head, *(f"{i}:{v}" for i, v in pairs), "#", example]) + "\n"


def csv_header(features: int, digits: int) -> str:
    return ",".join(["id", "task", "label", *(f"f{i:0{digits}}" for i in range(1, features + 1))]) + "\n"


def csv_row(example: str, task: str, label: int, values: Iterable[float]) -> str:
    return ",".join([example, task, str(label), *map(number, values)]) + "\n"


def matlab(data: bytes) -> dict:
    try:
        from scipy.io import loadmat
    except ImportError:
        raise FetchError("reading MATLAB files needs scipy (pip install scipy)") from None
    return loadmat(io.BytesIO(data))


def landmine(job: Job) -> None:
    mat = matlab(job.read(sources.LANDMINE))
    features, labels = mat["feature"][0], mat["label"][0]
    job.expect("tasks", len(features), 29)
    with job.create("all.csv") as f:
        f.write(csv_header(9, 1))
        for t, (x, y) in enumerate(zip(features, labels, strict=True), 1):
            for n, (row, label) in enumerate(zip(x.tolist(), y.ravel().tolist(), strict=True), 1):
                f.write(csv_row(f"field{t:02}/{n}", f"field{t:02}", 1 if label else -1, row))
    job.expect_each("features", (x.shape[1] for x in features), 9)
    job.expect("rows per task", [len(x) for x in features],
               [690, 690, 689, 508, 509, 509, 510, 511, 508, 509, 689, 688, 508, 510, 507, 445, 449, 448, 449, 449, 451,
                454, 447, 449, 445, 448, 448, 454, 449])
    job.expect("positives per task", [int(y.sum()) for y in labels],
               [40, 48, 39, 19, 22, 29, 29, 26, 31, 15, 38, 35, 27, 31, 17, 32, 27, 31, 30, 37, 33, 39, 17, 41, 31, 36,
                36, 26, 42])
    job.expect("rows", sum(len(x) for x in features), 14820)
    job.expect("positives", sum(int(y.sum()) for y in labels), 904)


def spam(job: Job, files: list, tasks: int, rows: int, per_class: int, features: int) -> None:
    highest = 0
    labels = Counter()
    with job.create("all.svm") as f:
        for user, source in enumerate(files):
            task = f"user{user:02}"
            for n, line in enumerate(job.read(source).decode("ascii").splitlines(), 1):
                label, *pairs = line.split()
                try:
                    counts = [(int(i), int(c)) for i, _, c in (p.partition(":") for p in pairs)]
                    sign = {1: "+1", -1: "-1"}[int(label)]
                except (ValueError, KeyError):
                    raise DataError(f"{source.path}:{n}: not `label id:count ...`") from None
                indices = [i for i, _ in counts]
                if any(a >= b for a, b in zip([0, *indices], indices)):
                    raise DataError(f"{source.path}:{n}: ids do not ascend from 1")
                highest = max(highest, *indices[-1:])
                labels[task, sign] += 1
                f.write(svm_row(sign, task, ((i, str(c)) for i, c in counts if c), f"{task}/{n}"))
    job.expect("tasks", len({task for task, _ in labels}), tasks)
    job.expect("rows", labels.total(), rows)
    job.expect_each("rows per task and label", labels.values(), per_class)
    job.expect("features", highest, features)


def spam_a(job: Job) -> None:
    spam(job, sources.SPAM_A, tasks=3, rows=7500, per_class=1250, features=106780)


def spam_b(job: Job) -> None:
    spam(job, sources.SPAM_B, tasks=15, rows=6000, per_class=200, features=152543)


DOMAINS = {"books": 195887, "dvd": 188778, "electronics": 111407, "kitchen": 93474}  # and their distinct tokens


def by_domain(files: list) -> Iterable[tuple[str, int, object]]:
    """(domain, label, original), domain by domain, positive then negative."""
    for domain in DOMAINS:
        for sign, label in ("positive", 1), ("negative", -1):
            (source,) = (s for s in files if f"/{domain}" in s.path and f"/{sign}.review" in s.path)
            yield domain, label, source


def text_of(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def sentiment(job: Job) -> None:
    """Counts of tokens (words and pairs of words). A token that comes twice in a review has its counts added up."""
    index: dict[bytes, int] = {}
    tokens: dict[str, set] = {domain: set() for domain in DOMAINS}
    rows = Counter()
    repeated = 0
    with job.create("all.svm") as f:
        for domain, label, source in by_domain(sources.SENTIMENT):
            sign = "positive" if label == 1 else "negative"
            for n, line in enumerate(job.read(source).splitlines(), 1):
                *pairs, last = line.split(b" ")
                if last != b"#label#:" + sign.encode():
                    raise DataError(f"{source.path}:{n}: does not end in #label#:{sign}")
                counts = Counter()
                for pair in pairs:
                    token, colon, count = pair.rpartition(b":")
                    if not (token and colon and count.isdigit()):
                        raise DataError(f"{source.path}:{n}: not `token:count token:count ...`")
                    i = index.setdefault(token, len(index) + 1)
                    repeated += i in counts
                    counts[i] += int(count)
                tokens[domain].update(counts)
                rows[domain, label] += 1
                f.write(svm_row(f"{label:+}", domain, ((i, str(c)) for i, c in sorted(counts.items()) if c),
                                f"{domain}/{sign}/{n}"))
    with job.create("features.txt") as f:
        f.writelines(text_of(token) + "\n" for token in index)
    job.expect("tasks", len({domain for domain, _ in rows}), 4)
    job.expect("rows", rows.total(), 8000)
    job.expect_each("rows per task and label", rows.values(), 1000)
    job.expect("tokens per task", {domain: len(seen) for domain, seen in tokens.items()}, DOMAINS)
    job.expect("features", len(index), 473856)
    job.counts["tokens repeated in a row, summed"] = repeated


ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);")


def sentiment_text(job: Job) -> None:
    """The texts of the same reviews: entities resolved once, runs of white space made one space."""
    rows = Counter()
    with job.create("all.jsonl") as f:
        for domain, label, source in by_domain(sources.SENTIMENT_TEXT):
            sign = "positive" if label == 1 else "negative"
            reviews = re.findall(rb"<review>(.*?)</review>", job.read(source), re.DOTALL)
            for n, review in enumerate(reviews, 1):
                rating = re.search(rb"<rating>\s*([0-9.]+)\s*</rating>", review)
                body = re.search(rb"<review_text>(.*)</review_text>", review, re.DOTALL)
                if not rating or not body or (float(rating[1]) > 3) != (label == 1):
                    raise DataError(f"{source.path}: review {n} has no text or no {sign} rating")
                text = ENTITY.sub(lambda m: html.unescape(m[0]), text_of(body[1]))
                json.dump({"id": f"{domain}/{sign}/{n}", "task": domain, "label": label,
                           "text": " ".join(text.split())}, f, ensure_ascii=False)
                f.write("\n")
                rows[domain, label] += 1
    job.expect("tasks", len({domain for domain, _ in rows}), 4)
    job.expect("rows", rows.total(), 8000)
    job.expect_each("rows per task and label", rows.values(), 1000)


# The ten tasks: a positive and a negative newsgroup.
PAIRS = [
    ("comp.graphics", "rec.autos"),
    ("comp.os.ms-windows.misc", "rec.motorcycles"),
    ("comp.sys.ibm.pc.hardware", "rec.sport.baseball"),
    ("comp.sys.mac.hardware", "rec.sport.hockey"),
    ("comp.windows.x", "talk.politics.guns"),
    ("sci.crypt", "talk.politics.mideast"),
    ("sci.electronics", "talk.politics.misc"),
    ("sci.med", "talk.religion.misc"),
    ("sci.space", "alt.atheism"),
    ("misc.forsale", "soc.religion.christian"),
]

# Posts of each newsgroup: train, test.
POSTS = {
    "alt.atheism": (480, 319), "comp.graphics": (584, 389), "comp.os.ms-windows.misc": (591, 394),
    "comp.sys.ibm.pc.hardware": (590, 392), "comp.sys.mac.hardware": (578, 385), "comp.windows.x": (593, 395),
    "misc.forsale": (585, 390), "rec.autos": (594, 396), "rec.motorcycles": (598, 398),
    "rec.sport.baseball": (597, 397), "rec.sport.hockey": (600, 399), "sci.crypt": (595, 396),
    "sci.electronics": (591, 393), "sci.med": (594, 396), "sci.space": (593, 394),
    "soc.religion.christian": (599, 398), "talk.politics.guns": (546, 364), "talk.politics.mideast": (564, 376),
    "talk.politics.misc": (465, 310), "talk.religion.misc": (377, 251),
}


def news(job: Job) -> None:
    """The set of words of each post's body, which starts after the first empty line. Sorted by group and number."""
    label_of = {}
    for pair in PAIRS:
        for group, label in zip(pair, (1, -1)):
            label_of[group] = label, "/".join(pair)
    rows: dict[str, list] = {"train": [], "test": []}
    with tarfile.open(fileobj=io.BytesIO(job.read(sources.NEWS))) as tar:
        for entry in tar:
            place = re.fullmatch(r"(?:\./)?20news-bydate-(train|test)/([a-z.-]+)/(\d+)", entry.name)
            if not (place and entry.isfile()):
                continue
            part, group, post = place.groups()
            if group not in label_of:
                raise DataError(f"{entry.name}: not one of the 20 groups")
            body = tar.extractfile(entry).read().replace(b"\r\n", b"\n").partition(b"\n\n")[2]
            words = sorted(set(re.findall("[a-z][a-z]+", body.decode("latin-1").lower())))
            rows[part].append((group, int(post), words))
    for column, (part, posts) in enumerate(rows.items()):
        posts.sort()
        with job.create(f"{part}.vw") as f:
            for group, post, words in posts:
                label, task = label_of[group]
                f.write(" ".join([str(label), f"'{group}/{post}", "|task", task, "|w", *words]) + "\n")
        job.expect(f"{part} rows per group", dict(Counter(group for group, _, _ in posts)),
                   {group: counts[column] for group, counts in POSTS.items()})
        job.expect(f"{part} rows", len(posts), (11314, 7532)[column])
        job.counts[f"{part} rows without words"] = sum(not words for _, _, words in posts)
    job.expect("tasks", len({task for _, task in label_of.values()}), 10)
    job.counts["words"] = len({w for posts in rows.values() for _, _, words in posts for w in words})


def school(job: Job) -> None:
    """Label 1 for a score over 29, the 75th percentile; columns that are not binary are scaled to [0, 1]."""
    mat = matlab(job.read(sources.SCHOOL))
    if "X" in mat:
        schools = [(x.tolist(), y.ravel().tolist()) for x, y in zip(mat["X"][0], mat["Y"][0], strict=True)]
    else:  # one matrix, a column for each pupil, and the first pupil of each school counted from 1
        x, y = mat["x"].T.tolist(), mat["y"].ravel().tolist()
        starts = [int(s) - 1 for s in mat["task_indexes"].ravel()]
        schools = [(x[a:b], y[a:b]) for a, b in zip(starts, [*starts[1:], len(y)])]
    columns = list(zip(*(row for x, _ in schools for row in x), strict=True))
    scores = [score for _, y in schools for score in y]
    job.expect("tasks", len(schools), 139)
    job.expect("rows", len(scores), 15362)
    kept = [(j, min(c), max(c)) for j, c in enumerate(columns) if min(c) < max(c)]
    job.expect("features", len(kept), 27)
    scaled = [j for j, _, _ in kept if set(columns[j]) - {0, 1}]
    job.expect("columns scaled", [f"f{k:02}" for k, (j, _, _) in enumerate(kept, 1) if j in scaled], ["f04", "f05"])
    with job.create("all.csv") as f:
        f.write(csv_header(27, 2))
        for t, (x, y) in enumerate(schools, 1):
            for n, (row, score) in enumerate(zip(x, y, strict=True), 1):
                values = ((row[j] - low) / (high - low) if j in scaled else row[j] for j, low, high in kept)
                f.write(csv_row(f"school{t:03}/{n}", f"school{t:03}", 1 if score > 29 else -1, values))
    positives = sum(score > 29 for score in scores)
    job.expect("positives", positives, 3608)
    job.counts["share of positives"] = round(positives / len(scores), 4)


def usps(job: Job) -> None:
    wanted = {"train": [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644],
              "test": [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]}
    for part in wanted:
        (source,) = (s for s in sources.USPS if part in s.path)
        classes = [0] * 10
        with job.create(f"{part}.svm") as f:
            for n, line in enumerate(job.read(source).decode("ascii").splitlines(), 1):
                digit, *values = map(float, line.split())
                if len(values) != 256 or digit not in range(10):
                    raise DataError(f"{source.path}:{n}: not a digit and 256 grey values")
                classes[int(digit)] += 1
                f.write(svm_row(str(int(digit)), None, ((i, number(v)) for i, v in enumerate(values, 1) if v),
                                f"{part}/{n}"))
        job.expect(f"{part} rows per class", classes, wanted[part])
        job.expect(f"{part} rows", sum(classes), sum(wanted[part]))
    job.counts["features"] = 256


def mnist(job: Job) -> None:
    wanted = {"train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
              "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]}
    for part, prefix in ("train", "train"), ("test", "t10k"):
        pixels, labels = (job.read(s) for kind in ("images", "labels") for s in sources.MNIST
                          if f"/{prefix}-{kind}" in s.path)
        magic, count, height, width = struct.unpack(">4i", pixels[:16])
        if (magic, height, width) != (2051, 28, 28) or struct.unpack(">2i", labels[:8]) != (2049, count):
            raise DataError(f"{prefix}: not IDX files of 28 x 28 images and their labels")
        classes = [0] * 10
        with job.create(f"{part}.svm") as f:
            for n, digit in enumerate(labels[8:]):
                image = pixels[16 + 784 * n:16 + 784 * (n + 1)]
                classes[digit] += 1
                f.write(svm_row(str(digit), None, ((i, v) for i, v in enumerate(image, 1) if v), f"{part}/{n + 1}"))
        job.expect(f"{part} rows per class", classes, wanted[part])
        job.expect(f"{part} rows", count, sum(wanted[part]))
    job.counts["features"] = 784


def vowel(job: Job) -> None:
    """Deterding's vowels: the speakers of the test part are not those of the training part."""
    rows = {"0": [], "1": []}
    for n, line in enumerate(job.read(sources.VOWEL).decode("ascii").splitlines(), 1):
        fields = line.split()
        if len(fields) != 14 or fields[0] not in rows:
            raise DataError(f"{sources.VOWEL.path}:{n}: not 14 numbers")
        rows[fields[0]].append((int(fields[1]), int(fields[13]), [float(v) for v in fields[3:13]]))
    for part, of_part in zip(("train", "test"), rows.values()):
        seen = Counter()
        with job.create(f"{part}.csv") as f:
            f.write(csv_header(10, 1))
            for speaker, label, values in of_part:
                task = f"speaker{speaker:02}"
                seen[task] += 1
                f.write(csv_row(f"{task}/{seen[task]}", task, label, values))
    everything = [*rows["0"], *rows["1"]]
    job.expect("train rows", len(rows["0"]), 528)
    job.expect("test rows", len(rows["1"]), 462)
    speakers, classes = Counter(s for s, _, _ in everything), Counter(c for _, c, _ in everything)
    job.expect("tasks", len(speakers), 15)
    job.expect("classes", sorted(classes), list(range(11)))
    job.expect_each("rows per task", speakers.values(), 66)
    job.expect_each("rows per class", classes.values(), 90)
    job.counts["features"] = 10


def digits(job: Job) -> None:
    """Ten tasks "is it a 0?" ... "is it a 9?": all images of the digit and as many drawn from the others."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise FetchError("this set comes with scikit-learn (pip install scikit-learn)") from None
    data = load_digits()
    images, labels = data.data.astype(int).tolist(), data.target.tolist()
    digest = hashlib.sha256(b"".join(bytes([*image, label]) for image, label in zip(images, labels))).hexdigest()
    job.sources["scikit-learn load_digits"] = digest
    job.expect("images per digit", [labels.count(c) for c in range(10)],
               [178, 182, 177, 183, 181, 182, 181, 179, 174, 180])
    draw = random.Random(0)
    rows = 0
    with job.create("all.svm") as f:
        for c in range(10):
            of_c = [n for n, label in enumerate(labels) if label == c]
            others = draw.sample([n for n, label in enumerate(labels) if label != c], len(of_c))
            for n in sorted([*of_c, *others]):
                f.write(svm_row("+1" if labels[n] == c else "-1", f"is-{c}",
                                ((i, v) for i, v in enumerate(images[n], 1) if v), f"is-{c}/{n}"))
                rows += 1
    job.expect("rows", rows, 3594)
    job.counts |= {"tasks": 10, "features": 64}


def wisdm(job: Job) -> None:
    """A table as people have them, as it is: columns of numbers on scales of their own, `?` where one is missing."""
    data = job.read(sources.WISDM)
    header, *rows = (line.split(",") for line in data.decode("ascii").splitlines())
    job.expect("columns", len(header), 46)
    job.expect_each("fields of a row", map(len, rows), 46)
    with job.create("all.csv") as f:
        f.writelines(",".join(row) + "\n" for row in [header, *rows])
    job.expect("rows", len(rows), 5418)
    job.expect("users", len({row[1] for row in rows}), 36)
    job.expect("rows with a missing value", sum("?" in row for row in rows), 474)
    job.expect("classes", sorted(Counter(row[-1] for row in rows).values()), [246, 306, 528, 632, 1625, 2081])
    job.counts["features"] = 43


class Set(NamedTuple):
    write: Callable[[Job], None]
    about: str


SETS = {
    "landmine": Set(landmine, "29 mine fields, 9 features, 6 % mines (CSV)"),
    "spam-a": Set(spam_a, "3 users' mail, 2,500 each, word counts (SVMlight)"),
    "spam-b": Set(spam_b, "15 users' mail, 400 each, word counts (SVMlight)"),
    "sentiment": Set(sentiment, "reviews of 4 kinds of goods, counts of words and pairs of words (SVMlight)"),
    "sentiment-text": Set(sentiment_text, "the same reviews as text (JSON lines)"),
    "news": Set(news, "20 newsgroups as 10 tasks, sets of words (VW text)"),
    "school": Set(school, "139 schools, pupils with good exams, 27 features (CSV)"),
    "usps": Set(usps, "handwritten digits 16 x 16, 10 classes (SVMlight)"),
    "mnist": Set(mnist, "handwritten digits 28 x 28, 10 classes (SVMlight)"),
    "vowel": Set(vowel, "11 vowels by 15 speakers, 10 features (CSV)"),
    "wisdm": Set(wisdm, "phones in pockets, 36 users, 6 activities, 43 unscaled number columns, missing values (CSV)"),
    "digits": Set(digits, "scikit-learn's 8 x 8 digits as 10 tasks (SVMlight)"),
}
