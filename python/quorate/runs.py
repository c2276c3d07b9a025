"""Experiments: what learners would have done on data whose labels are known, compared, tuned, and the papers' results.

Each function runs the program that this package carries and gives its results as a pandas frame; what it computes is
said in the program's documentation (docs/, `quorate COMMAND --help`). Times are in seconds, sizes in bytes, shares from
0 to 1.

Data are a path (CSV, JSON lines, SVMlight, VW; packed or not) or lie in memory:

- `(X, y)` or `(X, y, task)`: X a NumPy array, a SciPy sparse matrix, a frame, a list of dicts of features or a list of
  texts; y has the labels (1 and -1, 1 and 0, words with `positive`, or classes with `classes`; None for an unknown
  one), task the names of the tasks, whatever they are.
- a frame of pandas, polars or Arrow with the columns label, task, id and text, or those that `label_column` etc. name;
  every other column is a feature, of numbers or of words.
- a list of dicts like the lines of a JSON file: {"task": "ann", "label": 1, "x": {"free": 2, "from": "bob"}}.

What lies in memory is written to a temporary file, to the bit, which is removed at the end.

A learner is a text, "cohort(noise=0.3)" (`quorate describe` lists them), or an estimator."""
from __future__ import annotations

import functools
import inspect
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Union

from quorate._files import Columns, file_of
from quorate._program import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from narwhals.typing import IntoDataFrame
    from typing_extensions import Unpack

    from quorate._comparison import Comparison

__all__ = ["Comparison", "compare", "reproduce", "simulate", "tune"]

Data = Union[str, "os.PathLike[str]", "tuple[Any, Any]", "tuple[Any, Any, Any]", "Sequence[Mapping[str, Any]]",
             "IntoDataFrame"]
Learner = object
"""A text like "cohort(noise=0.3)", or an object whose str() is one."""


class Options(TypedDict, total=False):
    """What every experiment can be told; None is the same as not to say it.

    labels             most labels to buy: 500 in all, "50/1000" in any so many examples, "20/day" by time_column; or a
                       list of a total and a rate
    labels_per_task    most labels to buy for each task
    pace               "even": spend the labels evenly over the examples
    memory             bytes that no model exceeds, or "8MB"
    classes            labels are two or more classes, with a binary task for each ("one-vs-rest") or each pair
                       ("one-vs-one")
    rounds             what arrives before labels are bought: "each" example, the next "per-task", one for "all-tasks"
                       (as the learner needs it)
    labels_per_round   labels that learners buy in each round if they choose whom to ask (1)
    seed               of the first run (1)
    threads            runs at the same time; the result does not depend on it (1)
    positive           the label that means +1; every other label means -1
    bits               names and words are hashed to 2**bits features; 0 keeps every name (18)
    bigrams, binary    of texts: pairs of neighbouring words, too; a word counts once
    bias, normalize    a constant feature; examples are scaled to unit length (True)
    format             of files: csv, jsonl, svmlight or vw (by the ending of the name)
    task_column, label_column, id_column, text_column
                       columns or keys that mean that (task, label, id, text)
    time_column        column or key of the example's time
    categorical_column, ignore_column
                       columns of words in a CSV file (those of a frame are known by themselves); columns to leave out
    on_error           at a bad line of a file "stop", or "skip" it and warn
    cache              folder where instances of files are kept, to be taken from there when they are wanted again"""

    labels: int | str | Sequence[int | str] | None
    labels_per_task: int | None
    pace: Literal["even"] | None
    memory: int | str | None
    classes: Literal["one-vs-rest", "one-vs-one"] | None
    rounds: Literal["each", "per-task", "all-tasks"] | None
    labels_per_round: int | None
    seed: int | None
    threads: int | None
    positive: str | int | None
    bits: int | None
    bigrams: bool | None
    binary: bool | None
    bias: bool | None
    normalize: bool | None
    format: Literal["csv", "jsonl", "svmlight", "vw"] | None
    task_column: str | None
    label_column: str | None
    id_column: str | None
    text_column: str | None
    time_column: str | None
    categorical_column: str | Sequence[str] | None
    ignore_column: str | Sequence[str] | None
    on_error: Literal["stop", "skip"] | None
    cache: str | os.PathLike[str] | None


class RunOptions(Options, total=False):
    """What `simulate` and `compare` can be told beside that.

    test               data to test on
    train_per_task     learn from so many examples of each task (of each class), drawn anew in each run, and test on the
                       others
    runs               each with a seed, an order and a split of its own (1)
    passes             times each run goes through the data (1)
    in_order           go through the data as they lie, never shuffled
    audit              share of the labels that is bought at random, for nothing but an honest estimate of the accuracy
    delay              answers come after so many more examples: 100, or "lognormal(100)", which is the mean (0)
    lost               chance that an answer never comes (0)"""

    test: Data | None
    train_per_task: int | None
    runs: int | None
    passes: int | None
    in_order: bool | None
    audit: float | None
    delay: int | str | None
    lost: float | None


F = TypeVar("F", bound=Callable[..., Any])


def _tells_its_options(options: Any) -> Callable[[F], F]:
    """For functions with `**options: Unpack[...]`: signature and help name every option; one that there is not
    is a TypeError."""

    def wrap(function: F) -> F:
        own = inspect.signature(function)
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        for name, hint in options.__annotations__.items():
            text = getattr(hint, "__forward_arg__", hint)
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=text))
        signature = own.replace(parameters=parameters)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            for name in kwargs:
                if name not in signature.parameters:
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*args, **kwargs)

        texts = [inspect.cleandoc(text.__doc__ or "") for text in dict.fromkeys([Options, options])]
        tables = "\n".join(text.partition("\n\n")[2] for text in texts)
        called.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nOptions (their defaults):\n\n{tables}"
        called.__signature__ = signature  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return wrap


@_tells_its_options(RunOptions)
def simulate(data: Data, learner: Learner | None = None, *, per_task: bool = False, trace: bool = False,
             stop_when: str | None = None, forecast: float | None = None, progress: bool = False,
             **options: Unpack[RunOptions]) -> pd.DataFrame:
    """What a learner would have done on data whose labels are hidden until it asks, and how many labels it would have
    bought.

    A frame with a row for each run: its seed, its measures on unseen examples (accuracy, balanced_accuracy, f1, auc;
    NaN without any), progressive_f1 and mistakes of the predictions made before learning, labels bought, updates, seconds,
    bytes. `per_task`: the measures by run and task instead. `trace`: every step instead. `attrs` has the rest: the
    learner in full, mean and std over the runs, tasks, features, examples, limits, and of classes the confusion
    matrices (rows: the truth).

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. learner: default "cohort". stop_when: end a
    run when its audits say so, "accuracy>=0.9". forecast: how many labels will this accuracy take? progress: show a
    bar. ValueError, OSError and MemoryError say what is wrong with what."""
    if per_task and trace:
        raise ValueError("per_task and trace: expected one of them")
    pandas = _pandas()
    more = {"learner": learner, "stop_when": stop_when, "forecast": forecast, "per_task": per_task}
    document, steps = _experiment("simulate", data, {**options, **more}, progress, trace)
    runs = document.pop("runs")
    for key in ("confusion", "progressive_confusion"):
        if key in runs[0]:
            document[key] = [run[key] for run in runs]
    if trace:
        frame: pd.DataFrame = pandas.DataFrame(steps).astype({"draw": float, "label": float})
    elif per_task:
        rows = [{"run": n, "task": task, **_numbers(values)} for n, run in enumerate(runs)
                for task, values in run["per_task"].items()]
        frame = pandas.DataFrame(rows).set_index(["run", "task"])
    else:
        rows = []
        for run in runs:
            recall = {f"recall {name}": value for name, value in run.pop("recall", {}).items()}
            kept = {key: value for key, value in run.items() if not isinstance(value, (dict, list))}
            rows.append(_numbers(kept, [*document["mean"], "seed"]) | _numbers(recall))
        frame = pandas.DataFrame(rows, index=pandas.RangeIndex(len(rows), name="run"))
    frame.attrs.update(document)
    return frame


@_tells_its_options(RunOptions)
def compare(data: Data, learners: Sequence[Learner] | Mapping[str, Learner], *,
            label_budgets: str | Sequence[int | str] | None = None, progress: bool = False,
            **options: Unpack[RunOptions]) -> Comparison:
    """Several learners on the same splits and orders, and by how much each beats the first.

    A frame with a row for each learner (and budget), by its text or the name that a dict gives it: each measure's mean
    over the runs, and its std; the mean of the one compared by (accuracy; progressive_f1 where there is no test set) has the
    95 % interval _low, _high; its difference from the first learner's, pair by pair, is difference with difference_low
    and difference_high. A learner's full text is its spec. `plot()` draws it.

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. label_budgets: hard limits to compare at,
    numbers or shares of the examples: [100, "5%"]. progress: show a bar. ValueError, OSError and MemoryError say what
    is wrong with what."""
    _pandas()
    from quorate._comparison import Comparison

    if isinstance(learners, Mapping):
        names, tried = list(learners), list(learners.values())
    else:
        tried = [learners] if isinstance(learners, str) else list(learners)
        names = [str(learner) for learner in tried]
    if not tried:
        raise ValueError("learners: none; expected one or more")
    if label_budgets is not None and not isinstance(label_budgets, str):
        label_budgets = ",".join(map(str, label_budgets))
    more = {"learner": tried, "label_budgets": label_budgets}
    document, _ = _experiment("compare", data, {**options, **more}, progress)
    return Comparison.of(document, names)


@_tells_its_options(Options)
def tune(data: Data, learner: Learner, grid: str | Mapping[str, Any], *, measure: str | None = None,
         folds: int | None = None, share: float | None = None, progress: bool = False,
         **options: Unpack[Options]) -> pd.DataFrame:
    """Cross-validation of a learner over a grid of parameters.

    A frame with a row for each setting, the best first: the parameters tried, the measure's mean over the folds and its
    std, the labels bought, and the learner in full. `attrs["best"]` is the best of these; of equals, the one that comes
    first in the grid.

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. grid: "c=0.1..100:20, ..." as the program
    has it (lo..hi:n is n values at equal ratios), or a dict from a parameter to a value, such a range, or a list of
    values; "query.b" is the b inside query. measure: what is best, accuracy (default), balanced_accuracy, f1, auc or
    progressive_f1. folds: default 10. share: learn from this share of the examples only. progress: show a bar. ValueError,
    OSError and MemoryError say what is wrong with what."""
    pandas = _pandas()
    if isinstance(grid, Mapping):
        grid = ",".join(f"{name}=" + ",".join(map(_text, values if isinstance(values, (list, tuple)) else [values]))
                        for name, values in grid.items())
    more = {"learner": learner, "grid": grid, "measure": measure, "folds": folds, "share": share}
    document, _ = _experiment("tune", data, {**options, **more}, progress)
    by = document["measure"]
    rows = []
    for setting in document.pop("settings"):
        found = _numbers({by: setting["mean"], f"{by}_std": setting["std"], "labels": setting["labels"]})
        rows.append({**setting["parameters"], **found, "learner": setting["learner"]})
    frame: pd.DataFrame = pandas.DataFrame(rows).sort_values(by, ascending=False, kind="stable", ignore_index=True)
    frame.attrs.update(document)
    return frame


def reproduce(name: str, *, data: str | os.PathLike[str] = "data", papers: str | os.PathLike[str] | None = None,
              runs: int | None = None, seed: int | None = None, threads: int | None = None,
              plot_dir: str | os.PathLike[str] | None = None, report: str | os.PathLike[str] | None = None,
              progress: bool = False) -> pd.DataFrame:
    """A published table or figure beside ours; "all" for all of them, "list" for a frame of their names and titles.

    A frame with a row for each paper, group, method, setting and measure: what was published, our mean and std over the
    runs, the difference, and for a table on the paper's own data the verdict. `attrs["verdicts"]` has the verdict on
    each group, by paper and group.

    data: folder of the prepared data sets. papers: folder of the papers' files; default: the package's. runs, seed,
    threads: default: the paper's, 1, 2. plot_dir: draw the figures into this folder (by gnuplot). report: write a
    Markdown page. progress: show a bar. ValueError, OSError tell what is wrong with what."""
    pandas = _pandas()
    carried = Path(__file__).parent / "papers"
    if papers is None and carried.is_dir():
        papers = carried
    options = {"data": data, "papers": papers, "runs": runs, "seed": seed, "threads": threads, "plot_dir": plot_dir,
               "report": report, "json": True}
    found = json.loads(run("reproduce", [*_arguments(options), "--", name], progress=progress, explain=_in_python))
    if name == "list":
        titles: pd.DataFrame = pandas.DataFrame(found, columns=["name", "title"])
        return titles
    rows: list[dict[str, Any]] = []
    verdicts: dict[str, dict[str, str]] = {}
    for paper in found["papers"]:
        for group in paper["groups"]:
            verdicts.setdefault(paper["name"], {})[group["name"]] = group["verdict"]
            rows += [{"paper": paper["name"], "group": group["name"], **row} for row in _beside(group)]
    frame: pd.DataFrame = pandas.DataFrame(rows)
    frame.attrs["verdicts"] = verdicts
    return frame


def _beside(group: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a group of `reproduce --json`. What was published of a figure are its end points, beside none of
    ours."""
    methods = {method["method"]: method for method in group["methods"]}
    for result in group["results"]:
        method, table = methods[result["method"]], result["x"] is None
        for measure, ours in result["mean"].items():
            published = method["published"].get(measure, _NAN) if table else _NAN
            ours, std = (_NAN if value is None else value for value in (ours, result["std"][measure]))
            yield {"method": result["method"], "learner": result["learner"], "setting": result["setting"],
                   "measure": measure, "published": published, "ours": ours, "std": std, "difference": ours - published,
                   "verdict": method["verdict"]}
    if any(result["x"] is not None for result in group["results"]):
        for method in group["methods"]:
            for measure, published in method["published"].items():
                yield {"method": method["method"], "learner": method["learner"], "setting": "published end point",
                       "measure": measure, "published": published, "ours": _NAN, "std": _NAN, "difference": _NAN,
                       "verdict": None}


# ---- the program's side

_NAN = float("nan")
_FLAGS = ("bigrams", "binary", "in_order", "per_task", "json")


def _experiment(command: str, data: Data, options: dict[str, Any], progress: bool,
                trace: bool = False) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The JSON document of the command and, if they are asked for, the steps."""
    def names(key: str) -> list[str]:
        value = options.pop(key, None)
        return [value] if isinstance(value, str) else list(value or ())

    categorical, ignore = names("categorical_column"), names("ignore_column")
    usual = {role: options.get(f"{role}_column") for role in ("label", "task", "id", "text", "time")}
    columns = Columns(**usual, categorical=categorical, ignore=ignore)
    with tempfile.TemporaryDirectory(prefix="quorate-") as place:
        folder = Path(place)
        given = {"data": data} if options.get("test") is None else {"data": data, "test": options.pop("test")}
        files = {name: file_of(value, name, folder, columns) for name, value in given.items()}
        if options.get("format") is not None and any(file.name for file in files.values()):
            raise ValueError(f"format {options['format']!r}: expected with files only, not with data in memory")
        categorical += [word for file in files.values() for word in file.words if word not in categorical]
        options |= {"categorical_column": categorical, "ignore_column": ignore} | {n: f.path for n, f in files.items()}
        if trace:
            options["trace"] = folder / "trace.jsonl"

        def explain(message: str) -> str:
            for file in files.values():
                message = file.explain(message)
            return _in_python(message)

        document = json.loads(run(command, [*_arguments(options), "--json"], progress=progress, explain=explain))
        steps = []
        if trace:
            with open(options["trace"], encoding="utf-8") as lines:
                steps = [json.loads(line) for line in lines]
        return document, steps


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """Options as the program has them: name=value, a flag for True, the same option again for each of a list."""
    out = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or (name in _FLAGS and value is False):
            continue
        if name in ("bias", "normalize"):
            out += [] if value else [f"--no-{name}"]
        elif name in _FLAGS:
            out.append(option)
        else:
            out += [f"{option}={_text(one)}" for one in (value if isinstance(value, (list, tuple)) else [value])]
    return out


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _in_python(message: str) -> str:
    """A message of the program in this module's terms: labels_per_task for --labels-per-task."""
    def term(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        if name in ("no_bias", "no_normalize"):
            return f"{name[3:]}=False"
        return name if name in _TERMS else found[0]

    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", term, message).removesuffix(" (see quorate --help)")


_TERMS = {name for function in (simulate, compare, tune, reproduce) for name in inspect.signature(function).parameters}


def _numbers(values: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Any]:
    """NaN for the None that JSON has for it; only where a number is meant, if `names` says where."""
    return {key: _NAN if value is None and (names is None or key in names) else value for key, value in values.items()}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("results are pandas frames: pip install 'quorate[frames]'") from None
    return pandas


def __getattr__(name: str) -> Any:
    if name == "Comparison":  # needs pandas, which this module does without until it is called
        _pandas()
        from quorate._comparison import Comparison

        return Comparison
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
