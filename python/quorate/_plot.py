"""The program quorate-plot, which draws for `quorate compare --plot` and `quorate inspect --plot`.

    quorate-plot svg|png|pdf < DOCUMENT > PICTURE

DOCUMENT is {"compare": the document of compare --json, "names": of the learners, as they were given} or
{"matrix": rows, "names": of rows and columns, "title": .., "row": .., "column": ..}."""
from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def main() -> int:
    """Returns the exit code."""
    try:
        import matplotlib
        import pandas as pd  # noqa: F401
    except ImportError:
        print("pictures need matplotlib: pip install matplotlib", file=sys.stderr)
        return 1
    matplotlib.use("agg")
    # The same file from the same numbers; names are data, never formulas.
    matplotlib.rcParams |= {"svg.hashsalt": "quorate", "text.parse_math": False}
    kind = sys.argv[1]
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure = _figure(json.load(sys.stdin.buffer))
    figure.savefig(sys.stdout.buffer, format=kind, dpi=150, metadata=dated.get(kind, {}))
    return 0


def _figure(document: dict[str, Any]) -> Figure:
    if "compare" in document:
        from quorate._comparison import Comparison

        return cast("Figure", Comparison.of(document["compare"], document["names"]).plot().figure)
    import matplotlib.pyplot as plt

    names = ["".join(c if c.isprintable() else " " for c in name) for name in document["names"]]
    figure, ax = plt.subplots(layout="constrained", figsize=(6.2, 5.6))
    image = ax.imshow(document["matrix"], cmap="Greys", vmin=0)
    figure.colorbar(image, shrink=0.8)
    ticks = range(0, len(names), 1 + len(names) // 30)
    ax.set_xticks(ticks, [names[n] for n in ticks], rotation=60, ha="right")
    ax.set_yticks(ticks, [names[n] for n in ticks])
    ax.set(title=document["title"], xlabel=document["column"], ylabel=document["row"])
    return figure


if __name__ == "__main__":
    sys.exit(main())
