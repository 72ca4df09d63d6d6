"""What the Python tests share: the corpus, made when a test that needs it is collected, one Spark session, and one S3 store.

A test that takes `sample` runs once per case and version of the corpus, one that takes `oracle` once per case that can be
read, one that takes `refused` once per case that must not be.
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
    """One version of one case's table, with what Delta Spark reads from it."""

    name: str
    oracle: Oracle
    version: int

    @property
    def is_latest(self) -> bool:
        return self.version == self.oracle.versions[-1]


def corpus() -> dict[str, Oracle]:
    """The corpus by case; the first call on a machine makes it, which takes minutes."""
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
    """Delta Spark, one session for the whole process."""
    from corpus import session

    started = session.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An S3 store, one for the whole process: every test has a table of its own there."""
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
