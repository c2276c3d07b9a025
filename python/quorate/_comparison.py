"""The result of `quorate.runs.compare`."""
from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quorate.runs import _numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIFFERENCE = (("", "difference"), ("_low", "low"), ("_high", "high"))


class Comparison(pd.DataFrame):
    """Learners (and label budgets) by measures, see `quorate.runs.compare`; `document` is the JSON document.
    A selection or a copy of it is an ordinary frame."""

    _metadata = ["document"]
    document: dict[str, Any]

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @classmethod
    def of(cls, document: dict[str, Any], names: Sequence[str]) -> Comparison:
        """document: of `compare --json`; names: of the learners, as they were given."""
        by, entries = document["compared_by"], document["learners"]
        rows = []
        for entry in entries:
            row: dict[str, Any] = {}
            for measure, mean in entry["mean"].items():
                row |= {measure: mean, f"{measure}_std": entry["std"][measure]}
                if measure == by:
                    row |= {f"{measure}_{end}": entry["interval"][end] for end in ("low", "high")}
            against = entry["against_first"]
            row |= {"difference" + end: against[key] for end, key in _DIFFERENCE}
            rows.append(_numbers(row) | {"spec": entry["learner"]})
        budgets = [entry["label_budget"] for entry in entries]
        learners = [names[n * len(names) // len(entries)] for n in range(len(entries))]
        index = (pd.Index(learners, name="learner") if budgets[0] is None else
                 pd.MultiIndex.from_arrays([learners, budgets], names=["learner", "label_budget"]))
        out: Comparison = cls(rows, index=index)
        out.document = document
        return out

    @property
    def compared_by(self) -> str:
        """The measure that `difference` is of: "accuracy" or "progressive_f1"."""
        return str(self.document["compared_by"])

    @property
    def runs(self) -> pd.DataFrame:
        """The measures of every run, with its learner, label budget (if there are any) and number."""
        rows = []
        for key, entry in zip(self.index, self.document["learners"]):
            names = dict(zip(self.index.names, key if isinstance(key, tuple) else [key]))
            rows += [names | {"run": n} | _numbers(run) for n, run in enumerate(entry["runs"])]
        frame: pd.DataFrame = pd.DataFrame(rows)
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws what learners are compared by: against the labels bought if there are label budgets, else as bars; with
        95 % intervals of the means. If any learner's probabilities are calibrated, a second panel has them beside what
        came of them, at the largest budget. On `ax`, if one is given, the first panel alone. Returns the axes of the
        first panel; its figure is `.figure`."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("pictures need matplotlib: pip install matplotlib") from None
        budgets = self.index.nlevels > 1
        names = list(dict.fromkeys(self.index.get_level_values("learner")))
        look: dict[str, dict[str, Any]] = {
            name: {"color": f"C{n % 10}", "marker": "osD^vP*X"[n % 8]} for n, name in enumerate(names)}
        reliable = self._reliability() if ax is None else {}
        if ax is None:
            height = 3.6 if budgets else max(2.6, 1.1 + 0.42 * len(names))
            if reliable:
                height = max(height, 3.6)
            keys = 0.24 * len(names) if budgets else 0
            figure, panels = plt.subplots(1, 2 if reliable else 1, squeeze=False, layout="constrained",
                                          figsize=(9.5 if reliable else 6, height + keys),
                                          width_ratios=[1.5, 1] if reliable else [1])
            ax = panels[0, 0]
            assert ax is not None
            if reliable:
                self._draw_reliability(panels[0, 1], reliable, look)
            if budgets:
                self._draw_curves(ax, look)
                figure.legend(*ax.get_legend_handles_labels(), loc="outside lower left", frameon=False)
                return ax
        if budgets:
            self._draw_curves(ax, look)
            ax.legend(frameon=False)
        else:
            self._draw_bars(ax, look)
        return ax

    def _draw_curves(self, ax: Axes, look: dict[str, dict[str, Any]]) -> None:
        by = self.compared_by
        for name, style in look.items():
            rows = self[self.index.get_level_values("learner") == name].sort_values("labels")
            spread = [rows[by] - rows[f"{by}_low"], rows[f"{by}_high"] - rows[by]]
            ax.errorbar(rows["labels"], rows[by], yerr=None if rows[f"{by}_low"].isna().any() else spread, label=name,
                        capsize=2, markersize=5, linewidth=1.5, elinewidth=1, **style)
        if self["labels"].min() > 0 and self["labels"].max() > 20 * self["labels"].min():
            ax.set_xscale("log")
        ax.set(xlabel="labels bought", ylabel=self._measured())
        _tidy(ax)

    def _draw_bars(self, ax: Axes, look: dict[str, dict[str, Any]]) -> None:
        by, places = self.compared_by, list(range(len(self)))
        values, low, high = self[by], self[f"{by}_low"], self[f"{by}_high"]
        ax.barh(places, values, color=[look[name]["color"] for name in self.index], height=0.7)
        for place, value, begin, end, labels in zip(places, values, low, high, self["labels"]):
            if end == end:
                ax.errorbar(value, place, xerr=[[value - begin], [end - value]], color="black", capsize=2, elinewidth=1)
            ax.annotate(f"{value:.3f}, {labels:,.0f} labels", (end if end == end else value, place), xytext=(5, 0),
                        textcoords="offset points", va="center", fontsize="small")
        ax.set_yticks(places, ["\n".join(textwrap.wrap(name, 34)) for name in self.index])
        ax.invert_yaxis()
        ax.set(xlabel=self._measured(), xlim=(0, 1.45))
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        _tidy(ax)
        ax.spines["bottom"].set_bounds(0, 1)
        ax.grid(visible=False, axis="y")

    def _reliability(self) -> dict[str, list[dict[str, float]]]:
        """By learner, at the largest budget, where there is any."""
        out: dict[str, tuple[int, Any]] = {}
        for name, entry in zip(self.index.get_level_values("learner"), self.document["learners"]):
            budget = entry["label_budget"] or 0
            if entry["reliability"] and budget >= out.get(name, (0,))[0]:
                out[name] = budget, entry["reliability"]
        return {name: bins for name, (_, bins) in out.items()}

    @staticmethod
    def _draw_reliability(ax: Axes, reliable: dict[str, list[dict[str, float]]],
                          look: dict[str, dict[str, Any]]) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1)
        for name, bins in reliable.items():
            given, came = ([each[key] for each in bins] for key in ("probability", "positive"))
            ax.plot(given, came, markersize=5, linewidth=1.5, **look[name])
        ends = (-0.02, 1.02)
        ax.set(xlabel="probability given", ylabel="share that was positive", xlim=ends, ylim=ends, aspect="equal")
        _tidy(ax)

    def _measured(self) -> str:
        by = "accuracy on unseen examples" if self.compared_by == "accuracy" else "F1 of predictions before learning"
        runs = self.document["runs"]
        return by if runs == 1 else f"{by}\nmean of {runs} runs, 95 % interval"


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
