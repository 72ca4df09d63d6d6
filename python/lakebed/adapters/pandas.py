"""Frames and series of pandas as Arrow. Types that Arrow lacks are refused or converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.errors import InvalidInputError
from lakebed.values import array_of, check_name, refuse_dtype

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["arrow", "is_pandas", "series"]


def is_pandas(data: Any, *names: str) -> bool:
    """Returns whether this is a pandas data frame or series, or one of its classes with these
    ``names``.

    It does not import pandas.
    """
    kinds = (kind for kind in type(data).__mro__ if kind.__module__.partition(".")[0] == "pandas")
    return any(kind.__name__ in (names or ("DataFrame", "Series")) for kind in kinds)


def arrow(frame: Any) -> pa.Table:
    """Returns a pandas frame as a pyarrow table. A named index becomes a column; an unnamed one is
    dropped.
    """
    import pyarrow as pa

    if not hasattr(frame, "columns"):
        raise InvalidInputError("a pandas Series is a single column: call .to_frame() on it first")
    if frame.columns.nlevels > 1:
        raise InvalidInputError(
            f"the columns of the frame have {frame.columns.nlevels} levels, but columns of a table have one: join their names, as in "
            'frame.columns = ["_".join(names) for names in frame.columns]'
        )
    frame = _with_index(frame)
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in frame.columns]
    for name in names:
        check_name(name)
    _refuse_doubles(names)
    return pa.table([series(name, frame.iloc[:, at], "row") for at, name in enumerate(names)], names=names)


def series(name: str, values: Any, what: str) -> Any:
    """Returns a pandas series or another pandas array as an Arrow array. NaN is null, as in pandas."""
    refuse_dtype(name, values.dtype)
    if type(values.dtype).__name__ == "SparseDtype":
        values = values.sparse.to_dense() if hasattr(values, "sparse") else values.to_dense()
    return array_of(name, values, what, nan_is_null=True)


def _with_index(frame: Any) -> Any:
    """Returns the frame with the names of its index among its columns."""
    names = [name for name in frame.index.names if name is not None]
    if not names:
        return frame
    for name in names:
        if name in frame.columns or names.count(name) > 1:
            raise InvalidInputError(
                f"the index of the frame has the name {name}, and so has {'a column' if name in frame.columns else 'another level of it'}: "
                "rename it with .rename_axis(...), or drop it with .reset_index(drop=True)"
            )
    return frame.reset_index()


def _refuse_doubles(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(
                f"the frame has {names.count(name)} columns {name}: a table has one column of each name, so rename or drop the others, "
                "as in frame.loc[:, ~frame.columns.duplicated()]"
            )
