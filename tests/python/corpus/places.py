"""Where things lie: the cache folder, Delta Spark's jars, the folder of each topic's tables."""

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
# Files of this package that decide neither a table nor its oracle; changing them rebuilds nothing.
_NOT_HASHED = {"__init__.py", "__main__.py", "places.py", "build.py"}


def cache_dir() -> Path:
    """The folder for everything that can be made again; `$LAKEBED_CACHE` moves it."""
    given = os.environ.get("LAKEBED_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "lakebed"


@functools.cache
def topic_dir(topic: str) -> Path:
    """The folder of a topic's tables. Its name holds a hash of the code that makes them, so a stale one is never read."""
    digest = hashlib.sha256()
    sources = [path for path in CORPUS_DIR.glob("*.py") if path.name not in _NOT_HASHED]
    for path in sorted([*sources, CORPUS_DIR / "topics" / f"{topic}.py"]):
        # The syntax tree: formatting and comments make no other tables.
        digest.update(f"{path.name} {ast.dump(ast.parse(path.read_bytes()))}".encode())
    digest.update(POM.read_bytes() + metadata.version("pyspark").encode())
    return cache_dir() / "corpus" / f"{topic}-{digest.hexdigest()[:12]}"


def jars() -> list[Path]:
    """Delta Spark's jars, copied by maven into the cache the first time."""
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
