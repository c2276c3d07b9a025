"""Replays a recorded stream through a reference learner, one example after the other.

A step is one line of a trace: {"task": int, "x": prepared dense instance, "label": +1 or -1,
"draw": float in [0, 1), or None when the query rule draws nothing}.

Round: margin, then the query rule on that margin and that draw, then, only if the label was asked
for, learn.  The true label is not read otherwise.

Settled by the notes: when the label budget `labels` is spent the learner predicts on over the rest of
the stream and asks no more.  Each later step still has its draw, and its probability is still the one
the query rule gives; only `asked` is forced to False.  Every label asked for costs one, mistake or not.
"""


def replay(learner, steps, labels=None):
    bought = 0
    rounds = []
    for step in steps:
        task, x = step["task"], step["x"]
        margin = learner.margin(task, x)
        probability, asked = learner.ask(task, margin, step["draw"])
        if labels is not None and bought >= labels:
            asked = False
        updated = False
        if asked:
            bought += 1
            updated = learner.learn(task, x, step["label"])
        rounds.append({"margin": margin, "probability": probability, "asked": asked, "updated": updated})
    return rounds
