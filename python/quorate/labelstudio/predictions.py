"""The learner's predictions in Label Studio's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorate.client import Client, ServerError
from quorate.labelstudio.common import META, Json
from quorate.labelstudio.form import Form


def of_question(server: Client, ticket: int, form: Form) -> Json | None:
    """The prediction for an open question in Label Studio's form; None for an audit, whose prediction stays hidden."""
    try:
        found = server.explain(ticket)
    except ServerError as error:
        if error.status not in (403, 404):
            raise
        return None
    if found.get("audit") or "probability" not in found or found.get("towards") not in form.choices:
        return None
    return _prediction(form, found["towards"], found["probability"])


def _prediction(form: Form, label: str, probability: float) -> Json:
    """`probability` is that of `label`."""
    if len(form.choices) == 2 and probability < 0.5:
        label, probability = next(c for c in form.choices if c != label), 1 - probability
    return {"model_version": META, "score": probability, "result": form.result(label, probability)}


def of_tasks(server: Client, body: Mapping[str, Any]) -> list[Json]:
    """The reply to /predict of the ML backend protocol."""
    form = Form.read(str(body.get("label_config") or ""))
    tasks = list(body.get("tasks") or [])
    ours = [isinstance((task.get("meta") or {}).get(META), dict) for task in tasks]
    rows = [{"id": f"label studio {n}"} | dict(task.get("data") or {}) for n, task in enumerate(tasks) if not ours[n]]
    found = iter(server.predict(rows))
    out: list[Json] = []
    for task, own in zip(tasks, ours, strict=True):
        if own:
            one = of_question(server, int(task["meta"][META]["ticket"]), form)
        else:
            row = next(found, {})
            one = None
            if row.get("label") in form.choices:
                positive = row.get("probability")
                likely = row.get("probabilities", {}).get(row["label"], positive)
                if likely is None:
                    likely = 0.5
                elif positive is not None:
                    likely = max(positive, 1 - positive)
                one = _prediction(form, row["label"], likely)
        out.append(one or {"model_version": META, "score": 0.0, "result": []})
    return out
