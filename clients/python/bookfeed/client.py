"""The client: one method for each thing to ask."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import api
from .api import (
    AgedSnapshot,
    DayFile,
    Market,
    PanelRow,
    Price,
    Quote,
    Revision,
    Snapshot,
    Time,
    Trade,
)
from .decode import decode
from .export import Download, Progress, download
from .filters import ExportFilters, LatestFilters, accept
from .frames import Library, columns_of, read_parquet, require
from .live import Live
from .transport import Fault, Request, Transport, keep, name_of, path_of, read_key, to_json
from .walk import Page, Walk

if TYPE_CHECKING:
    from typing_extensions import Unpack

MOMENTS_MAX = 400
"""Of one request: a body has at most 64 KiB."""
SERVER = "http://127.0.0.1:3000"


class Client:
    """Asks a server. With `exact`, prices and sizes are `Decimal`, digit for digit, else `float`.

    `key` is that of the environment variable `BOOKFEED_KEY` unless it is given, else `sample`;
    `server` is that of `BOOKFEED_URL`, else `http://127.0.0.1:3000`.

    What fails for a reason that passes is sent up to `attempts` times, each time after as long as
    the server says, unless that is more than `wait_max` seconds. A server may take up to two
    minutes to answer a long request, which is why `timeout` (seconds) is longer.

    With a test key, each request asks for `fault`, or for the fault that it returns:
    `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`.
    """

    def __init__(
        self,
        key: str | None = None,
        server: str | None = None,
        *,
        exact: bool = False,
        timeout: float = 130,
        attempts: int = 6,
        wait_max: float = 61,
        sleep: Callable[[float], None] = time.sleep,
        fault: Fault = None,
    ) -> None:
        self.exact = exact
        server = server or os.environ.get("BOOKFEED_URL") or SERVER
        key = read_key(key)
        self._transport = Transport(server, key, timeout, attempts, wait_max, sleep, fault)

    def close(self) -> None:
        """Closes idle connections; the client can be used again."""
        self._transport.close()

    def _get(self, *parts: str, **query: object) -> Any:
        return decode(self._transport.fetch(Request(path_of(*parts), query))[1], self.exact)

    def get(self, path: str, **query: object) -> Any:
        """The JSON of any route, such as `get("/v1/manifests", limit=1)`."""
        return decode(self._transport.fetch(Request(path, query))[1], self.exact)

    def walk(self, path: str, **filters: Any) -> Walk[Any]:
        """Any list with a cursor, such as `walk("/v1/manifests")`; `cursor` continues a walk."""
        filters = keep(filters)

        def read(at: str | None) -> Page[Any]:
            request = Request(path, {**filters, "cursor": at})
            headers, body = self._transport.fetch(request)
            page = decode(body, self.exact)
            following: str | None = page["nextCursor"]
            place = following or headers.get("X-Resume-Cursor")
            return Page(page["data"], place, following is None, headers.get("X-Coverage"))

        return Walk(read, filters.get("cursor"), columns_of(path, filters), self.exact)

    def _walk(self, limit: int, filters: Mapping[str, Any], *parts: str) -> Walk[Any]:
        return self.walk(path_of(*parts), **{"limit": limit, **filters})

    def coins(self) -> list[dict[str, Any]]:
        """Coins and timeframes that are served, and how much is held of them."""
        return self._get("coins")["data"]

    def markets(self, coin: str, **filters: Unpack[api.ListMarkets]) -> Walk[Market]:
        """Markets of a coin, the newest first."""
        accept("markets", api.ListMarkets, filters)
        return self._walk(1000, filters, coin, "markets")

    def market(self, coin: str, market: str) -> Market:
        """A market by its condition id, its slug or one of its asset ids, here and below."""
        return self._get(coin, "markets", market)

    def snapshots(
        self, coin: str, market: str, **filters: Unpack[api.ListSnapshots]
    ) -> Walk[Snapshot]:
        """Whole books in the order of time."""
        accept("snapshots", api.ListSnapshots, filters)
        return self._walk(1000, filters, coin, "markets", market, "snapshots")

    def quotes(self, coin: str, market: str, **filters: Unpack[api.ListQuotes]) -> Walk[Quote]:
        """Changes of the top of the book; with `interval`, what prevailed at each step."""
        accept("quotes", api.ListQuotes, filters)
        return self._walk(10_000, filters, coin, "markets", market, "quotes")

    def prices(self, coin: str, market: str, **filters: Unpack[api.ListPrices]) -> Walk[Price]:
        """Changes of the mid and the last trade; with `interval`, bars of the mid."""
        accept("prices", api.ListPrices, filters)
        return self._walk(10_000, filters, coin, "markets", market, "prices")

    def trades(
        self, coin: str, market: str, **filters: Unpack[api.ListTrades]
    ) -> Walk[Trade]:
        """Trades that the venue announced."""
        accept("trades", api.ListTrades, filters)
        return self._walk(10_000, filters, coin, "markets", market, "trades")

    def spot(self, coin: str, **filters: Unpack[api.ListSpot]) -> Walk[dict[str, Any]]:
        """Prices of the coin itself; with `interval`, bars of them."""
        accept("spot", api.ListSpot, filters)
        return self._walk(10_000, filters, coin, "spot")

    def panel(self, coin: str, **filters: Unpack[api.GetPanel]) -> Walk[PanelRow]:
        """A row for each market of a `timeframe` and each of `offsets` before its end (`-60s`)."""
        accept("panel", api.GetPanel, filters)
        return self._walk(500, filters, coin, "panel")

    def prices_now(
        self, coin: str, **filters: Unpack[api.ListCurrentPrices]
    ) -> list[dict[str, Any]]:
        """Top of book and last trade of every open market."""
        accept("prices_now", api.ListCurrentPrices, filters)
        return self._get(coin, "prices", **filters)["data"]

    def latest(
        self, coin: str, market: str, **filters: Unpack[LatestFilters]
    ) -> list[Snapshot]:
        """The last book of each outcome, or of the one asked for; none where none is recorded."""
        accept("latest", LatestFilters, filters)
        rows: list[Snapshot] = []
        asked = filters.get("outcome")
        kept = keep(filters)
        for outcome in ["up", "down"] if asked is None else [asked]:
            last = {**kept, "outcome": outcome, "order": "desc", "limit": 1}
            rows += self._get(coin, "markets", market, "snapshots", **last)["data"]
        return rows

    def as_of(
        self, coin: str, market: str, ts: Time, **filters: Unpack[api.GetSnapshotsAt]
    ) -> list[AgedSnapshot]:
        """The book of each outcome at or before a moment, never after it."""
        accept("as_of", api.GetSnapshotsAt, filters)
        return self._get(coin, "markets", market, "snapshots", "at", ts=ts, **filters)["data"]

    def as_of_many(
        self,
        coin: str,
        moments: Iterable[tuple[str, str, Time]],
        **filters: Unpack[api.ListSnapshotsAt],
    ) -> Iterator[dict[str, Any]]:
        """Books at any number of moments (market, outcome, ts), in their order.

        Each has `snapshot` and its `ageMs`, or `error`: `unknown_market`, `no_snapshot`, `stale`.
        """
        accept("as_of_many", api.ListSnapshotsAt, filters)
        options = {
            name_of(name): to_json(value) for name, value in filters.items() if value is not None
        }
        rest = iter(moments)
        while asked := list(islice(rest, MOMENTS_MAX)):
            requests = [
                {"conditionId": market, "outcome": outcome, "ts": to_json(ts)}
                for market, outcome, ts in asked
            ]
            body = {"requests": requests, **options}
            text = json.dumps(body, separators=(",", ":"))
            headers = {"Content-Type": "application/json"}
            request = Request(path_of(coin, "snapshots", "at"), {}, "POST", headers, text.encode())
            yield from decode(self._transport.fetch(request)[1], self.exact)["data"]

    def fill(
        self, coin: str, market: str, ts: Time, **filters: Unpack[api.GetFill]
    ) -> dict[str, Any]:
        """What a market order would have met: of `outcome`, `side`, and `size` or `usdc`."""
        accept("fill", api.GetFill, filters)
        return self._get(coin, "markets", market, "fill", ts=ts, **filters)

    def coverage(
        self,
        coin: str,
        market: str | None = None,
        **filters: Unpack[api.ListCoverage],
    ) -> dict[str, Any]:
        """What is recorded of a market and what is not; without one, of a coin day by day."""
        kind = api.ListCoverage if market is None else api.GetMarketCoverage
        accept("coverage", kind, filters)
        parts = [coin, "coverage"] if market is None else [coin, "markets", market, "coverage"]
        return self._get(*parts, **filters)

    def heatmap(
        self, coin: str, market: str, **filters: Unpack[api.GetHeatmap]
    ) -> dict[str, Any]:
        """Sizes of an outcome's book by price and time, in bins that the server makes."""
        accept("heatmap", api.GetHeatmap, filters)
        return self._get(coin, "markets", market, "heatmap", **filters)

    def revisions(self, **filters: Unpack[api.ListRevisions]) -> Walk[Revision]:
        """What changed after it could be served, and why, the newest first."""
        accept("revisions", api.ListRevisions, filters)
        return self._walk(1000, filters, "revisions")

    def files(self, coin: str, **filters: Unpack[api.ListFiles]) -> Walk[DayFile]:
        """Parquet files of whole days that never change; `download` writes one to the disk."""
        accept("files", api.ListFiles, filters)
        return self._walk(1000, filters, coin, "files")

    def download(
        self, file: DayFile, path: str | Path | None = None, *, progress: Progress = False
    ) -> Download:
        """Writes a file of `files`, to its own name in this folder unless a path is given.

        The file is there once it is whole and has its digest; until then it is `….part`.
        """
        target = Path(path or file["name"])
        return download(self._transport, Request(file["url"]), target, progress)

    def usage(self) -> dict[str, Any]:
        """The tier of the key, what is left of its allowance, and what was used."""
        return self._get("usage")

    def live(
        self,
        coin: str,
        market: str | None = None,
        **filters: Unpack[api.FollowCoin],
    ) -> Live:
        """Rows of a market, or of every open one of the coin, as they are written.

        `channel` is `snapshots` (the default), `quotes`, `prices` or `trades`. With the `cursor` of
        a walk of the same rows that is at its end, none is missing or repeated in between.
        """
        kind = api.FollowCoin if market is None else api.FollowMarket
        accept("live", kind, filters)
        path = path_of(coin, "live") if market is None else path_of(coin, "markets", market, "live")
        return Live(self._transport, path, filters, self.exact)

    def export(
        self,
        path: str | Path,
        coin: str,
        market: str | None = None,
        *,
        progress: Progress = False,
        **filters: Unpack[ExportFilters],
    ) -> Download:
        """Writes a market, or a `day` of a coin, to a file.

        The format is that of its name: `.ndjson`, `.csv` or `.parquet`. The file is there once it
        is whole and has the digest that the server says; until then it is `….part`.
        """
        accept("export", ExportFilters, filters)
        parts = [coin, "export"] if market is None else [coin, "markets", market, "export"]
        query = {**filters, "format": Path(path).suffix.removeprefix(".")}
        return download(self._transport, Request(path_of(*parts), query), Path(path), progress)

    def to_df(
        self,
        coin: str,
        market: str | None = None,
        *,
        library: Library = "pandas",
        progress: Progress = False,
        **filters: Unpack[ExportFilters],
    ) -> Any:
        """Books of a market, or of a `day` of a coin, as a table of pandas, polars or pyarrow.

        Read from Parquet: a row per level, or with `shape="states"` a row per book. Needs the
        extra of the library's name. Each list has `to_df` as well: `quotes(…).to_df()`.
        """
        require(library)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "export.parquet"
            self.export(path, coin, market, progress=progress, **filters)
            return read_parquet(path, library, self.exact)
