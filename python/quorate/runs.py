"""Experiments on labelled data: learners simulated, compared and tuned.

Each function does the same as the command of that name (`quorate COMMAND --help`), in this process and on the data in
memory, and returns a pandas frame. Other threads run meanwhile; Ctrl-C ends it. Times are in seconds, sizes in bytes,
shares from 0 to 1.

Data are a path (CSV, JSON lines, SVMlight, VW; packed or not) or in memory:

- `(X, y)` or `(X, y, task)`: X a NumPy array, a SciPy sparse matrix, a frame, a list of dicts of features or a list of
  texts; y has the labels (1 and -1, 1 and 0, two words, of which `positive` or the second in order means +1, or classes
  with `classes`; None for an unknown one), task the names of the tasks, whatever they are.
- a frame of pandas, polars or Arrow with the columns label, task, id and text, or those that `label_column` etc. name;
  every other column is a feature, of numbers or of words.
- a list of dicts like the lines of a JSON file: {"task": "ann", "label": 1, "x": {"free": 2, "from": "bob"}}.

A learner is a text, "cohort(noise=0.3)" (`quorate describe` lists them), or an estimator."""
from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

from quorate import _checks, _core, _data, _inputs
from quorate._options import Options, RunOptions

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame
    from typing_extensions import Unpack

    from quorate._comparison import Comparison

__all__ = ["Comparison", "compare", "simulate", "tune"]

Data = Union[str, "os.PathLike[str]", "tuple[Any, Any]", "tuple[Any, Any, Any]", "Sequence[Mapping[str, Any]]",
             "IntoDataFrame"]
Learner = object
"""A text like "cohort(noise=0.3)", or an object whose str() is one."""


F = TypeVar("F", bound=Callable[..., Any])


def _with_named_options(options: Any) -> Callable[[F], F]:
    """For functions with `**options: Unpack[...]`: signature and help list every option; an unknown one is a TypeError."""

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


@_with_named_options(RunOptions)
def simulate(data: Data, learner: Learner | None = None, *, per_task: bool = False, trace: bool = False,
             stop_when: str | None = None, forecast: float | None = None, progress: bool = False,
             **options: Unpack[RunOptions]) -> pd.DataFrame:
    """Simulates a learner on labelled data whose labels are hidden until it asks, within a label budget.

    A frame with a row for each run: its seed, its measures on unseen examples (accuracy, balanced_accuracy, f1, auc;
    NaN without any), progressive_f1 and mistakes of the predictions made before learning, labels bought, updates, seconds,
    bytes. `per_task`: the measures by run and task instead. `trace`: every step instead. `attrs` has the rest: the
    learner in full, mean and std over the runs, tasks, features, examples, limits, and of classes the confusion
    matrices (rows: the truth).

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. learner: default "cohort". stop_when: end a
    run when its audits say so, "accuracy>=0.9". forecast: how many labels will this accuracy take? progress: show a
    bar. Raises ValueError (data, with row and column; options), OSError (files), MemoryError (memory limit)."""
    if per_task and trace:
        raise ValueError("per_task and trace: expected one of them")
    pandas = _pandas()
    more = {"learner": _learner(learner), "stop_when": stop_when, "forecast": forecast, "per_task": per_task}
    read, settings = _prepare(data, {**options, **more})
    with _Bar("simulate", progress) as show:
        found, steps = map(json.loads, _call(_core.simulate, read, settings, trace, show))
    document: dict[str, Any] = found
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


@_with_named_options(RunOptions)
def compare(data: Data, learners: Sequence[Learner] | Mapping[str, Learner], *,
            label_budgets: str | Sequence[int | str] | None = None, progress: bool = False,
            **options: Unpack[RunOptions]) -> Comparison:
    """Compares learners on the same splits and orders, each with the first one.

    A frame with a row for each learner (and budget), by its text or the name that a dict gives it: each measure's mean
    over the runs, and its std; the mean of the one compared by (accuracy; progressive_f1 where there is no test set) has the
    95 % interval _low, _high; its difference from the first learner's, pair by pair, is difference with difference_low
    and difference_high. A learner's full text is its spec. `plot()` draws it.

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. label_budgets: hard limits to compare at,
    numbers or shares of the examples: [100, "5%"]. progress: show a bar. Raises as `simulate`."""
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
    read, settings = _prepare(data, dict(options))
    with _Bar("compare", progress) as show:
        found = _call(_core.compare, read, [*map(str, tried)], label_budgets or "", settings, show)
    return Comparison.of(json.loads(found), names)


@_with_named_options(Options)
def tune(data: Data, learner: Learner, grid: str | Mapping[str, Any], *, measure: str | None = None,
         folds: int | None = None, share: float | None = None, progress: bool = False,
         **options: Unpack[Options]) -> pd.DataFrame:
    """Cross-validation of a learner over a grid of parameters.

    A frame with a row for each setting, the best first: the parameters tried, the measure's mean over the folds and its
    std, the labels bought, and the learner in full. `attrs["best"]` is the best of these; of equals, the one that comes
    first in the grid.

    data: a path, (X, y), (X, y, task), a frame or dicts, see quorate.runs. grid: "c=0.1..100:20, ..." as the program
    has it (lo..hi:n is n values at equal ratios), or a dict from a parameter to a value, such a range, or a list of
    values; "query.b" is the b inside query. measure: what is best, accuracy (default), balanced_accuracy, f1, auc,
    average_precision, "recall@0.9", lift or progressive_f1. folds: default 10. share: learn from this share of the examples only. progress: show a bar. Raises as
    `simulate`."""
    pandas = _pandas()
    if isinstance(grid, Mapping):
        grid = ",".join(f"{name}=" + ",".join(map(_checks.text, values if isinstance(values, (list, tuple)) else [values]))
                        for name, values in grid.items())
    _checks.choice("measure", measure, (None, "accuracy", "balanced_accuracy", "f1", "auc", "average_precision", "recall@0.9",
                                              "lift", "progressive_f1"))
    read, settings = _prepare(data, {**options, "folds": 10 if folds is None else folds, "share": share})
    with _Bar("tune", progress) as show:
        document = json.loads(_call(_core.tune, read, str(learner), grid, measure or "accuracy", settings, show))
    by = document["measure"]
    rows = []
    for setting in document.pop("settings"):
        found = _numbers({by: setting["mean"], f"{by}_std": setting["std"], "labels": setting["labels"]})
        rows.append({**setting["parameters"], **found, "learner": setting["learner"]})
    frame: pd.DataFrame = pandas.DataFrame(rows).sort_values(by, ascending=False, kind="stable", ignore_index=True)
    frame.attrs.update(document)
    return frame


# ---- what the engine takes

_NAN = float("nan")


def _words(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "classes": lambda value: _checks.choice("classes", value, ("one-vs-rest", "one-vs-one")),
    "on_error": lambda value: _checks.choice("on_error", value, ("stop", "skip")),
    "positive": _inputs.word_of,
    "cache": os.fspath,
    "delay": str,
    "categorical_column": _words,
    "number_column": _words,
    "ignore_column": _words,
    "folds": functools.partial(_checks.whole, "folds", least=2, most=10**6),
    **{name: functools.partial(_checks.share, name) for name in ("lost", "forecast", "share")},
    "per_task": functools.partial(_checks.flag, "per_task"),
}
_OF_FILES = ("on_error", *(option["name"] for option in _core.options()["files"]))


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that are None."""
    return {name: _CHECKS.get(name, lambda value: value)(value) for name, value in options.items() if value is not None}


def _learner(learner: Learner | None) -> str:
    return "cohort" if learner is None else _checks.utf8(str(learner))


def _prepare(data: Data, options: dict[str, Any]) -> tuple[_core.ExperimentData, dict[str, Any]]:
    """The data, read, and the options of the runs."""
    given = {"data": data} if options.get("test") is None else {"data": data, "test": options["test"]}
    options = _checked({name: value for name, value in options.items() if name != "test"})
    reading = {name: options.pop(name) for name in _OF_FILES if name in options}
    if "cache" in reading and options.get("bits") == 0:
        _inputs.warn("cache has no effect with bits=0")
        del reading["cache"]
    reading["skip_bad_lines"] = reading.pop("on_error", "stop") == "skip"
    _call(_core.check_options, options)
    columns = _data.Columns(reading)
    parts = {name: _call(_data.in_memory, value, name, reading, columns) for name, value in given.items()}
    classes, positive = options.pop("classes", ""), options.pop("positive", "")
    if not classes and not positive:
        positive = _data.positive_of(parts.values())
    out = _call(_core.ExperimentData, positive, classes, options.pop("users", True), options)
    for name, value in given.items():
        warning = _call(_data.add, out, value, parts[name], name, name == "test", reading)
        if warning:
            _inputs.warn(warning)
    out.finish()
    return out, options


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the engine. Its errors name options as the program does; here they are arguments."""
    try:
        return function(*args, **kwargs)
    except (ValueError, MemoryError, OSError) as error:
        if type(error) not in (ValueError, MemoryError, OSError):
            raise
        message = str(error)
        for name in _TERMS:
            message = message.replace("--" + name.replace("_", "-"), name)
        raise type(error)(message) from None


_TERMS = sorted({name for function in (simulate, compare, tune) for name in inspect.signature(function).parameters},
                key=len, reverse=True)


class _Bar:
    """A progress bar, or none."""

    def __init__(self, title: str, wanted: bool) -> None:
        self._bar: Any = None
        if not wanted:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from None
        self._bar = tqdm(total=100, desc=title, bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")

    def __enter__(self) -> Callable[[float, int], None] | None:
        return None if self._bar is None else self._show

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, fraction: float, examples: int) -> None:
        self._bar.n = max(self._bar.n, 100 * min(fraction, 1))
        self._bar.set_postfix_str(f"{examples:,} examples")


def _numbers(values: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Any]:
    """NaN for the None that JSON has for it; only where a number is meant, if `names` says where."""
    return {key: _NAN if value is None and (names is None or key in names) else value for key, value in values.items()}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("results are pandas frames: pip install pandas") from None
    return pandas


def __getattr__(name: str) -> Any:
    if name == "Comparison":  # needs pandas, which this module does without until it is called
        _pandas()
        from quorate._comparison import Comparison

        return Comparison
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
