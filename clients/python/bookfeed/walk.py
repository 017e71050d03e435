"""Walks over the pages of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .frames import Columns, Library, make_table

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: list[Row]
    cursor: str | None
    """Continues after this page, also when it is the last one and rows are still being written."""
    is_last: bool
    coverage: str | None
    """How much of the time is recorded, as `full` or `partial;covered=0.98;…` (docs/data.md)."""


class Walk(Generic[Row]):
    """Every row once, page after page, in order; iterate over it, or over its `pages`.

    `cursor` is where the page begins that rows are taken from. Keep it, and a walk with it begins
    there: rows of a page that was not taken to its end come again. To save your place without
    that, go page by page and keep `page.cursor`. Once a walk is at its end, iterating again
    returns what was written since, and bars that may have grown once more.
    """

    def __init__(
        self,
        read: Callable[[str | None], Page[Row]],
        cursor: str | None,
        columns: Columns | None = None,
        exact: bool = False,
    ) -> None:
        self._read = read
        self.cursor = cursor
        self._columns, self._exact = columns or {}, exact

    def pages(self) -> Iterator[Page[Row]]:
        while True:
            page = self._read(self.cursor)
            yield page
            self.cursor = page.cursor
            if page.is_last:
                return

    def to_df(self, library: Library = "pandas") -> Any:
        """The rows that are left, as a table of pandas, polars or pyarrow.

        Columns have the names of exports and files (`best_bid`, `up_bid`), and times are
        timestamps; both are the same whatever the rows are, also if there is none. Needs the extra
        of the library's name. Large histories: `Client.to_df`.
        """
        rows: Any = self
        return make_table(rows, library, self._columns, self._exact)

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.rows
