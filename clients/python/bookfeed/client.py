"""The client: one method per kind of request."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import api
from .api import (
    AgedSnapshot,
    CalibrationTable,
    Change,
    DayFile,
    DayKind,
    Incident,
    Market,
    PanelRow,
    Price,
    Quote,
    Revision,
    Settlement,
    Snapshot,
    Time,
    Trade,
)
from .decode import decode
from .export import Download, Progress, download, download_all
from .filters import ExportFilters, LatestFilters, Replayed, Subscribed, accept
from .frames import Library, columns_of, read_parquet, require
from .live import Live
from .stream import Replay, Subscription
from .transport import Fault, Request, Transport, keep, name_of, path_of, read_key, to_json
from .walk import Page, Rows, Walk

if TYPE_CHECKING:
    from typing_extensions import Unpack

Kind = Literal["snapshots", "levels", "quotes", "trades", "panel", "changes"]
"""What a file of a day has."""
MOMENTS_MAX = 400
"""Maximum per request: a body has at most 64 KiB."""
SERVER = "http://127.0.0.1:3000"


class Client:
    """A client of a Bookfeed server. Prices and sizes are `float`, or exact `Decimal` with `exact`.

    `key` defaults to the environment variable `BOOKFEED_KEY`, or `sample`; `server` defaults to
    `BOOKFEED_URL`, or `http://127.0.0.1:3000`.

    A request that fails temporarily is sent up to `attempts` times, each time after the delay that
    the server asks for, unless that exceeds `wait_max` seconds. A server may take up to two minutes
    to answer a long request, so `timeout` (in seconds) is longer than that.

    With a test key, every request asks for the fault `fault`, or for the one that this function
    returns: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`.
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

    def get(self, path: str, /, **query: object) -> Any:
        """The JSON of any route, such as `get("/v1/manifests", limit=1)`."""
        return decode(self._transport.fetch(Request(path, query))[1], self.exact)

    def walk(self, path: str, /, **filters: Any) -> Walk[Any]:
        """Walks any list with a cursor, such as `walk("/v1/manifests")`; `cursor` continues a walk."""
        cursor: str | None = filters.get("cursor")
        kept = keep(filters)

        def read(at: str | None) -> Page[Any]:
            request = Request(path, {**kept, "cursor": at})
            headers, body = self._transport.fetch(request)
            page = decode(body, self.exact)
            following: str | None = page.get("nextCursor")
            place = following or headers.get("X-Resume-Cursor")
            return Page(page["data"], place, following is None, headers.get("X-Coverage"))

        return Walk(read, cursor, columns_of(path, kept), self.exact)

    def _walk(self, limit: int, filters: Mapping[str, Any], *parts: str) -> Walk[Any]:
        return self.walk(path_of(*parts), **{"limit": limit, **filters})

    def _rows(self, filters: Mapping[str, Any], *parts: str) -> Rows[Any]:
        kept = keep(filters)
        columns = columns_of(path_of(*parts), kept)
        return Rows(self._get(*parts, **kept)["data"], columns, self.exact)

    def coins(self) -> Rows[dict[str, Any]]:
        """The coins and timeframes on this server, and how much data it holds of each."""
        return self._rows({}, "coins")

    def markets(self, coin: str, **filters: Unpack[api.ListMarkets]) -> Walk[Market]:
        """Markets of a coin, the newest first."""
        accept("markets", api.ListMarkets, filters)
        return self._walk(1000, filters, coin, "markets")

    def market(self, coin: str, market: str) -> Market:
        """A market by condition id, slug or asset id, any of which other methods accept as well."""
        return self._get(coin, "markets", market)

    def snapshots(
        self, coin: str, market: str, **filters: Unpack[api.ListSnapshots]
    ) -> Walk[Snapshot]:
        """Whole books in order of time."""
        accept("snapshots", api.ListSnapshots, filters)
        return self._walk(1000, filters, coin, "markets", market, "snapshots")

    def changes(
        self, coin: str, market: str, **filters: Unpack[api.ListChanges]
    ) -> Walk[Change]:
        """Books as the levels that changed, which a `Book` applies."""
        accept("changes", api.ListChanges, filters)
        return self._walk(1000, filters, coin, "markets", market, "changes")

    def quotes(self, coin: str, market: str, **filters: Unpack[api.ListQuotes]) -> Walk[Quote]:
        """Changes of the top of the book; with `interval`, the prevailing one at each step."""
        accept("quotes", api.ListQuotes, filters)
        return self._walk(10_000, filters, coin, "markets", market, "quotes")

    def prices(self, coin: str, market: str, **filters: Unpack[api.ListPrices]) -> Walk[Price]:
        """Changes of the mid and the last trade; with `interval`, bars of the mid."""
        accept("prices", api.ListPrices, filters)
        return self._walk(10_000, filters, coin, "markets", market, "prices")

    def trades(
        self, coin: str, market: str, **filters: Unpack[api.ListTrades]
    ) -> Walk[Trade]:
        """Trades reported by the venue; on some servers with `chain`, their state on the chain."""
        accept("trades", api.ListTrades, filters)
        return self._walk(10_000, filters, coin, "markets", market, "trades")

    def spot(self, coin: str, **filters: Unpack[api.ListSpot]) -> Walk[dict[str, Any]]:
        """Prices of the coin itself; with `interval`, bars."""
        accept("spot", api.ListSpot, filters)
        return self._walk(10_000, filters, coin, "spot")

    def settlement(self, coin: str, market: str) -> Settlement:
        """The prices by which a market was settled, and whether they lead to its result."""
        return self._get(coin, "markets", market, "settlement")

    def settlements(
        self, coin: str, **filters: Unpack[api.ListSettlements]
    ) -> Walk[Settlement]:
        """The same of every window of a coin that is over, newest first."""
        accept("settlements", api.ListSettlements, filters)
        return self._walk(1000, filters, coin, "settlements")

    def days(self, coin: str, **filters: Unpack[api.ListDays]) -> Rows[DayKind]:
        """What each day of a coin is worth: a word for each kind of data."""
        accept("days", api.ListDays, filters)
        return self._rows(filters, coin, "days")

    def incidents(self, **filters: Unpack[api.ListIncidents]) -> Rows[Incident]:
        """List outages of recorder and venue, newest first; needs no key."""
        accept("incidents", api.ListIncidents, filters)
        return self._rows(filters, "incidents")

    def panel(self, coin: str, **filters: Unpack[api.GetPanel]) -> Walk[PanelRow]:
        """One row per market of a `timeframe` and per offset in `offsets` before its end (`-60s`)."""
        accept("panel", api.GetPanel, filters)
        return self._walk(500, filters, coin, "panel")

    def prices_now(
        self, coin: str, **filters: Unpack[api.ListCurrentPrices]
    ) -> Rows[dict[str, Any]]:
        """Top of the book and last trade of every open market."""
        accept("prices_now", api.ListCurrentPrices, filters)
        return self._rows(filters, coin, "prices")

    def calibration(
        self, coin: str, **filters: Unpack[api.GetCalibration]
    ) -> Rows[CalibrationTable]:
        """How often Up won, by distance from the strike, at moments before the end."""
        accept("calibration", api.GetCalibration, filters)
        return self._rows(filters, coin, "calibration")

    def latest(
        self, coin: str, market: str, **filters: Unpack[LatestFilters]
    ) -> Rows[Snapshot]:
        """The last book of each outcome, or of the requested one; empty if none is recorded."""
        accept("latest", LatestFilters, filters)
        parts = [coin, "markets", market, "snapshots"]
        kept = keep(filters)
        rows: Rows[Snapshot] = Rows([], columns_of(path_of(*parts), kept), self.exact)
        asked = filters.get("outcome")
        for outcome in ["up", "down"] if asked is None else [asked]:
            last = {**kept, "outcome": outcome, "order": "desc", "limit": 1}
            rows += self._get(*parts, **last)["data"]
        return rows

    def as_of(
        self, coin: str, market: str, ts: Time, **filters: Unpack[api.GetSnapshotsAt]
    ) -> Rows[AgedSnapshot]:
        """The book of each outcome at or before a time, never after it."""
        accept("as_of", api.GetSnapshotsAt, filters)
        return self._rows({**filters, "ts": ts}, coin, "markets", market, "snapshots", "at")

    def as_of_many(
        self,
        coin: str,
        moments: Iterable[tuple[str, str, Time]],
        **filters: Unpack[api.ListSnapshotsAt],
    ) -> Iterator[dict[str, Any]]:
        """Books at any number of times (market, outcome, ts), in their order.

        Each has `snapshot` and `ageMs`, or `error`: `unknown_market`, `no_snapshot`, `stale`.
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
        """The hypothetical fill of a market order, given `outcome`, `side`, and `size` or `usdc`."""
        accept("fill", api.GetFill, filters)
        return self._get(coin, "markets", market, "fill", ts=ts, **filters)

    def resting_fill(
        self, coin: str, market: str, **filters: Unpack[api.GetRestingFill]
    ) -> dict[str, Any]:
        """Bounds of the fill of a resting order of an `outcome`: `side`, `price`, `size`, `from_`, `until`."""
        accept("resting_fill", api.GetRestingFill, filters)
        return self._get(coin, "markets", market, "fill", "resting", **filters)

    def coverage(
        self,
        coin: str,
        market: str | None = None,
        **filters: Unpack[api.ListCoverage],
    ) -> dict[str, Any]:
        """The recorded and missing spans of a market; without a market, of a coin day by day."""
        kind = api.ListCoverage if market is None else api.GetMarketCoverage
        accept("coverage", kind, filters)
        parts = [coin, "coverage"] if market is None else [coin, "markets", market, "coverage"]
        return self._get(*parts, **filters)

    def heatmap(
        self, coin: str, market: str, **filters: Unpack[api.GetHeatmap]
    ) -> dict[str, Any]:
        """Sizes of an outcome's book by price and time, in bins."""
        accept("heatmap", api.GetHeatmap, filters)
        return self._get(coin, "markets", market, "heatmap", **filters)

    def revisions(self, **filters: Unpack[api.ListRevisions]) -> Walk[Revision]:
        """Changes of data that was already available, with their causes, the newest first."""
        accept("revisions", api.ListRevisions, filters)
        return self._walk(1000, filters, "revisions")

    def files(self, coin: str, **filters: Unpack[api.ListFiles]) -> Walk[DayFile]:
        """Parquet files of whole days, which never change; `download` writes one to disk."""
        accept("files", api.ListFiles, filters)
        return self._walk(1000, filters, coin, "files")

    def archive_sql(self, coin: str, **filters: Unpack[api.GetArchiveSql]) -> str:
        """A statement for DuckDB that makes the files of many days one view, by links."""
        accept("archive_sql", api.GetArchiveSql, filters)
        return self._transport.fetch(Request(path_of(coin, "archive.sql"), filters))[1].decode()

    def download(
        self, file: DayFile, path: str | Path | None = None, *, progress: Progress = False
    ) -> Download:
        """Writes a file of `files` to `path`, by default under its own name in the current folder.

        The file appears when it is complete and its digest is verified; until then it is `….part`.
        """
        target = Path(path or file["name"])
        return download(self._transport, Request(file["url"]), target, progress)

    def download_days(
        self,
        coin: str,
        kind: Kind,
        folder: str | Path = ".",
        *,
        from_: date | str | None = None,
        to: date | str | None = None,
        timeframe: str | None = None,
        numbers: Literal["decimal", "double"] = "double",
        connections: int = 4,
        progress: Progress = False,
    ) -> list[Download]:
        """Writes the files of many days to a folder, `connections` at a time, the oldest day first.

        `from_` is the first day, `to` the day after the last one, both in UTC. Of each day and
        timeframe the latest revision is taken. A file that is in the folder already, with its
        digest, is not requested again.
        """
        first, end = str(from_ or ""), str(to or "9999")
        files = [
            file
            for file in self.files(coin, kind=kind, numbers=numbers)
            if first <= file["day"] < end
            and file["isLatest"]
            and timeframe in (None, file["timeframe"])
        ]
        files.sort(key=lambda file: (file["day"], file["name"]))
        return download_all(self._transport, files, Path(folder), connections, progress)

    def usage(self) -> dict[str, Any]:
        """The tier of the key, its remaining requests, and its usage."""
        return self._get("usage")

    def live(
        self,
        coin: str,
        market: str | None = None,
        **filters: Unpack[api.FollowCoin],
    ) -> Live:
        """Follows new rows of a market, or of all open markets of the coin.

        `channel` is `snapshots` (the default), `changes`, `quotes`, `prices` or `trades`. Given the
        `cursor` of a finished walk of the same rows, no row is missing or repeated in between.
        """
        kind = api.FollowCoin if market is None else api.FollowMarket
        accept("live", kind, filters)
        path = path_of(coin, "live") if market is None else path_of(coin, "markets", market, "live")
        return Live(self._transport, path, filters, self.exact)

    def stream(
        self,
        coin: str,
        market: str | None = None,
        *,
        cursor: str | None = None,
        places: Mapping[str, str] | None = None,
        **filters: Unpack[Subscribed],
    ) -> Subscription:
        """As `live`, over a WebSocket, which also has the channels `spot` and `markets`.

        Continues after the `cursor` of a walk or a stream of the same rows, or for a coin at the
        `places` of an earlier stream. Needs the extra `stream`.
        """
        accept("stream", Subscribed, filters)
        return Subscription(self, coin, market, filters, cursor, places)

    def replay(
        self, coin: str, market: str | None = None, **filters: Unpack[Replayed]
    ) -> Replay:
        """Plays a market, or every market of a coin between `from_` and `to`, as a stream.

        `speed` is a multiple of the original pace, or 0, the default: as fast as you take the
        events. Needs the extra `stream`.
        """
        accept("replay", Replayed, filters)
        return Replay(self, coin, market, filters)

    def export(
        self,
        path: str | Path,
        coin: str,
        market: str | None = None,
        *,
        format: Literal["tardis", "pmxt"] | None = None,
        progress: Progress = False,
        **filters: Unpack[ExportFilters],
    ) -> Download:
        """Writes a market, or a `day` of a coin, to a file.

        The extension selects the format: `.ndjson`, `.csv`, `.parquet` or `.npz`; `format` names
        those of other engines. The file appears when it is complete and its digest is verified;
        until then it is `….part`.
        """
        accept("export", ExportFilters, filters)
        parts = [coin, "export"] if market is None else [coin, "markets", market, "export"]
        query = {**filters, "format": format or Path(path).suffix.removeprefix(".")}
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
        """Books of a market, or of a `day` of a coin, as a pandas, polars or pyarrow table.

        Read from Parquet: one row per level, or with `shape="states"` one row per book. Needs the
        extra named after the library. Lists have `to_df` as well: `quotes(…).to_df()`.
        """
        require(library)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "export.parquet"
            self.export(path, coin, market, progress=progress, **filters)
            return read_parquet(path, library, self.exact)
