"""Rebuilds every book of a server from its changes alone, and compares it with the snapshot.

Of Python's standard library alone, and of docs/data.md: it shares no code with the server or its
clients. Prices and sizes are compared as the digits that were printed.

    python3 rebuild_books.py SERVER KEY [WALKS]
    python3 rebuild_books.py SERVER KEY follow MARKET STATES

Each walk reads every market once more, with pages of another length. `follow` rebuilds states of a
market as they are recorded, and resumes when the server is gone; it prints `half` when it has half.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

SERVER, KEY = sys.argv[1:3]
LIMITS = (1000, 100, 37)


def get(path: str, query: dict[str, Any]) -> Any:
    url = f"{SERVER}/v1/{path}?{urlencode(query)}"
    with urlopen(Request(url, headers={"Authorization": f"Bearer {KEY}"})) as answer:
        # Numbers stay texts, digit for digit.
        return json.load(answer, parse_float=str, parse_int=str)


def walk(path: str, **query: Any) -> Iterator[Any]:
    cursor = None
    while True:
        page = get(path, {**query, **({"cursor": cursor} if cursor else {})})
        yield from page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            return


class Book:
    def __init__(self) -> None:
        self.id: str | None = None
        self.sides: dict[str, dict[str, str]] = {"bids": {}, "asks": {}}

    def apply(self, row: Any) -> None:
        if row["snapshot"]:
            assert row["prevId"] is None, row
            self.sides = {"bids": {}, "asks": {}}
        else:
            assert self.id is not None and row["prevId"] == self.id, (self.id, row)
        for side, levels in self.sides.items():
            for level in row[side]:
                price, size = level["price"], level["size"]
                assert levels.get(price, "0") != size, f"{row['id']} repeats {price}"
                if size == "0":
                    del levels[price]
                else:
                    levels[price] = size
        self.id = row["id"]

    def levels(self, side: str) -> list[tuple[str, str]]:
        order = sorted(self.sides[side].items(), key=lambda level: float(level[0]))
        return order if side == "asks" else order[::-1]


def rebuild(market: str, limit: int, **filters: Any) -> tuple[int, int]:
    """How many states were rebuilt, and how many of them came as whole books."""
    path = f"btc/markets/{market}"
    snapshots = walk(f"{path}/snapshots", limit=1000, **filters)
    books: dict[str, Book] = {"up": Book(), "down": Book()}
    states = whole = 0
    for row in walk(f"{path}/changes", limit=limit, **filters):
        stored = next(snapshots)
        assert all(row[name] == stored[name] for name in ("id", "outcome", "timestamp")), row
        book = books[row["outcome"]]
        book.apply(row)
        for side in ("bids", "asks"):
            kept = [(level["price"], level["size"]) for level in stored[side]]
            assert book.levels(side) == kept, (row["id"], side)
        states += 1
        whole += row["snapshot"]
    assert next(snapshots, None) is None, f"{market} has more snapshots than changes"
    return states, whole


def events(path: str, last: str | None) -> Iterator[tuple[str, str | None, Any]]:
    """Name, id and data of each event, until the connection ends."""
    headers = {"Authorization": f"Bearer {KEY}", **({"Last-Event-ID": last} if last else {})}
    with urlopen(Request(f"{SERVER}/v1/{path}", headers=headers), timeout=30) as answer:
        fields: dict[str, str] = {}
        for line in answer:
            name, colon, value = line.decode().rstrip("\n").partition(":")
            if name and colon:
                fields[name] = value
            elif not colon and "data" in fields:
                data = json.loads(fields["data"], parse_float=str, parse_int=str)
                yield fields["event"], fields.get("id"), data
                fields = {}


def follow(market: str, wanted: int) -> None:
    path = f"btc/markets/{market}"
    books: dict[str, Book] = {"up": Book(), "down": Book()}
    rebuilt: list[tuple[str, Any, Any]] = []
    whole = connections = since = 0
    last: str | None = None

    def is_enough() -> bool:
        # The first connection ends when the server is killed, which may be late.
        return len(rebuilt) >= wanted and connections > 1 and since >= wanted // 4

    while not is_enough():
        connections += 1
        since = 0
        try:
            for name, cursor, row in events(f"{path}/live?channel=changes", last):
                last = cursor or last
                if name not in ("row", "snapshot"):
                    continue
                book = books[row["outcome"]]
                book.apply(row)
                rebuilt.append((row["id"], book.levels("bids"), book.levels("asks")))
                whole += row["snapshot"]
                since += 1
                if len(rebuilt) == wanted // 2:
                    print("half", flush=True)
                if is_enough():
                    break
        except (OSError, HTTPException):
            time.sleep(0.05)
    stored = {}
    for row in walk(f"{path}/snapshots", limit=1000):
        stored[row["id"]] = tuple([(level["price"], level["size"]) for level in row[side]] for side in ("bids", "asks"))
        # More are recorded meanwhile, on a slow machine faster than they are read here.
        if row["id"] == rebuilt[-1][0]:
            break
    ids = list(stored)
    # Before the second come the states that the stream begins with, one of each outcome.
    start = ids.index(rebuilt[1][0])
    assert [each[0] for each in rebuilt[1:]] == ids[start : start + len(rebuilt) - 1]
    for name, bids, asks in rebuilt:
        assert (bids, asks) == stored[name], name
    print(json.dumps({"states": len(rebuilt), "whole": whole, "connections": connections}))


def main(walks: int) -> None:
    states = whole = 0
    for index, market in enumerate(walk("btc/markets", limit=100, order="asc")):
        for number in range(index, index + walks):
            counts = rebuild(market["conditionId"], LIMITS[number % len(LIMITS)])
            states, whole = states + counts[0], whole + counts[1]
    print(json.dumps({"states": states, "whole": whole}))


if sys.argv[3:4] == ["follow"]:
    follow(sys.argv[4], int(sys.argv[5]))
else:
    main(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
