"""Adds up JUnit reports: one line of counts, and what was missing for the tests that were skipped."""

import sys
import xml.etree.ElementTree as ET
from collections import Counter


def main(paths: list[str]) -> None:
    counts: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for path in paths:
        for case in ET.parse(path).getroot().iter("testcase"):
            skipped = case.find("skipped")
            if skipped is not None or case.get("status") == "notrun":
                counts["skipped"] += 1
                missing[(skipped.get("message") if skipped is not None else "") or "not run"] += 1
            elif case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                counts["failed"] += 1
            else:
                counts["passed"] += 1
    for reason, n in missing.items():
        print(f"skipped {n}: {reason}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")


if __name__ == "__main__":
    main(sys.argv[1:])
