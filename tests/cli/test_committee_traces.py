"""Every step of a traced run of peer and amlc equals the literal references, replayed with the draws the trace recorded."""
import pytest
import test_traces
from test_traces import K, D, LABELS, TASKS, X

from reference import amlc, peer

PEER = [dict(share=share, b=b) for share in ("none", "peers", "all") for b in (1.0,)] + [dict(b=0.2, bq=0.2, share="all"), dict(bq=1.0, c=3.0, share="peers")]
AMLC = [dict(rows=rows, share=share, weigh=weigh) for rows in ("tasks", "one") for share in ("label", "prediction", "none")
        for weigh in ("bought", "mistake")] + [dict(b=0.2, c=1.0, cap=0.5, share="prediction")]


def check(quorate, monkeypatch, module, learner, options, labels):
    as_written = {"b": "query=margin(b={})"} if module is amlc else {}
    text = ", ".join(as_written.get(key, key + "={}").format(value) for key, value in options.items())
    monkeypatch.setattr(test_traces, "spec", lambda *_: f"{module.__name__.split('.')[-1]}({text})")
    lines = test_traces.trace(quorate, "", None, "", "--passes", 2, *(() if labels is None else ("--labels", labels)))
    steps = [{"task": TASKS[t["example"]], "x": X[t["example"]], "label": LABELS[t["example"]],
              "draws": [t["draw"], t.get("peer_draw", 0.5)]} for t in lines]
    rounds = module.replay(learner(K, D + 1, **options), steps, labels)
    assert len(lines) == len(rounds) == 100
    for n, (t, r) in enumerate(zip(lines, rounds)):
        answered = r.get("answer") is not None  # the peers' answer is the prediction
        margin = r["peer_margin"] if answered else r["margin"]
        assert margin == 0 or abs(margin) > 1e-5, f"step {n}: a margin too near 0 to compare; take another seed"
        assert abs(t["draw"] - r["probability"]) > 1e-5, f"step {n}: a draw too near to compare; take another seed"
        assert t["margin"] == pytest.approx(margin, rel=1e-5, abs=1e-6), f"step {n}"
        probability = r["probability"] * (r.get("peer_probability") or 1)
        assert t["probability"] == pytest.approx(probability, rel=1e-5, abs=1e-6), f"step {n}"
        assert t["asked"] == r["asked"], f"step {n}"
        assert t["updated"] == (r["asked"] and (r["updated"] or bool(r["shared"]))), f"step {n}"
        assert ("peer_draw" in t) == (r.get("peer_margin") is not None), f"step {n}"
        if "peer_draw" in t:
            assert t["peer_margin"] == pytest.approx(r["peer_margin"], rel=1e-5, abs=1e-6), f"step {n}"
    return rounds


@pytest.mark.parametrize("labels", [None, 10])
@pytest.mark.parametrize("options", PEER, ids=str)
def test_every_step_of_peer_equals_the_literal_reference(quorate, monkeypatch, options, labels):
    rounds = check(quorate, monkeypatch, peer, peer.Peer, options, labels)
    assert any(r["answer"] is not None for r in rounds) and any(r["asked"] for r in rounds)
    if options["share"] != "none" and labels is None:
        assert any(r["shared"] for r in rounds)


@pytest.mark.parametrize("labels", [None, 10])
@pytest.mark.parametrize("options", AMLC, ids=str)
def test_every_step_of_amlc_equals_the_literal_reference(quorate, monkeypatch, options, labels):
    rounds = check(quorate, monkeypatch, amlc, amlc.Amlc, options, labels)
    assert any(r["asked"] for r in rounds) and not all(r["asked"] for r in rounds)
    if options["share"] != "none" and labels is None:
        assert any(r["shared"] for r in rounds)
