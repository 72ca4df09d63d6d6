"""Locations on this machine: the cache folder, Delta Spark's jars, the folder of each topic's
tables.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

CORPUS_DIR = Path(__file__).parent
POM = CORPUS_DIR.parent / "jars" / "pom.xml"
# The files of this package that affect neither a table nor its oracle. Changes of them rebuild
# nothing.
_NOT_HASHED = {"__init__.py", "__main__.py", "places.py", "build.py"}


def cache_dir() -> Path:
    """Returns the folder for all files that can be made again. `$LAKEBED_CACHE` overrides it."""
    given = os.environ.get("LAKEBED_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "lakebed"


@functools.cache
def topic_dir(topic: str) -> Path:
    """Returns the folder of a topic's tables. Its name has a hash of the code that makes the
    tables, so outdated tables are never read.
    """
    digest = hashlib.sha256()
    sources = [path for path in CORPUS_DIR.glob("*.py") if path.name not in _NOT_HASHED]
    for path in sorted([*sources, CORPUS_DIR / "topics" / f"{topic}.py"]):
        # The hash is of the syntax tree, so formatting and comments do not change it.
        digest.update(f"{path.name} {ast.dump(ast.parse(path.read_bytes()))}".encode())
    digest.update(POM.read_bytes() + metadata.version("pyspark").encode())
    return cache_dir() / "corpus" / f"{topic}-{digest.hexdigest()[:12]}"


def jars() -> list[Path]:
    """Returns Delta Spark's jars. The first call copies them with maven into the cache."""
    folder = cache_dir() / "jars" / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    if not folder.is_dir():
        if shutil.which("mvn") is None:
            raise RuntimeError("Delta Spark's jars are fetched with maven, and `mvn` is not on the PATH")
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={fresh}"]
        done = subprocess.run(["mvn", "-q", "-B", "-f", str(POM), *goal], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"maven could not fetch the jars of {POM}:\n{done.stdout}{done.stderr}")
        fresh.rename(folder)
    return sorted(folder.glob("*.jar"))
