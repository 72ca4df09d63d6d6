"""HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["html_table"]


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    first = line(head, "th") if any(head) else ""
    return "<table>" + first + "".join(line(row, "td") for row in rows) + "</table>"
