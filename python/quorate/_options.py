# Made by tools/stubs.py from the options that the engine declares; a test compares.
"""The options of experiments (quorate.runs): names, types and meanings."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict


class Options(TypedDict, total=False):
    """Options of every experiment; None means the default.

    labels             label budget, a hard limit: 500 (in total), 50/1000 (at most 50 in any 1,000 examples), 20/day
                       (or second, minute, hour, week; by the time of the examples, in serve by its clock), or, where
                       all examples are known beforehand, a share of them, as 10%; several: a list, for a total and a
                       rate (default: none)
    labels_per_task    label budget of each task, a hard limit (default: none)
    pace               even: spend the total of the labels evenly over the examples, by scaling the b of the query
                       rule; default: as the rule asks (a rate always scales b)
    memory             memory limit of a model in bytes, as 8MB (KB, MB, GB; KiB, MiB, GiB): budget-* learners evict,
                       cohort uses tables that fit, others stop with an error (default: none)
    rounds             examples predicted before labels are bought: one (each), one of every task (per-task), or one
                       instance for all tasks (all-tasks); default: per-task for learners that select, all-tasks with
                       classes, else each
    labels_per_round   labels bought in each round, by learners that select (default: 1)
    seed               random seed (default: 1)
    bits               hash names and words to 2^bits features; 0 keeps all names (default: 18)
    bias               a constant feature (default: True)
    normalize          scaling of examples to unit length (default: True)
    ngrams             text: up to N neighbouring words are features, too (default: 1)
    char_ngrams        text: N neighbouring letters of a word are features, too (default: 0)
    binary             text: count each word once (default: False)
    interactions       products of the features of two columns, namespaces or kinds, as user*channel or number*number
                       (several: a list)
    format             csv, jsonl, svmlight or vw; default: by the file name
    task_column        column, JSON key or VW namespace of the task (default: task)
    label_column       column or JSON key of the label (default: label)
    time_column        column, JSON key or VW namespace of the time: seconds (or milliseconds ..) since 1970, or a
                       date as 2026-11-21 or 2026-11-21T13:15:00Z (default: none, and a column called time is a
                       feature; SVMlight: time:TIME, always read)
    weight_column      column or JSON key of the importance weight of the label, 0 to 1000; 0: as if there were no
                       label (default: none; VW text: the importance, always read)
    id_column          column or JSON key of the example's id (default: id)
    text_column        column or JSON key of raw text (default: text, and what looks like text)
    categorical_column columns or JSON keys of words, as a,b (several: a list; default: by their values)
    number_column      columns or JSON keys of numbers, as a,b (several: a list; default: by their values)
    ignore_column      columns, JSON keys, VW namespaces or SVMlight indices to leave out, as a,b (several: a list)
    missing            values of CSV and JSON that are missing, as -,none (several: a list)
    unlabelled         labels that mean that there is none, as ignore,skip (several: a list)
    labels_as_written  take labels to the byte: NA and null are labels, "Spam" is none that means "spam" (default:
                       False)
    time_parts         hour and weekday of dates and times as features (default: False)
    delimiter          CSV: the character between fields, or tab (default: by the header)
    header             CSV: the names of the columns of a file without a header, as a,b,c; or none: column 1, column
                       2, ..
    encoding           of the text, as latin-1, windows-1252 or utf-16 (default: UTF-8, or UTF-16 if it begins with
                       its mark)
    quote              CSV: none, if quotes are characters like others (default: as RFC 4180 says)
    escape             CSV: what stands before a quote inside of quotes, as \\ (default: another quote)
    decimal            CSV: what begins the decimals of a number, . or , (default: by the first rows)
    thousands          CSV: what stands between thousands, as . in 1.234,5 (default: by the first rows)
    cache              folder that caches parsed examples for later commands; larger than text, safe to delete
    threads            runs at the same time; results do not depend on it (default: 1)
    classes            labels are two or more classes, learned as a binary task for each or for each pair; tasks in
                       the data are then users, each with its own weights for every class
    users              with classes: look at the tasks in the data (default: True)
    positive           label that means +1; every other label means -1 (default: of two words in memory the second in
                       order)
    on_error           stop at a bad line of a file, or skip it and warn (default: stop)"""

    labels: int | str | Sequence[int | str] | None
    labels_per_task: int | None
    pace: Literal["even"] | None
    memory: int | str | None
    rounds: Literal["each", "per-task", "all-tasks"] | None
    labels_per_round: int | None
    seed: int | None
    bits: int | None
    bias: bool | None
    normalize: bool | None
    ngrams: int | None
    char_ngrams: int | None
    binary: bool | None
    interactions: str | Sequence[str] | None
    format: Literal["csv", "jsonl", "svmlight", "vw"] | None
    task_column: str | None
    label_column: str | None
    time_column: str | None
    weight_column: str | None
    id_column: str | None
    text_column: str | None
    categorical_column: str | Sequence[str] | None
    number_column: str | Sequence[str] | None
    ignore_column: str | Sequence[str] | None
    missing: str | Sequence[str] | None
    unlabelled: str | Sequence[str] | None
    labels_as_written: bool | None
    time_parts: bool | None
    delimiter: str | None
    header: str | Sequence[str] | None
    encoding: str | None
    quote: str | None
    escape: str | None
    decimal: str | None
    thousands: str | None
    cache: str | os.PathLike[str] | None
    threads: int | None
    classes: Literal["one-vs-rest", "one-vs-one"] | None
    users: bool | None
    positive: str | int | None
    on_error: Literal["stop", "skip"] | None


class RunOptions(Options, total=False):
    """More options of `simulate` and `compare`.

    test               data to test on, of the same kinds as the data
    train_per_task     learn from N random examples of each task (or class) in each run, and test on the others
                       (default: 0)
    test_share         test on this share of the examples, drawn anew in each run (with in-order: the last ones), and
                       learn from the others (default: 0)
    runs               number of runs, each with its own seed, order and split (default: 1)
    passes             passes of each run over the data (default: 1)
    in_order           keep the file's order, for streams that drift (default: False)
    audit              share of the labels, as 0.1, bought at random and used only to estimate the true accuracy;
                       label budgets include them (default: 0)
    audit_floor        chance of every example to be audited, at least, also when the learner asks for nothing; needs
                       audit, and label budgets include these audits (default: 0.002 with audit)
    delay              examples until an answer comes: 100, or lognormal(100), which is the mean (default: 0)
    lost               probability that an answer never comes (default: 0)"""

    test: Any | None
    train_per_task: int | None
    test_share: float | None
    runs: int | None
    passes: int | None
    in_order: bool | None
    audit: float | None
    audit_floor: float | None
    delay: int | str | None
    lost: float | None
