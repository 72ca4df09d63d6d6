"""The health of a table: how far it is from its best form, and which call mends it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakebed.display import html_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Health", "HealthMeasure", "Judgement", "health_of"]

#: ``act``: the remedy is worth its cost. ``watch``: it costs little now, and may cost more later.
Judgement = Literal["ok", "watch", "act"]

_ORDER: dict[Judgement, int] = {"ok": 0, "watch": 1, "act": 2}


@dataclass(frozen=True)
class HealthMeasure:
    """One measure of a table."""

    #: What is measured, such as ``small_files``.
    kind: str
    #: The column, if the measure is of one.
    column: str | None
    #: The number. Shares are between 0 and 1.
    value: float
    judgement: Judgement
    #: The measure in words.
    detail: str
    #: The call that mends it, as Python text. None if nothing needs to be done, or if no call can.
    remedy: str | None
    #: The bytes that the remedy rewrites, and the number of their files.
    cost_bytes: int
    cost_files: int
    #: About how many files fewer there are then, and how many bytes fewer the newest version has.
    saved_files: int
    saved_bytes: int


@dataclass(frozen=True, repr=False)
class Health:
    """How far a version of a table is from its best form."""

    version: int
    files: int
    size_bytes: int
    #: The rows. None if the log does not give them for all files.
    rows: int | None
    #: The partitions; 1 without partition columns.
    partitions: int
    measures: tuple[HealthMeasure, ...]

    @property
    def judgement(self) -> Judgement:
        """The worst judgement of all measures."""
        return max((measure.judgement for measure in self.measures), key=lambda one: _ORDER[one], default="ok")

    def __getitem__(self, kind: str) -> HealthMeasure:
        """Returns the first measure of a kind."""
        for measure in self.measures:
            if measure.kind == kind:
                return measure
        raise KeyError(kind)

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as plain values."""
        return {**dataclasses.asdict(self), "measures": [dataclasses.asdict(one) for one in self.measures]}

    def to_arrow(self) -> pa.Table:
        """Returns the measures as a table, one measure per row."""
        import pyarrow as pa

        types: dict[str, pa.DataType] = {"str": pa.string(), "float": pa.float64(), "int": pa.int64()}
        fields = [
            pa.field(one.name, types.get(str(one.type).split(" ")[0], pa.string())) for one in dataclasses.fields(HealthMeasure)
        ]
        return pa.Table.from_pylist([dataclasses.asdict(one) for one in self.measures], schema=pa.schema(fields))

    def __repr__(self) -> str:
        head = f"Health(version={self.version}, files={self.files}, judgement={self.judgement!r})"
        return "\n".join([head, *(f"  {_line(measure)}" for measure in self.measures)])

    def _repr_html_(self) -> str:
        rows = [(one.judgement, one.kind, one.column or "", one.detail, one.remedy or "") for one in self.measures]
        head = f"<p>version {self.version}, {self.files} files: {self.judgement}</p>"
        return head + html_table(("judgement", "measure", "column", "detail", "remedy"), rows)


def _line(measure: HealthMeasure) -> str:
    what = f"{measure.kind} {measure.column}" if measure.column else measure.kind
    remedy = f" -> {measure.remedy}" if measure.remedy else ""
    return f"{measure.judgement:5} {what}: {measure.detail}{remedy}"


def health_of(found: dict[str, Any]) -> Health:
    """Returns the health that `_lakebed` measured."""
    measures = tuple(HealthMeasure(**measure) for measure in found.pop("measures"))
    return Health(measures=measures, **found)
