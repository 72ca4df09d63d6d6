"""`python -m corpus [NAME...]` builds the corpus, or builds the named cases and prints the results
of Spark.
"""

from __future__ import annotations

import sys

from corpus import build


def main(names: list[str]) -> None:
    for name, oracle in build.load(names or None).items():
        if not names:
            continue
        print(f"{name}: {oracle.path}")
        for version in oracle.versions:
            rows, conditions = oracle.rows(version), oracle.conditions(version)
            print(f"  version {version}: {len(rows)} rows, schema {oracle.schema(version)}")
            print("".join(f"    {row[:200]}\n" for row in rows[:12]), end="")
            print("".join(f"    {len(found):5} rows where {text}\n" for text, found in conditions.items()), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
