"""Parameters of routes, as arguments: `max_age_ms` for `maxAgeMs`, `from_` for `from`.

Each method takes those of its route; any other name is a `TypeError` before anything is sent. A
test compares each class with the API document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, TypedDict, Union

Time = Union[int, str, date, datetime]
"""Unix milliseconds, RFC 3339, a date (00:00 UTC), or a datetime, in UTC if it has no zone."""
Outcome = Literal["up", "down"]
Order = Literal["asc", "desc"]
Timeframe = Literal["5m", "15m", "1h", "4h", "1d"]
Interval = Literal["1s", "5s", "10s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"]
Channel = Literal["snapshots", "quotes", "prices", "trades"]
View = Literal["own", "consolidated"]
Source = Literal["recorded", "simulated", "all"]
Names = Union[str, Sequence[str]]
"""One name, several with commas between them, or a list."""
Decimals = Union[str, int, float]
"""A decimal number. A string is sent digit for digit."""


class CoverageFilters(TypedDict, total=False):
    from_: Time
    to: Time


class CoinCoverageFilters(CoverageFilters, total=False):
    timeframe: Timeframe
    source: Source


class ListFilters(TypedDict, total=False):
    limit: int
    cursor: str | None


class RangeFilters(ListFilters, CoverageFilters, total=False):
    pass


class MarketFilters(RangeFilters, total=False):
    timeframe: Timeframe
    status: Literal["upcoming", "open", "closed", "resolved"]
    source: Source
    outcome: Outcome
    slug: str
    order: Order


class HistoryFilters(RangeFilters, total=False):
    outcome: Outcome
    order: Order
    known_at: Time


class SnapshotFilters(HistoryFilters, total=False):
    interval: Interval
    depth: int
    fields: Names
    view: View


class QuoteFilters(HistoryFilters, total=False):
    interval: Interval
    fields: Names


class PriceFilters(HistoryFilters, total=False):
    interval: Interval


class SpotFilters(RangeFilters, total=False):
    order: Order
    source: str
    window: int
    interval: Interval


class PanelFilters(RangeFilters, total=False):
    timeframe: Timeframe
    offsets: Names
    max_age_ms: int
    known_at: Time
    source: Source


class RevisionFilters(ListFilters, total=False):
    since: Time
    coin: str


class FileFilters(ListFilters, total=False):
    timeframe: Timeframe
    day: Time
    kind: Literal["snapshots", "levels", "quotes", "trades", "panel"]
    numbers: Literal["decimal", "double"]


class OpenPriceFilters(TypedDict, total=False):
    timeframe: Timeframe


class BookFilters(TypedDict, total=False):
    depth: int
    fields: Names
    view: View


class LatestFilters(BookFilters, total=False):
    outcome: Outcome
    known_at: Time


class BatchFilters(BookFilters, total=False):
    max_age_ms: int


class MomentFilters(BatchFilters, total=False):
    outcome: Outcome
    known_at: Time


class FillFilters(TypedDict, total=False):
    outcome: Outcome
    side: Literal["buy", "sell"]
    size: Decimals
    usdc: Decimals
    view: View
    fee_bps: Decimals
    fee_rate: Decimals
    limit_price: Decimals
    max_age_ms: int
    known_at: Time


class HeatmapFilters(CoverageFilters, total=False):
    outcome: Outcome
    price_bins: int
    time_bins: int
    agg: Literal["max", "last", "time-weighted"]


class LiveFilters(TypedDict, total=False):
    channel: Channel
    outcome: Outcome
    depth: int
    heartbeat: int
    cursor: str | None


class CoinLiveFilters(LiveFilters, total=False):
    timeframe: Timeframe


class ExportFilters(CoverageFilters, total=False):
    shape: Literal["levels", "states"]
    depth: int
    include: Literal["receivedAt"]
    outcome: Outcome
    after: str
    day: Time
    timeframe: Timeframe
    source: Source


def accept(method: str, kind: type, filters: Mapping[str, Any]) -> None:
    """Raises `TypeError` for a name that the method does not take."""
    known = kind.__annotations__
    for name in filters:
        if name not in known:
            names = ", ".join(sorted(known))
            raise TypeError(f"{method}() does not take {name!r}. It takes {names}.")
