"""Groups of keyword arguments that Spark's functions share; see :mod:`lakebed.options`."""

# The annotations of the groups are read at run time, so they are not postponed.

from collections.abc import Sequence
from typing import Annotated, Literal

from lakebed.arguments import Mode, Partitions, SchemaMode
from lakebed.options import Defining, Identified, Opening, Storage, Writing

__all__ = ["TASK_BYTES", "BatchWriting", "FrameReading", "FrameWriting", "Reader"]

#: The default for the most bytes that one task of lakebed's reader reads.
TASK_BYTES = 128 << 20
#: The reader of a file: Spark's own, lakebed's, or (`auto`) the faster one that returns exactly the
#: rows.
Reader = Literal["auto", "spark", "lakebed"]


class BatchWriting(Writing, Defining, Storage, total=False):
    """The options of ``foreach_batch``, most of which are those of :func:`lakebed.write`.

    - ``optimize_write``: whether to bring the rows of a partition together before they are written.
    """

    mode: Annotated[Mode, "append"]
    where: str | None
    partitions: Partitions | None
    schema_mode: Annotated[SchemaMode, "enforce"]
    optimize_write: bool | None


class FrameWriting(BatchWriting, Identified, total=False):
    """The options of ``write``."""


class FrameReading(Opening, total=False):
    """The options of ``read`` and ``explain``.

    - ``columns`` and ``where``: the columns and the rows to read.
    - ``reader``: which reader reads the files.
    - ``target_task_size``: the most bytes that one task of lakebed's reader reads.
    """

    columns: str | Sequence[str] | None
    where: str | None
    reader: Annotated[Reader, "auto"]
    target_task_size: Annotated[int, TASK_BYTES]
