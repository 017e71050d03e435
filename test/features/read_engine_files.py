"""Reads the files that engines of backtests load, by the rules of their readers, and compares the best
bid and ask after every moment with the quotes of the server.

Of Python's standard library alone; it shares no code with the server.

    python3 read_engine_files.py SERVER KEY
"""

from __future__ import annotations

import csv
import io
import json
import struct
import sys
import zipfile
from ast import literal_eval
from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

SERVER, KEY = sys.argv[1:3]
EXCH, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
DEPTH, TRADE, CLEAR, SNAPSHOT = 1, 2, 3, 4
FIELDS = [
    ("ev", "<u8"),
    ("exch_ts", "<i8"),
    ("local_ts", "<i8"),
    ("px", "<f8"),
    ("qty", "<f8"),
    ("order_id", "<u8"),
    ("ival", "<i8"),
    ("fval", "<f8"),
]
EVENT = struct.Struct("<QqqddQqd")
Top = tuple[float, float, float, float]


def fetch(path: str, **query: Any) -> bytes:
    url = f"{SERVER}/v1/{path}?{urlencode(query)}"
    with urlopen(Request(url, headers={"Authorization": f"Bearer {KEY}"})) as answer:
        return bytes(answer.read())


def walk(path: str, **query: Any) -> Iterator[Any]:
    cursor = None
    while True:
        page = json.loads(fetch(path, **query, **({"cursor": cursor} if cursor else {})))
        yield from page["data"]
        cursor = page["nextCursor"]
        if cursor is None:
            return


def to_ms(time: str) -> int:
    return round(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)


class Tops:
    """What `quotes` say prevailed: the last state at or before a moment."""

    def __init__(self, market: str, outcome: str) -> None:
        path = f"btc/markets/{market}/quotes"
        rows = list(walk(path, outcome=outcome, limit=10_000))
        self.times = [to_ms(row["timestamp"]) for row in rows]
        names = ("bid", "bidSize", "ask", "askSize")
        self.tops: list[Top] = [tuple(row[name] or 0.0 for name in names) for row in rows]  # type: ignore

    def at(self, ms: int) -> Top:
        return self.tops[bisect_right(self.times, ms) - 1]


class Book:
    def __init__(self) -> None:
        self.bids: dict[float, float] = {}
        self.asks: dict[float, float] = {}

    def put(self, is_bid: bool, price: float, size: float) -> None:
        levels = self.bids if is_bid else self.asks
        if size == 0:
            levels.pop(price, None)
        else:
            levels[price] = size

    def top(self) -> Top:
        bid, ask = max(self.bids, default=0.0), min(self.asks, default=0.0)
        return bid, self.bids.get(bid, 0.0), ask, self.asks.get(ask, 0.0)


def read_array(data: bytes) -> tuple[Any, int, bytes]:
    """The description, length and bytes of a one-dimensional array."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = int.from_bytes(data[8:10], "little")
    header = literal_eval(data[10 : 10 + size].decode())
    assert (10 + size) % 64 == 0 and header["fortran_order"] is False
    (length,) = header["shape"]
    return header["descr"], length, data[10 + size :]


def check_npz(market: str, outcome: str, tops: Tops, trades: int) -> int:
    name = f"btc/markets/{market}/export"
    with zipfile.ZipFile(io.BytesIO(fetch(name, format="npz", outcome=outcome))) as file:
        assert file.testzip() is None and file.namelist() == ["data.npy", "clipped.npy"]
        descr, length, rest = read_array(file.read("data.npy"))
        clipped = read_array(file.read("clipped.npy"))
    assert descr == FIELDS and len(rest) == length * EVENT.size == length * 64
    assert clipped[:2] == ("<i8", 1)
    book, before = Book(), (0, 0)
    last_kind = DEPTH
    for ev, exch, local, price, size, *others in EVENT.iter_unpack(rest):
        assert ev & EXCH and ev & LOCAL and local >= exch and others == [0, 0, 0.0]
        assert exch >= before[0] and local >= before[1], "events are in order of both clocks"
        kind = ev & 0xFF
        if exch == before[0]:
            assert kind != TRADE or last_kind == TRADE, "trades come before the book"
        elif before[0]:
            assert book.top() == tops.at(before[0] // 1_000_000), (market, before)
        before, last_kind = (exch, local), kind
        if kind == CLEAR:
            assert not ev & (BUY | SELL)
            book = Book()
        elif kind == TRADE:
            trades -= 1
        else:
            assert kind in (DEPTH, SNAPSHOT) and bool(ev & BUY) != bool(ev & SELL)
            book.put(bool(ev & BUY), price, size)
    if before[0]:
        assert book.top() == tops.at(before[0] // 1_000_000), market
    assert trades == 0, f"{market} lacks {trades} trades"
    return int(length)


def check_tardis(market: str, outcome: str, tops: Tops) -> int:
    text = fetch(f"btc/markets/{market}/export", format="tardis", outcome=outcome).decode()
    header, *rows = list(csv.reader(io.StringIO(text)))
    assert header == "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount".split(",")
    book, at, was_snapshot = Book(), 0, False
    pending: list[tuple[str, float, float]] = []

    def take() -> None:
        """Readers clear, of each side that a snapshot has, only the range of its prices."""
        for side, levels in (("bid", book.bids), ("ask", book.asks)):
            prices = [price for name, price, _ in pending if name == side]
            for price in [each for each in levels if prices and min(prices) <= each <= max(prices)]:
                del levels[price]
        for name, price, size in pending:
            book.put(name == "bid", price, size)
        pending.clear()

    for exchange, _, stamp, local, is_snapshot, side, price, amount in rows:
        assert exchange == "polymarket" and side in ("bid", "ask") and int(local) >= int(stamp)
        assert int(stamp) >= at and is_snapshot in ("true", "false")
        if pending and (is_snapshot == "false" or int(stamp) != at):
            take()
        if int(stamp) != at and at:
            assert book.top() == tops.at(at // 1000), (market, at)
        at, was_snapshot = int(stamp), is_snapshot == "true"
        if was_snapshot:
            pending.append((side, float(price), float(amount)))
        else:
            book.put(side == "bid", float(price), float(amount))
    assert not was_snapshot, "a file does not end with a snapshot"
    if at:
        assert book.top() == tops.at(at // 1000), market
    return len(rows)


def check_tardis_trades(market: str, outcome: str, trades: list[Any]) -> None:
    query = {"format": "tardis", "kind": "trades", "outcome": outcome}
    text = fetch(f"btc/markets/{market}/export", **query).decode()
    header, *rows = list(csv.reader(io.StringIO(text)))
    assert header == "exchange,symbol,timestamp,local_timestamp,id,side,price,amount".split(",")
    told = [
        (to_ms(each["timestamp"]), each["side"] or "unknown", each["price"], each["size"])
        for each in trades
    ]
    read = [(int(row[2]) // 1000, row[5], float(row[6]), float(row[7])) for row in rows]
    assert sorted(map(str, read)) == sorted(map(str, told)), market
    assert len({row[4] for row in rows}) == len(rows)


def main() -> None:
    counts = {"events": 0, "rows": 0, "trades": 0}
    for market in walk("btc/markets", limit=100):
        name = market["conditionId"]
        for outcome in ("up", "down"):
            tops = Tops(name, outcome)
            if not tops.times:
                continue
            path = f"btc/markets/{name}/trades"
            trades = [each for each in walk(path, outcome=outcome) if each["size"] is not None]
            counts["events"] += check_npz(name, outcome, tops, len(trades))
            counts["rows"] += check_tardis(name, outcome, tops)
            check_tardis_trades(name, outcome, trades)
            counts["trades"] += len(trades)
    print(json.dumps(counts))


main()
