#!/usr/bin/env python3
"""Reads files that others wrote, with Quorate and with their owners' readers, and compares what both understood.

usage: foreign_files.py FOLDER PROGRAM [--list VERDICT]

FOLDER has a folder for each owner: vw (test/train-sets of VW's repository), duckdb (data/csv of DuckDB's), pandas (*.csv), json
(test_parsing of JSONTestSuite, each file as the value of a key). Needs pandas, duckdb and vowpalwabbit. Prints a table by owner and
reason; --list prints the files whose verdict begins with VERDICT, as different, each with its first difference or the message.
"""

import collections
import csv
import gzip
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import duckdb
import pandas
from vowpalwabbit import pyvw

Counter = collections.Counter
MISSING = {"", "?", "na", "n/a", "nan", "null"}
KEYS = {"id", "task", "label", "text"}  # columns that convert writes beside the features
NUMBERS = {"number", "count", "flag"}


def run(*command):
    """Standard output, if it worked, and what the program said."""
    done = subprocess.run(command, capture_output=True, timeout=60)
    said = done.stderr.decode("utf-8", "replace").replace("quorate: ", "").strip()
    return done.stdout.decode() if done.returncode == 0 else None, said if done.returncode in (0, 1, 2) else f"CRASH {done.returncode} {said}"


def convert(program, path, *options):
    out, said = run(program, "convert", path, "-", "--to", "jsonl", *options)
    return [json.loads(line) for line in out.split("\n") if line] if out is not None else None, said


def reason(said, path):
    """A message without what differs from file to file."""
    said = said.split("\n")[0].replace(str(path), "FILE")
    for pattern, text in ((r"'[^']*'", "'..'"), (r"byte 0x..", "byte 0x.."), (r"((?:categorical|time)-column) [^)]*", r"\1 .."), (r"\d+", "N")):
        said = re.sub(pattern, text, said)
    return said[:150]


def number(text):
    try:
        return float(text)
    except (ValueError, TypeError, OverflowError):
        return math.nan


def by_pandas(path):
    """The table: header, rows of text, columns that are numbers."""
    frame = pandas.read_csv(path, dtype=str, keep_default_na=False, index_col=False)
    numbers = pandas.read_csv(path, index_col=False).select_dtypes("number").columns
    return [str(name) for name in frame.columns], [[str(cell) for cell in row] for row in frame.itertuples(index=False, name=None)], {*map(str, numbers)}


def by_duckdb(path):
    name = str(path).replace("'", "''")
    kinds = duckdb.sql(f"describe select * from read_csv('{name}')").fetchall()
    table = duckdb.sql(f"select * from read_csv('{name}', all_varchar=true)")
    rows = [["" if cell is None else cell for cell in row] for row in table.fetchall()]
    return table.columns, rows, {name for name, kind, *_ in kinds if re.match("BIGINT|DOUBLE|HUGEINT|DECIMAL", kind)}


def opinion(read, path):
    try:
        return read(path)
    except Exception as error:  # whatever a reader refuses with
        return str(error).split("\n")[0]


def compare_table(header, rows, theirs):
    """What is first different between Quorate's examples and the owner's table, or nothing."""
    if isinstance(theirs, str):
        return "the owner refuses: " + theirs
    names, table, _ = theirs
    if header != names:
        kind = ("spaces around names" if [name.strip() for name in header] == [name.strip() for name in names] else
                "number of columns" if len(header) != len(names) else
                "the first row is the header here, data there" if re.match("column0+$", names[0]) else "names of columns")
        return f"{kind}: {header[:4]} for {names[:4]}"
    if len(rows) != len(table):
        return f"number of rows: {len(rows)} for {len(table)}"
    for line, (row, cells) in enumerate(zip(rows, table), 1):
        expected = Counter(f"{name}=?" if cell.lower() in MISSING else f"{name}={cell}" for name, cell in zip(names, cells) if name not in KEYS)
        keys = [name for name, cell in zip(names, cells) if isinstance(row.get(name), str) and row[name] != cell and number(row[name]) != number(cell)]
        ours = Counter(row.get("x", {}).keys())
        if ours != expected or keys:
            return f"cells of row {line}: {list(ours - expected)[:2]} for {list(expected - ours)[:2]} {keys}"
    return None


def check_csv(program, path, first, second):
    """All columns as words, to compare the text of each cell; then with the kinds that Quorate finds, to compare numbers."""
    out, _ = run(program, "look", path, "--json")
    looked = json.loads(out) if out else {"columns": [], "warnings": []}
    header, words = [column["name"] for column in looked["columns"]], io.StringIO()
    csv.writer(words, lineterminator="").writerow(name for name in header if name not in KEYS)
    listed = words.getvalue()
    rows, said = convert(program, path, *(["--categorical-column", listed] if 0 < len(listed) < 100_000 and "\0" not in listed else []))
    theirs = opinion(first, path)
    if rows is None:
        return f"refused, the owner {'refuses, too' if isinstance(theirs, str) else 'reads it'}: {reason(said, path)}", said
    difference = compare_table(header, rows, theirs)
    if difference is None:
        rows, said = convert(program, path)
        return check_numbers(rows, looked, *theirs) if rows is not None else (f"same as words, refused without options: {reason(said, path)}", said)
    other = compare_table(header, rows, opinion(second, path))
    verdict = "as the second reader, not the owner" if other is None else "different"
    return f"{verdict}: {difference.split(':')[0]}", f"{difference}; second: {other}; said: {said} {looked['warnings']}"


def check_numbers(rows, looked, names, table, numbers):
    kinds = {column["name"]: column["kind"] for column in looked["columns"]}
    for place, name in enumerate(names):
        cells = [row[place] for row in table]
        known = {cell for cell in cells if cell.lower() not in MISSING}
        if kinds[name] in NUMBERS:
            for row, cell in zip(rows, cells):
                ours, other = row.get("x", {}).get(name), number(cell if "," not in cell else cell.replace(",", "."))
                if cell in known and (ours is None or not math.isclose(ours, other, rel_tol=1e-12)):
                    return "different: a number", f"{name}: {ours} for {cell!r}"
        if len(known) > 1 and kinds[name] in (("category", "text", "date") if name in numbers else ("number", "count")):
            return f"same cells, but {kinds[name]} where the owner sees {'' if name in numbers else 'no '}numbers", f"{name}: {sorted(known)[:4]}"
    return "same", ""


def flatten(name, value):
    """The features of a JSON value: keys of nested objects joined with dots, an item of a list as the list's key."""
    if isinstance(value, (dict, list)):
        inner = [(f"{name}.{key}", one) for key, one in value.items()] if isinstance(value, dict) else [(name, one) for one in value]
        return [feature for key, one in inner for feature in flatten(key, one)]
    if isinstance(value, (bool, int, float)):
        return [(name, float(value))]
    return [(f"{name}={value}", 1.0)] if value else []


def check_json(program, path, folder):
    """The file as a value in a JSON line; its name tells whether a reader must (y), must not (n) or may (i) read it."""
    kind, line, file = path.name[0], b'{"label":1,"value":' + path.read_bytes().rstrip(b"\n") + b',"y":1}', folder / "line.jsonl"
    file.write_bytes(line + b"\n")
    rows, said = convert(program, file)
    try:
        expected = flatten("value", [json.loads(one, parse_constant=int) for one in line.split(b"\n")][0]["value"])
    except (ValueError, RecursionError):
        expected = None
    if rows is None:
        return f"refused{', though valid' if kind == 'y' and expected is not None else ''} ({kind}_): {reason(said, file)}", f"{line[:80]!r} {said}"
    detail = f"{line[:80]!r} -> {str(rows)[:120]} for {expected}"
    if expected is None:
        return f"different ({kind}_): read, though no JSON", detail
    ours = [*rows[0].get("x", {}).items(), *((f"{key}={words}", 1.0) for key, words in rows[0].get("text", {}).items())]
    return f"same ({kind}_)" if Counter(ours) - Counter([("y", 1), ("value=?", 1)]) == Counter(expected) else f"different ({kind}_): features", detail


def parse_vw(line):
    """Tag, numbers before the first bar, and features by `namespace^name`, as VW's wiki defines them."""
    head, *spaces = line.split("|")
    words, features = head.split(), Counter()
    tag = words.pop() if words and (head[-1] not in " \t" or words[-1].startswith("'")) else ""
    for space in spaces:
        words_here, name, weight = space.split(), "", "1"
        if words_here and space[0] not in " \t":
            name, _, weight = words_here.pop(0).partition(":")
        anonymous = (f":{place}" for place in range(len(words_here)))
        for word in words_here:
            key, colon, value = (next(anonymous), ":", word[1:]) if word[0] == ":" else word.partition(":")
            features[f"{name}^{key}" if name else key] += float(weight or 1) * float(value if colon else 1)
    return tag.lstrip("'"), [float(word) for word in words], {key: value for key, value in features.items() if value}


def check_vw(program, path, workspace):
    """VW itself says how many features a line has (it knows hashes only), the parser above which."""
    rows, said = convert(program, path, "--format", "vw")
    try:
        data = (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="\n")
        lines = [line.rstrip("\n") for line in data if line.strip()]
        theirs, refused = [parse_vw(line) for line in lines], ""
        for line, (_, _, features) in list(zip(lines, theirs))[:50]:
            known = Counter()
            for index, value in workspace.parse(line).iter_features():
                known[index] += value
            if sum(value != 0 for value in known.values()) != len(features):
                refused = f"VW sees {len(known)} features, the parser {len(features)}: {line[:60]}"
    except Exception as error:  # VW's are of many classes
        refused = f"{type(error).__name__} {error}"
    if rows is None:
        return f"refused, {'no line of simple labels' if refused else 'VW reads it'}: {reason(said, path)}", said
    if refused or len(rows) != len(theirs):
        return "different: read, no line of simple labels" if refused else "different: number of rows", refused
    for line, (row, (tag, numbers, features)) in enumerate(zip(rows, theirs), 1):
        ours = {key: value for key, value in row.get("x", {}).items() if value}
        wrong = [key for key in {*ours, *features} if not math.isclose(ours.get(key, 0), features.get(key, 0), rel_tol=1e-6)]
        label = [] if "label" not in row else [number(row["label"]), *([row["weight"]] if "weight" in row else [])]
        if wrong or row.get("id", "") != tag or label != (numbers[:2] if numbers[1:2] != [1] else numbers[:1]):
            return "different: values", f"line {line}: {wrong[:3]}, label {label} for {numbers}, tag {row.get('id', '')!r} for {tag!r}"
    return "same" + (", and said: " + reason(said, path) if said else ""), said


def main():
    folder, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    wanted = sys.argv[4] if len(sys.argv) > 4 else None
    sys.setrecursionlimit(10_000)
    warnings.simplefilter("ignore")
    workspace, table = pyvw.Workspace("--quiet --noconstant -b 30"), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(file for file in folder.rglob("*") if file.is_file()):
            owner, name = path.relative_to(folder).parts[0], str(path.relative_to(folder))
            if owner == "json":
                verdict, detail = check_json(program, path, pathlib.Path(scratch))
            elif owner == "vw" and path.suffix not in (".csv", ".json", ".dsjson", ".fb"):
                verdict, detail = check_vw(program, path, workspace)
            else:
                verdict, detail = check_csv(program, path, *((by_pandas, by_duckdb) if owner == "pandas" else (by_duckdb, by_pandas)))
            table[owner, verdict].append(name)
            if wanted is not None and verdict.startswith(wanted):
                print(f"{name}\t{verdict}\t{detail}")
    if wanted is None:
        print("| owner | verdict | files | for example |\n| --- | --- | --- | --- |")
        for (owner, verdict), names in sorted(table.items(), key=lambda item: (item[0][0], -len(item[1]))):
            print(f"| {owner} | {verdict.replace('|', chr(92) + '|')} | {len(names)} | {min(names, key=len)} |")


if __name__ == "__main__":
    main()
