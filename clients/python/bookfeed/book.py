"""A book that is kept up to date by its changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from .errors import BookBroken


class Side:
    """One side: `levels` has price and size, the best first."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._keys: list[Any] = []
        self.levels: list[tuple[Any, Any]] = []

    def clear(self) -> None:
        self._keys.clear()
        self.levels.clear()

    def put(self, price: Any, size: Any) -> None:
        """Sets a level, or removes it if `size` is 0."""
        key = price * self._sign
        at = bisect_left(self._keys, key)
        is_there = at < len(self._keys) and self._keys[at] == key
        if not size:
            if not is_there:
                raise BookBroken(f"The level {price} is gone, but was not there.")
            del self._keys[at], self.levels[at]
        elif is_there:
            self.levels[at] = (price, size)
        else:
            self._keys.insert(at, key)
            self.levels.insert(at, (price, size))


class Book:
    """The book of one outcome, from rows of `changes`.

    After each row it equals the snapshot with the same `id`. A row that does not fit raises
    `BookBroken`, and so does every later one until the next whole book.
    """

    def __init__(self) -> None:
        self.outcome: str | None = None
        self.id: str | None = None
        """The state that this is; None before the first whole book, and while it is broken."""
        self.timestamp: str | None = None
        self._bids, self._asks = Side(-1), Side(1)

    @property
    def bids(self) -> list[tuple[Any, Any]]:
        """Price and size of each level, the best first."""
        return self._bids.levels

    @property
    def asks(self) -> list[tuple[Any, Any]]:
        return self._asks.levels

    def apply(self, row: Mapping[str, Any]) -> None:
        """Applies a row of `changes`. Raises `BookBroken`."""
        if self.outcome not in (None, row["outcome"]):
            raise BookBroken(f"A book of {self.outcome} takes no row of {row['outcome']}.")
        held, self.id = self.id, None
        if row["snapshot"]:
            self._bids.clear()
            self._asks.clear()
        elif held is None or held != row["prevId"]:
            raise BookBroken(f"Row {row['id']} changes state {row['prevId']}, but this is {held}.")
        for level in row["bids"]:
            self._bids.put(level["price"], level["size"])
        for level in row["asks"]:
            self._asks.put(level["price"], level["size"])
        self.id, self.outcome, self.timestamp = row["id"], row["outcome"], row["timestamp"]
