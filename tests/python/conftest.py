"""The fixtures that all Python tests share: the corpus, one Spark session and one S3 store. The
corpus is built when a test that needs it is collected.

A test with the argument `sample` runs once per case and version of the corpus. A test with the
argument `oracle` runs once per case that can be read, and a test with the argument `refused` once
per case that a reader must refuse.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from corpus import build
from corpus.oracle import Oracle
from stores import gateway
from stores.gateway import S3

pytest.register_assert_rewrite("writers", "dml.model", "dml.log")

_loaded: dict[str, Oracle] = {}


@dataclass(frozen=True)
class Sample:
    """One version of the table of a case, with the rows that Delta Spark reads from it."""

    name: str
    oracle: Oracle
    version: int

    @property
    def is_latest(self) -> bool:
        return self.version == self.oracle.versions[-1]


def corpus() -> dict[str, Oracle]:
    """Returns the corpus by case. The first call on a machine builds the corpus, which takes
    minutes.
    """
    if not _loaded:
        _loaded.update(build.load())
    return _loaded


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = set(metafunc.fixturenames)
    if "sample" in wanted:
        samples = [Sample(name, oracle, version) for name, oracle in corpus().items() for version in oracle.versions]
        metafunc.parametrize("sample", samples, ids=[f"{sample.name}-v{sample.version}" for sample in samples])
    for fixture, is_refused in (("oracle", False), ("refused", True)):
        if fixture in wanted:
            found = {name: oracle for name, oracle in corpus().items() if bool(oracle.refused) == is_refused}
            metafunc.parametrize(fixture, list(found.values()), ids=list(found))


@pytest.fixture(scope="session")
def corpus_by_name() -> dict[str, Oracle]:
    return corpus()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session of Delta Spark for the whole process."""
    from corpus import session

    started = session.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """One S3 store for the whole process. Every test has a table of its own there."""
    with gateway.run(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture(scope="session")
def pipeline() -> ModuleType:
    """The module of examples/pipeline.py."""
    found = importlib.util.spec_from_file_location("pipeline", Path(__file__).parents[2] / "examples" / "pipeline.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
