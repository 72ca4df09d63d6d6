"""Runs deltalake's own Python tests against the door.

The tests are in deltalake's source distribution, which pip downloads once. ``import deltalake``
imports the door there. ``deltalake_suite/differences.py`` lists the tests that fail, with the
reason of each. A test that is not in the list must pass, and one in the list must fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

from corpus.places import cache_dir
from deltalake_suite.differences import DIFFERENCES, EITHER, LEFT_OUT

pytestmark = pytest.mark.interop

HERE = Path(__file__).parent
#: The messages of calls that wait for a method or an option of lakebed.
PENDING = ("yet: leave it out here",)
MARKS = "not integration and not benchmark and not no_pyarrow and not azure and not s3 and not lakefs and not opentelemetry"


def sources() -> Path:
    """Returns the archive of deltalake's sources. Without one, the test is skipped."""
    wanted = f"deltalake-{version('deltalake')}.tar.gz"
    cache = cache_dir() / "deltalake"
    if not (cache / wanted).exists():
        cache.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "deltalake", "--dest", str(cache)]
        done = subprocess.run(
            [*pip, f"deltalake=={version('deltalake')}"], capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode != 0 or not (cache / wanted).exists():
            pytest.skip(f"pip cannot download deltalake's sources: {done.stderr.strip()[-300:]}")
    return cache / wanted


@pytest.mark.timeout(900)
def test_tests_of_deltalake_pass(tmp_path: Path) -> None:
    with tarfile.open(sources()) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    found = outcomes(root / "python", tmp_path / "outcomes.json")
    failed = {name: message for name, message in found.items() if message is not None}
    pending = {name for name, message in failed.items() if any(word in message for word in PENDING)}
    known = {name for names in DIFFERENCES.values() for name in names}
    news = {name: message.splitlines()[:1] for name, message in failed.items() if name not in known | pending | EITHER}
    assert news == {}, "these tests of deltalake fail: mend the door, or list them in differences.py with their reason"
    assert known - failed.keys() == set(), "these tests of deltalake pass: take them out of differences.py"
    print(
        f"{len(found)} tests of deltalake: {Counter('failed' if name in failed else 'passed' for name in found)}, {len(pending)} pending"
    )


def outcomes(folder: Path, report: Path) -> dict[str, str | None]:
    """Runs the tests. Returns the message of a failure, or None, for each function."""
    environment = {
        **os.environ,
        "OUTCOMES": str(report),
        "PYTHONPATH": os.pathsep.join([str(HERE / "deltalake_suite"), *(path for path in sys.path if path)]),
    }
    ignored = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    options = ["-p", "plugin", "-p", "no:cacheprovider", "-o", "addopts=", "-q", "--tb=line", "--timeout=120", "-m", MARKS]
    command = [sys.executable, "-m", "pytest", *options, *ignored, "tests"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=800, check=False)
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, str | None] = {}
    for test, (outcome, message) in json.loads(report.read_text()).items():
        name = test.removeprefix("python/").removeprefix("tests/").partition("[")[0]
        found[name] = found.get(name) or (message or "failed" if outcome == "failed" else None)
    return found
