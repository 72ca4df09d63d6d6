"""Random lives of a table: changes of its columns, constraints and properties, changes of its rows,
transactions, restores and clones. lakebed and Delta Spark take turns on one table.

After each step both engines read the table, and both must return the rows and the columns of the
model. The model keeps the state of each version, so that older versions are read as well. Now and
then the table is cloned, and both engines must read the same in the clone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import lakebed as lb
from dml import log
from dml.drawn import examples
from life import definition, rows, whole
from life.state import ARROW, Row, State, Step

pytestmark = pytest.mark.spark

STEPS = [
    rows.append,
    rows.append,
    rows.append_by_door,
    rows.delete,
    rows.delete_by_door,
    rows.erase,
    rows.update,
    rows.overwrite,
    rows.upsert,
    definition.add_column,
    definition.rename_column,
    definition.drop_column,
    definition.widen,
    definition.add_constraint,
    definition.drop_constraint,
    definition.set_property,
    definition.unset_property,
    whole.restore,
    whole.add_vectors,
    whole.drop_vectors,
    whole.optimize,
    whole.transaction,
    whole.transaction,
]


def key(row: Row) -> str:
    return repr(sorted(row.items()))


def check_by_lakebed(path: str, state: State, version: int | None = None) -> None:
    table = lb.Table(path, version=version)
    assert {column.name: column.type for column in table.schema} == {name: ARROW[kind] for name, kind in state.columns.items()}
    assert sorted(table.to_arrow().to_pylist(), key=key) == sorted(state.rows, key=key)


def check_by_spark(spark: Any, path: str, state: State) -> None:
    found = spark.read.format("delta").load(path)
    assert dict(found.dtypes) == dict(state.columns)
    assert sorted((row.asDict() for row in found.collect()), key=key) == sorted(state.rows, key=key)


def check_definition(path: str, state: State) -> None:
    properties = lb.Table(path).properties
    constraints = {f"delta.constraints.{name}": f"`{column}` >= 0" for name, column in state.constraints.items()}
    assert {name: value for name, value in properties.items() if name.startswith("delta.constraints.")} == constraints
    features = lb.Table(path).protocol.writer_features
    assert ("deletionVectors" in features) == state.has_vectors
    own = ("team", "delta.checkpointInterval")
    assert {name: value for name, value in properties.items() if name in own} == state.properties


def check_clone(spark: Any, path: str, state: State, *, shallow: bool) -> None:
    """Clones the newest version in place of an earlier clone."""
    clone = f"{path}-{'shallow' if shallow else 'deep'}"
    lb.Table(path).clone(clone, shallow=shallow, mode="replace")
    check_by_lakebed(clone, state)
    check_by_spark(spark, clone, state)


def take(step: Step, is_ours: bool, spark: Any, path: str) -> bool:
    """Runs a step and returns whether the engine did it."""
    try:
        if is_ours or step.sql is None:
            step.ours(lb.Table(path))
        else:
            spark.sql(step.sql)
    except Exception as error:
        # Delta Spark raises a Py4J error or an AnalysisException, lakebed one of its own.
        if not step.is_refused or ((is_ours or step.sql is None) and not isinstance(error, lb.LakebedError)):
            raise
        return False
    assert not step.is_refused, step
    return True


@pytest.mark.parametrize("vectors", ["false", "true"], ids=["copied", "vectors"])
def test_random_lives_equal_the_model(vectors: str, spark: Any) -> None:
    @examples(3, vectors)
    def check(data: st.DataObject) -> None:
        with log.folder() as folder:
            path = str(Path(folder) / "t")
            spark.sql(
                f"CREATE TABLE delta.`{path}` (id INT, k BIGINT, s STRING) USING delta TBLPROPERTIES ("
                f"'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', "
                f"'delta.enableDeletionVectors' = '{vectors}')"
            )
            state = State({"id": "int", "k": "bigint", "s": "string"}, has_vectors=vectors == "true")
            versions = {0: state}
            for number in range(data.draw(st.integers(8, 12))):
                step = data.draw(st.sampled_from(STEPS))(data.draw, state, path, versions)
                if step is not None and take(step, number % 2 == 0, spark, path):
                    state = step.after
                check_by_lakebed(path, state)
                check_by_spark(spark, path, state)
                check_definition(path, state)
                versions[lb.Table(path).version] = state
                if data.draw(st.integers(0, 3)) == 0:
                    check_clone(spark, path, state, shallow=data.draw(st.booleans()))
            assert not lb.Table(path).check("history").findings
            for version, before in versions.items():
                check_by_lakebed(path, before, version)

    check()
