"""Runs the fuzzer for a long time: `python -m door.hours` with MINUTES or EXAMPLES, and SEED, in
the environment.

Every kind of failure is printed once, shrunk for at most a minute, as a case that `door.run.check`
takes.
"""

from __future__ import annotations

import os
import re
import sys
import time

from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis.errors import NoSuchExample

from door import drawn
from door.case import Case
from door.worker import Worker


def kind(case: Case, wrong: str) -> str:
    """Returns the kind of a failure: the verb, and the message without names, values and numbers."""
    words = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|/\S*|\[.*\]|\d+", "…", wrong.splitlines()[0])[:70]
    return f"{case.deed.verb}: {case.deed.wrong.split('=')[0]}: {words}"


def main() -> int:
    minutes = float(os.environ.get("MINUTES", "0"))
    examples = int(os.environ.get("EXAMPLES", "2000" if not minutes else "0"))
    start, number = int(os.environ.get("SEED", "0")), 0
    end = time.monotonic() + minutes * 60 if minutes else float("inf")
    worker, done, found = Worker(), 0, dict[str, tuple[Case, str, int]]()

    def draw(count: int) -> None:
        @seed(start + number)
        @settings(
            deadline=None, database=None, max_examples=count, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
        )
        @given(drawn.case())
        def one(case: Case) -> None:
            nonlocal done
            if time.monotonic() > end:
                return
            done += 1
            if wrong := worker.check(case):
                known = found.get(kind(case, wrong))
                if known is None:
                    print(f"\n== {kind(case, wrong)} (seed {start + number})\n{wrong}\n{case!r}", flush=True)
                if known is None or len(repr(case)) < len(repr(known[0])):
                    found[kind(case, wrong)] = (case, wrong, start + number)

        one()

    while time.monotonic() < end and (not examples or done < examples):
        draw(min(500, examples - done) if examples else 500)
        number += 1
    print(f"\n{done} cases from seed {start} on, {len(found)} kinds of failures, made smaller:")
    for name, (case, wrong, of) in sorted(found.items()):
        if os.environ.get("SMALL", "1") == "1":
            case, wrong = smaller(worker, name, case, wrong, of)
        print(f"\n== {name} (seed {of})\n{wrong}\n{case!r}")
    worker.close()
    return 1 if found else 0


def smaller(worker: Worker, name: str, case: Case, wrong: str, of: int) -> tuple[Case, str]:
    """Returns the smallest case that fails in the same way and is found within a minute."""
    end, best = time.monotonic() + 60, (case, wrong)

    def fails(one: Case) -> bool:
        nonlocal best
        if time.monotonic() > end:
            return False
        said = worker.check(one)
        if said and kind(one, said) == name:
            if len(repr(one)) < len(repr(best[0])):
                best = (one, said)
            return True
        return False

    try:
        quiet = settings(deadline=None, database=None, max_examples=1000, suppress_health_check=list(HealthCheck))
        find(drawn.case(), fails, settings=quiet)
    except NoSuchExample:
        pass
    except Exception as error:  # Hypothesis raises when the time is over.
        print(f"not made smaller: {type(error).__name__}", file=sys.stderr)
    return best


if __name__ == "__main__":
    sys.exit(main())
