"""Steps with a whole table or with several other steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from life import definition, rows
from life.state import Draw, State, Step

#: The steps that a transaction may contain.
SINGLE = [
    rows.append,
    rows.delete,
    rows.update,
    rows.overwrite,
    rows.upsert,
    definition.add_column,
    definition.rename_column,
    definition.add_constraint,
    definition.set_property,
]


def restore(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    version = draw(st.sampled_from(sorted(versions)))
    return Step(
        lambda table: table.restore(version=version),
        f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}",
        # Both engines restore the protocol only upwards.
        replace(versions[version], has_vectors=state.has_vectors or versions[version].has_vectors),
    )


def add_vectors(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    return Step(
        lambda table: table.alter.set_properties({"delta.enableDeletionVectors": True}),
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        replace(state, has_vectors=True),
    )


def drop_vectors(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    return Step(
        lambda table: table.alter.drop_feature("deletionVectors"),
        f"ALTER TABLE delta.`{path}` DROP FEATURE deletionVectors",
        replace(state, has_vectors=False),
        is_refused=not state.has_vectors,
    )


def optimize(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    return Step(lambda table: table.optimize(), f"OPTIMIZE delta.`{path}`", state)


def transaction(draw: Draw, state: State, path: str, versions: Mapping[int, State]) -> Step:
    """Takes two or three steps in one commit. If one of them is refused, none is taken."""
    steps: list[Step] = []
    after = state
    for _ in range(draw(st.integers(2, 3))):
        step = draw(st.sampled_from(SINGLE))(draw, after, path, versions)
        if step is not None:
            steps.append(step)
            after = step.after
        if step is not None and step.is_refused:
            break

    def together(table: Any) -> None:
        with table.transaction() as tx:
            for step in steps:
                step.ours(tx)

    return Step(together, None, after, is_refused=any(step.is_refused for step in steps))
