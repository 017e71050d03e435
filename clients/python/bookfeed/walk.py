"""Walks over the pages of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .frames import Columns, Library, make_table

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: list[Row]
    cursor: str | None
    """Continues after this page, even after the last one while rows are still being written."""
    is_last: bool
    coverage: str | None
    """The recorded share of the time, such as `full` or `partial;covered=0.98;…` (docs/data.md)."""


class Rows(list[Row]):
    """The rows of a list that comes whole."""

    def __init__(self, rows: Iterable[Row], columns: Columns, exact: bool) -> None:
        super().__init__(rows)
        self._columns, self._exact = columns, exact

    def to_df(self, library: Library = "pandas") -> Any:
        """The rows as a table, as `Walk.to_df`."""
        rows: Any = self
        return make_table(rows, library, self._columns, self._exact)


class Walk(Generic[Row]):
    """Yields every row once, in order, across pages; iterate over it, or over its `pages`.

    `cursor` is the start of the page that rows are taken from. A walk that continues from it begins
    there: rows of a page that was not finished are repeated. To avoid that, iterate over pages and
    keep `page.cursor`. After the end of a walk, iterating again yields the rows written since, and
    bars that may have grown.
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
        """The remaining rows as a pandas, polars or pyarrow table.

        Columns have the names of exports and files (`best_bid`, `up_bid`), and times are
        timestamps; names and types do not depend on the rows, even if there are none. Needs the
        extra named after the library. For large histories, use `Client.to_df`.
        """
        rows: Any = self
        return make_table(rows, library, self._columns, self._exact)

    def __iter__(self) -> Iterator[Row]:
        for page in self.pages():
            yield from page.rows
