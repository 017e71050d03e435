"""Generated from the API document by dev/release/python-types.ts: do not edit.

Parameters are named as arguments: `max_age_ms` for `maxAgeMs`, `from_` for `from`. Rows have all members
that JSON can have (docs/data.md): some come only on request, and `fields` or `interval` leave some out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Optional, TypedDict, Union

Time = Union[int, str, date, datetime]
"""Unix milliseconds, RFC 3339, a date, also as text (00:00 UTC), or a datetime (UTC if it has no zone)."""
Names = Union[str, Sequence[str]]
"""One name, several with commas between them, or a list."""
Decimals = Union[str, int, float, Decimal]
"""A decimal number. A string or a `Decimal` is sent digit for digit."""
Amount = Union[float, Decimal]
"""A float, or a `Decimal` from a client with `exact=True`."""


class BuyPack(TypedDict, total=False):
    claim: str


class BuyTier(TypedDict, total=False):
    another_period: Literal["true", "false"]
    claim: str


class CreateChallenge(TypedDict, total=False):
    address: str


class CreateKey(TypedDict, total=False):
    message: str
    signature: str
    label: str
    keep_keys: bool


class CreateQuote(TypedDict, total=False):
    tier_id: str
    network: str
    token: str
    payer: str
    another_period: bool


class ExportDay(TypedDict, total=False):
    day: Time
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    source: Literal["recorded", "simulated", "all"]
    shape: Literal["levels", "states", "changes"]
    depth: int
    include: Literal["receivedAt"]
    outcome: Literal["up", "down"]
    after: str


class ExportMarket(TypedDict, total=False):
    kind: Literal["book", "trades"]
    shape: Literal["levels", "states", "changes"]
    depth: int
    include: Literal["receivedAt"]
    outcome: Literal["up", "down"]
    from_: Time
    to: Time
    after: str


class FollowBoard(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]


class FollowCoin(TypedDict, total=False):
    channel: Literal["snapshots", "changes", "quotes", "prices", "trades"]
    outcome: Literal["up", "down"]
    depth: int
    heartbeat: int
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    cursor: str | None


class FollowMarket(TypedDict, total=False):
    channel: Literal["snapshots", "changes", "quotes", "prices", "trades"]
    outcome: Literal["up", "down"]
    depth: int
    heartbeat: int
    cursor: str | None


class GetArchiveSql(TypedDict, total=False):
    kind: Literal["snapshots", "levels", "quotes", "trades", "panel", "changes"]
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    numbers: Literal["decimal", "double"]
    from_: Time
    to: Time
    links: Literal["10m", "1h", "6h", "1d", "7d"]


class GetBoard(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]


class GetCalibration(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]


class GetCitation(TypedDict, total=False):
    id: str


class GetFill(TypedDict, total=False):
    outcome: Literal["up", "down"]
    side: Literal["buy", "sell"]
    size: Decimals
    usdc: Decimals
    view: Literal["own", "consolidated"]
    fee_bps: Decimals
    fee_rate: Decimals
    fees: Literal["market", "none"]
    latency_ms: int
    delay: int
    limit_price: Decimals
    max_age_ms: int


class GetHeatmap(TypedDict, total=False):
    from_: Time
    to: Time
    outcome: Literal["up", "down"]
    price_bins: int
    time_bins: int
    agg: Literal["max", "last", "time-weighted"]
    include: Literal["removed"]


class GetManifest(TypedDict, total=False):
    sequence: int
    day: Time


class GetMarketCoverage(TypedDict, total=False):
    from_: Time
    to: Time


class GetPanel(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    offsets: Names
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    max_age_ms: int
    source: Literal["recorded", "simulated", "all"]


class GetRestingFill(TypedDict, total=False):
    outcome: Literal["up", "down"]
    side: Literal["buy", "sell"]
    price: Decimals
    size: Decimals
    from_: Time
    until: Time
    latency_ms: int


class GetSnapshotsAt(TypedDict, total=False):
    outcome: Literal["up", "down"]
    max_age_ms: int
    depth: int
    fields: Names
    view: Literal["own", "consolidated"]


class LabelKey(TypedDict, total=False):
    label: str


class ListChanges(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    outcome: Literal["up", "down"]


class ListCoverage(TypedDict, total=False):
    from_: Time
    to: Time
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    source: Literal["recorded", "simulated", "all"]


class ListCurrentPrices(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]


class ListDays(TypedDict, total=False):
    from_: Time
    to: Time
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    source: Literal["recorded", "simulated", "all"]


class ListFiles(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    day: Time
    kind: Literal["snapshots", "levels", "quotes", "trades", "panel", "changes"]
    numbers: Literal["decimal", "double"]
    links: Literal["10m", "1h", "6h", "1d", "7d"]
    limit: int
    cursor: str | None


class ListIncidents(TypedDict, total=False):
    from_: Time
    to: Time


class ListManifests(TypedDict, total=False):
    limit: int
    cursor: str | None


class ListMarkets(TypedDict, total=False):
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    status: Literal["upcoming", "open", "closed", "resolved"]
    source: Literal["recorded", "simulated", "all"]
    from_: Time
    to: Time
    outcome: Literal["up", "down"]
    with_books: bool
    slug: str
    order: Literal["asc", "desc"]
    limit: int
    cursor: str | None


class ListPayments(TypedDict, total=False):
    limit: int
    cursor: str | None


class ListPrices(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    outcome: Literal["up", "down"]
    order: Literal["asc", "desc"]
    interval: Literal["1s", "5s", "10s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"]


class ListQuotes(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    outcome: Literal["up", "down"]
    order: Literal["asc", "desc"]
    interval: Literal["1s", "5s", "10s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"]
    fields: Names


class ListRevisions(TypedDict, total=False):
    since: Time
    coin: Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"]
    limit: int
    cursor: str | None


class ListSettlements(TypedDict, total=False):
    from_: Time
    to: Time
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    source: Literal["recorded", "simulated", "all"]
    agreement: Literal["agrees", "disagrees", "unknown"]
    order: Literal["asc", "desc"]
    limit: int
    cursor: str | None


class ListSnapshots(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    outcome: Literal["up", "down"]
    order: Literal["asc", "desc"]
    interval: Literal["1s", "5s", "10s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"]
    depth: int
    fields: Names
    view: Literal["own", "consolidated"]


class ListSnapshotsAt(TypedDict, total=False):
    max_age_ms: int
    depth: int
    fields: Names
    view: Literal["own", "consolidated"]


class ListSpot(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    order: Literal["asc", "desc"]
    source: str
    window: int
    interval: Literal["1s", "5s", "10s", "15s", "30s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"]


class ListTrades(TypedDict, total=False):
    from_: Time
    to: Time
    limit: int
    cursor: str | None
    outcome: Literal["up", "down"]
    order: Literal["asc", "desc"]


class RotateKey(TypedDict, total=False):
    overlap_seconds: int
    label: str


class SettlePayment(TypedDict, total=False):
    payment_payload: str
    quote_id: str

AgedSnapshot = TypedDict(
    "AgedSnapshot",
    {
        "id": str,
        "assetId": Optional[str],
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "outcome": Literal["up", "down"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "timestamp": str,
        "bids": list["Level"],
        "asks": list["Level"],
        "receivedAt": Optional[str],
        "sources": "LadderSources",
        "ageMs": int,
    },
)
Bar = TypedDict(
    "Bar",
    {
        "outcome": Literal["up", "down"],
        "start": str,
        "end": str,
        "open": Optional[Amount],
        "high": Optional[Amount],
        "low": Optional[Amount],
        "close": Optional[Amount],
        "lastTrade": Optional[Amount],
        "lastTradeTime": Optional[str],
        "lastTradeOutcome": Optional[Literal["up", "down"]],
        "lastTradeUpdates": int,
        "states": int,
        "covered": Amount,
    },
)
BoardWindow = TypedDict(
    "BoardWindow",
    {
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "slug": Optional[str],
        "windowStart": Optional[str],
        "windowEnd": Optional[str],
        "settlementRule": Optional[Literal["twap60", "twap30", "spot", "binance-1h", "binance-1d"]],
        "strike": Optional[Amount],
        "spot": Optional[dict[str, Any]],
        "average": Optional[dict[str, Any]],
        "needed": Optional[dict[str, Any]],
        "bookOf": Optional[Literal["up", "down"]],
        "timestamp": Optional[str],
        "bid": Optional[Amount],
        "ask": Optional[Amount],
        "mid": Optional[Amount],
        "spread": Optional[Amount],
        "bidDepth": Optional[Amount],
        "askDepth": Optional[Amount],
        "volume": Optional[Amount],
        "trades": Optional[int],
        "recording": dict[str, Any],
        "history": Optional[dict[str, Any]],
    },
)
Bought = TypedDict(
    "Bought",
    {
        "status": Literal["active"],
        "product": dict[str, Any],
        "subscription": Optional[dict[str, Any]],
        "requests": Optional[dict[str, Any]],
        "key": Optional[str],
        "howToGetKey": Optional[str],
        "settlement": "PaymentProof",
    },
)
BoughtRequests = TypedDict(
    "BoughtRequests",
    {
        "paymentId": str,
        "packId": str,
        "name": str,
        "requests": int,
        "used": int,
        "boughtAt": str,
    },
)
CalibrationMoment = TypedDict(
    "CalibrationMoment",
    {
        "beforeEndMs": int,
        "deviation": Amount,
        "windows": list[int],
        "ups": list[int],
    },
)
CalibrationTable = TypedDict(
    "CalibrationTable",
    {
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "madeAt": str,
        "from": str,
        "to": str,
        "markets": int,
        "edges": list[Amount],
        "moments": list["CalibrationMoment"],
    },
)
Chain = TypedDict(
    "Chain",
    {
        "network": str,
        "name": str,
        "chainId": int,
        "explorer": str,
        "finality": str,
        "tokens": list[dict[str, Any]],
    },
)
Challenge = TypedDict(
    "Challenge",
    {
        "message": str,
        "nonce": str,
        "expiresAt": str,
    },
)
Change = TypedDict(
    "Change",
    {
        "id": str,
        "prevId": Optional[str],
        "outcome": Literal["up", "down"],
        "timestamp": str,
        "receivedAt": Optional[str],
        "verified": Optional[bool],
        "snapshot": bool,
        "bids": list["ChangedLevel"],
        "asks": list["ChangedLevel"],
    },
)
ChangedLevel = TypedDict(
    "ChangedLevel",
    {
        "price": Amount,
        "size": Amount,
    },
)
Citation = TypedDict(
    "Citation",
    {
        "citation": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "day": str,
        "revision": int,
        "newestRevision": int,
        "isCurrent": bool,
        "sha256": str,
        "markets": int,
        "snapshots": int,
        "asOf": str,
        "sequence": int,
        "manifest": str,
        "data": str,
    },
)
Coin = TypedDict(
    "Coin",
    {
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "name": str,
        "sources": list[Literal["recorded", "simulated"]],
        "markets": int,
        "openMarkets": int,
        "snapshots": int,
        "firstSnapshot": Optional[str],
        "lastSnapshot": Optional[str],
        "timeframes": list[dict[str, Any]],
    },
)
Coverage = TypedDict(
    "Coverage",
    {
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "status": Literal["upcoming", "open", "closed", "resolved"],
        "requested": dict[str, Any],
        "covered": Optional[Amount],
        "silenceMs": int,
        "outcomes": list["OutcomeCoverage"],
        "revision": int,
    },
)
CoverageDay = TypedDict(
    "CoverageDay",
    {
        "day": str,
        "state": Literal["available", "degraded", "missing", "pending"],
        "markets": int,
        "timeframes": list[dict[str, Any]],
        "snapshots": dict[str, Any],
        "covered": Optional[Amount],
        "gaps": list[dict[str, Any]],
        "verified": Optional[Amount],
        "longestSilenceMs": Optional[int],
    },
)
CoverageSummary = TypedDict(
    "CoverageSummary",
    {
        "covered": Optional[Amount],
        "gaps": int,
        "longestSilenceMs": Optional[int],
        "verified": Optional[Amount],
    },
)
DayFile = TypedDict(
    "DayFile",
    {
        "name": str,
        "url": str,
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "day": str,
        "kind": Literal["snapshots", "levels", "quotes", "trades", "panel", "changes"],
        "numbers": Literal["decimal", "double"],
        "revision": int,
        "isLatest": bool,
        "markets": int,
        "rows": int,
        "bytes": int,
        "sha256": str,
        "madeAt": str,
        "link": str,
        "linkExpires": str,
    },
)
DayKind = TypedDict(
    "DayKind",
    {
        "day": str,
        "kind": Literal["snapshots", "trades", "settlements"],
        "state": Literal["complete", "gaps", "pending", "missing"],
        "reasons": list[Literal["recorder_down", "venue_silent", "venue_restart", "hash_mismatch", "not_open", "import", "replica_behind", "window_unknown", "no_market", "no_trade", "winner_differs", "void", "no_winner", "not_over", "no_tick_at_start", "no_tick_at_end", "candle", "rule_unknown"]],
        "since": str,
    },
)
Export = TypedDict(
    "Export",
    {
        "exportId": str,
        "name": str,
        "state": Literal["running", "complete", "broken_off"],
        "format": Literal["ndjson", "csv", "parquet", "npz", "tardis", "pmxt"],
        "contentEncoding": Optional[Literal["gzip"]],
        "snapshots": int,
        "bytes": int,
        "sha256": Optional[str],
        "startedAt": str,
        "endedAt": Optional[str],
    },
)
Fill = TypedDict(
    "Fill",
    {
        "conditionId": str,
        "outcome": Literal["up", "down"],
        "side": Literal["buy", "sell"],
        "view": Literal["own", "consolidated"],
        "ts": str,
        "matchedAt": str,
        "delayMs": int,
        "delaySource": Literal["request", "market", "venue", "unknown", "none"],
        "fees": dict[str, Any],
        "timestamp": str,
        "ageMs": int,
        "sources": "LadderSources",
        "asked": dict[str, Any],
        "filled": Amount,
        "notional": Amount,
        "fee": Amount,
        "total": Amount,
        "averagePrice": Optional[Amount],
        "bestPrice": Optional[Amount],
        "worstPrice": Optional[Amount],
        "slippage": Optional[Amount],
        "levelsUsed": int,
        "unfilled": Amount,
        "levels": list["FillLevel"],
    },
)
FillLevel = TypedDict(
    "FillLevel",
    {
        "price": Amount,
        "size": Amount,
        "source": Literal["own", "mirror", "both"],
        "cost": Amount,
    },
)
Health = TypedDict(
    "Health",
    {
        "status": Literal["ok"],
        "version": str,
    },
)
Heatmap = TypedDict(
    "Heatmap",
    {
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "outcome": Literal["up", "down"],
        "agg": Literal["max", "last", "time-weighted"],
        "from": str,
        "to": str,
        "stepMs": int,
        "priceStep": Amount,
        "trades": Optional[dict[str, Any]],
        "columns": list[Optional[dict[str, Any]]],
    },
)
Incident = TypedDict(
    "Incident",
    {
        "id": str,
        "source": Literal["recorder", "venue"],
        "cause": Literal["recorder_down", "venue_restart", "venue_silent"],
        "from": str,
        "to": Optional[str],
        "durationMs": Optional[int],
        "markets": int,
        "affected": list[dict[str, Any]],
    },
)
Key = TypedDict(
    "Key",
    {
        "id": str,
        "label": Optional[str],
        "hint": str,
        "status": Literal["active", "expiring"],
        "isCurrent": bool,
        "createdAt": str,
        "expiresAt": Optional[str],
        "lastUsedAt": Optional[str],
    },
)
LadderSources = TypedDict(
    "LadderSources",
    {
        "own": Optional[dict[str, Any]],
        "mirror": Optional[dict[str, Any]],
        "skewMs": Optional[int],
    },
)
Level = TypedDict(
    "Level",
    {
        "price": Amount,
        "size": Amount,
        "source": Literal["own", "mirror", "both"],
    },
)
Manifest = TypedDict(
    "Manifest",
    {
        "sequence": int,
        "day": str,
        "revision": int,
        "digest": str,
        "previous": Optional[str],
        "signature": str,
        "publicKey": str,
        "manifest": dict[str, Any],
    },
)
ManifestRow = TypedDict(
    "ManifestRow",
    {
        "sequence": int,
        "day": str,
        "revision": int,
        "digest": str,
        "previous": Optional[str],
        "signature": str,
        "publicKey": str,
        "madeAt": str,
    },
)
Market = TypedDict(
    "Market",
    {
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "status": Literal["upcoming", "open", "closed", "resolved"],
        "slug": Optional[str],
        "question": Optional[str],
        "windowStart": Optional[str],
        "windowEnd": Optional[str],
        "tickSize": Optional[Amount],
        "strike": Optional[Amount],
        "finalPrice": Optional[Amount],
        "winner": Optional[Literal["up", "down"]],
        "winnerSource": Optional[Literal["venue", "dataset", "simulated"]],
        "result": Optional[Literal["up", "down", "void"]],
        "settlementRule": Optional[Literal["twap60", "twap30", "spot", "binance-1h", "binance-1d"]],
        "strikeSource": Optional[Literal["catalogue", "price_page", "dataset", "chain", "feed", "simulated"]],
        "strikeTime": Optional[str],
        "finalPriceSource": Optional[Literal["catalogue", "price_page", "dataset", "chain", "feed", "simulated"]],
        "finalPriceTime": Optional[str],
        "feeSchedule": Optional[dict[str, Any]],
        "takerDelayMs": Optional[int],
        "orderAgeMs": Optional[int],
        "spot": Optional[dict[str, Any]],
        "outcomes": list["MarketOutcome"],
        "snapshots": int,
        "firstSnapshot": Optional[str],
        "lastSnapshot": Optional[str],
        "revision": int,
    },
)
MarketDigest = TypedDict(
    "MarketDigest",
    {
        "conditionId": str,
        "slug": Optional[str],
        "source": Literal["recorded", "simulated"],
        "revision": int,
        "snapshots": int,
        "snapshotsSha256": str,
        "trades": int,
        "tradesSha256": str,
        "factsSha256": str,
    },
)
MarketOutcome = TypedDict(
    "MarketOutcome",
    {
        "outcome": Literal["up", "down"],
        "assetId": Optional[str],
        "snapshots": int,
        "verifiedSnapshots": int,
        "firstSnapshot": Optional[str],
        "lastSnapshot": Optional[str],
        "coverage": "CoverageSummary",
    },
)
NewKey = TypedDict(
    "NewKey",
    {
        "key": str,
        "id": str,
        "label": Optional[str],
        "hint": str,
        "tier": str,
        "createdAt": str,
        "expiresAt": Optional[str],
        "address": Optional[str],
    },
)
OpenMarket = TypedDict(
    "OpenMarket",
    {
        "conditionId": str,
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "slug": Optional[str],
        "windowStart": Optional[str],
        "windowEnd": Optional[str],
        "up": Optional[dict[str, Any]],
        "down": Optional[dict[str, Any]],
        "lastTrade": Optional[dict[str, Any]],
    },
)
OutcomeCoverage = TypedDict(
    "OutcomeCoverage",
    {
        "outcome": Literal["up", "down"],
        "covered": Optional[Amount],
        "coveredMs": int,
        "intervals": list[dict[str, Any]],
        "gaps": list[dict[str, Any]],
        "wholeMarket": dict[str, Any],
    },
)
Pack = TypedDict(
    "Pack",
    {
        "id": str,
        "name": str,
        "requests": int,
        "coins": list[Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"]],
        "routes": list[Literal["markets", "prices", "snapshots", "quotes"]],
        "requestsPerMinute": int,
        "priceUsdc": str,
        "isForSale": bool,
    },
)
PaidSettlement = TypedDict(
    "PaidSettlement",
    {
        "status": Literal["active"],
        "subscription": "SubscriptionPeriod",
        "settlement": "PaymentProof",
    },
)
PanelRow = TypedDict(
    "PanelRow",
    {
        "conditionId": str,
        "slug": Optional[str],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "windowStart": str,
        "windowEnd": str,
        "strike": Optional[Amount],
        "finalPrice": Optional[Amount],
        "winner": Optional[Literal["up", "down"]],
        "winnerSource": Optional[Literal["venue", "dataset", "simulated"]],
        "offset": str,
        "offsetMs": int,
        "ts": str,
        "lastTrade": Optional[dict[str, Any]],
        "spot": Optional[dict[str, Any]],
        "covered": dict[str, Any],
        "up": Optional[dict[str, Any]],
        "down": Optional[dict[str, Any]],
    },
)
Payment = TypedDict(
    "Payment",
    {
        "status": Literal["active", "pending", "failed", "review"],
        "paymentId": str,
        "paymentState": Literal["received", "screened", "settling", "pending", "unknown", "settled", "provisioned", "rejected", "void", "review"],
        "reason": str,
        "retryAction": Literal["sign_anew", "retry_same_payment", "poll", "approve_then_retry", "wait_and_retry", "abandon", "ask_operator"],
        "pollUrl": str,
        "authorizationExpiresAt": str,
        "subscription": "SubscriptionPeriod",
        "requests": "BoughtRequests",
        "settlement": "PaymentProof",
    },
)
PaymentFailure = TypedDict(
    "PaymentFailure",
    {
        "success": bool,
        "errorReason": str,
        "payer": str,
        "transaction": Literal[""],
        "network": str,
    },
)
PaymentProof = TypedDict(
    "PaymentProof",
    {
        "paymentId": str,
        "transaction": str,
        "network": str,
        "token": Literal["USDC", "USDT"],
        "amount": str,
        "amountUsd": str,
        "payer": str,
        "explorerUrl": str,
    },
)
PaymentQuote = TypedDict(
    "PaymentQuote",
    {
        "quoteId": str,
        "expiresAt": str,
        "paymentRequirements": "PaymentRequirements",
        "paymentRequired": "PaymentRequired",
        "payer": Optional[str],
        "tier": dict[str, Any],
        "startsAt": str,
        "chain": dict[str, Any],
        "token": dict[str, Any],
        "paymentInFlight": dict[str, Any],
    },
)
PaymentRequired = TypedDict(
    "PaymentRequired",
    {
        "x402Version": Amount,
        "error": str,
        "resource": dict[str, Any],
        "accepts": list["PaymentRequirements"],
        "extensions": dict[str, Any],
    },
)
PaymentRequirements = TypedDict(
    "PaymentRequirements",
    {
        "scheme": Literal["exact"],
        "network": str,
        "asset": str,
        "amount": str,
        "payTo": str,
        "maxTimeoutSeconds": int,
        "extra": dict[str, Any],
    },
)
PaymentRequirementsV1 = TypedDict(
    "PaymentRequirementsV1",
    {
        "scheme": Literal["exact"],
        "network": str,
        "maxAmountRequired": str,
        "resource": str,
        "description": str,
        "mimeType": str,
        "payTo": str,
        "maxTimeoutSeconds": int,
        "asset": str,
        "extra": dict[str, Any],
    },
)
PendingSettlement = TypedDict(
    "PendingSettlement",
    {
        "status": Literal["pending"],
        "paymentId": str,
        "paymentState": Literal["received", "screened", "settling", "pending", "unknown", "settled", "provisioned", "rejected", "void", "review"],
        "reason": str,
        "retryAction": Literal["sign_anew", "retry_same_payment", "poll", "approve_then_retry", "wait_and_retry", "abandon", "ask_operator"],
        "pollUrl": str,
        "authorizationExpiresAt": str,
        "claim": str,
    },
)
Price = TypedDict(
    "Price",
    {
        "id": str,
        "outcome": Literal["up", "down"],
        "timestamp": str,
        "bid": Optional[Amount],
        "ask": Optional[Amount],
        "mid": Optional[Amount],
        "lastTrade": Optional[Amount],
        "lastTradeTime": Optional[str],
        "lastTradeOutcome": Optional[Literal["up", "down"]],
    },
)
Problem = TypedDict(
    "Problem",
    {
        "type": str,
        "title": str,
        "status": int,
        "code": Literal["invalid_parameter", "invalid_request", "challenge_invalid", "signature_invalid", "cursor_invalid", "cursor_mismatch", "payment_invalid", "unauthenticated", "payment_required", "payment_rejected", "tier_coin", "tier_route", "link_invalid", "operator_only", "not_found", "unknown_coin", "unknown_market", "no_snapshot", "stale", "unknown_tier", "unknown_network", "unknown_token", "unknown_offer", "unknown_payment", "unknown_file", "unknown_key", "method_not_allowed", "market_conflict", "challenge_used", "tier_not_for_sale", "offer_limit", "payment_limit", "offer_used", "payment_conflict", "payment_in_review", "key_replaced", "key_limit", "offer_expired", "allowance_required", "file_replaced", "challenge_expired", "payload_too_large", "unsupported_media_type", "range_not_satisfiable", "idempotency_mismatch", "rate_limited", "too_many_streams", "sanctioned", "internal", "damaged", "signup_closed", "billing_unavailable", "screening_unavailable", "storage_unavailable", "unavailable"],
        "error": str,
        "detail": str,
        "requestId": str,
        "param": str,
        "retryAfterSeconds": int,
        "requiredTier": str,
        "replacedBy": str,
        "reason": str,
        "retryAction": Literal["sign_anew", "retry_same_payment", "poll", "approve_then_retry", "wait_and_retry", "abandon", "ask_operator"],
        "paymentRequired": "PaymentRequired",
        "paymentResponse": "PaymentFailure",
        "x402Version": Amount,
        "accepts": list["PaymentRequirementsV1"],
    },
)
Quote = TypedDict(
    "Quote",
    {
        "time": str,
        "ageMs": int,
        "id": str,
        "outcome": Literal["up", "down"],
        "timestamp": str,
        "bid": Optional[Amount],
        "bidSize": Optional[Amount],
        "ask": Optional[Amount],
        "askSize": Optional[Amount],
        "mid": Optional[Amount],
        "spread": Optional[Amount],
        "imbalance": Optional[Amount],
        "receivedAt": Optional[str],
    },
)
Readiness = TypedDict(
    "Readiness",
    {
        "ready": bool,
        "checks": dict[str, Any],
        "signup": dict[str, Any],
        "warning": str,
    },
)
Receipt = TypedDict(
    "Receipt",
    {
        "paymentId": str,
        "quoteId": str,
        "status": Literal["active", "pending", "failed", "review"],
        "paymentState": Literal["received", "screened", "settling", "pending", "unknown", "settled", "provisioned", "rejected", "void", "review"],
        "reason": Optional[str],
        "tier": dict[str, Any],
        "subscription": Optional[dict[str, Any]],
        "amount": str,
        "amountUsd": str,
        "token": Literal["USDC", "USDT"],
        "network": str,
        "payer": str,
        "transaction": Optional[str],
        "explorerUrl": Optional[str],
        "createdAt": str,
        "updatedAt": str,
    },
)
ResourceList = TypedDict(
    "ResourceList",
    {
        "version": int,
        "resources": list[str],
        "openapi": str,
    },
)
RestingFill = TypedDict(
    "RestingFill",
    {
        "conditionId": str,
        "outcome": Literal["up", "down"],
        "side": Literal["buy", "sell"],
        "price": Amount,
        "size": Amount,
        "from": str,
        "placedAt": str,
        "until": str,
        "queueAhead": Optional[Amount],
        "lower": dict[str, Any],
        "upper": dict[str, Any],
        "tradedThrough": Amount,
        "tradedAt": Amount,
        "fees": dict[str, Any],
        "doubts": list[Literal["gap", "trades_unknown", "unclear_trades", "queue_unknown", "crossed"]],
    },
)
Revision = TypedDict(
    "Revision",
    {
        "id": str,
        "time": str,
        "why": Literal["late_rows", "imported", "late_trades", "fact_changed", "gap_noted", "gap_closed", "deleted"],
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "conditionId": str,
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "windowStart": str,
        "revision": int,
        "added": int,
        "changed": int,
        "removed": int,
        "from": Optional[str],
        "to": Optional[str],
        "facts": list[dict[str, Any]],
    },
)
RotatedKey = TypedDict(
    "RotatedKey",
    {
        "key": str,
        "id": str,
        "label": Optional[str],
        "hint": str,
        "tier": str,
        "createdAt": str,
        "expiresAt": Optional[str],
        "address": Optional[str],
        "replaces": dict[str, Any],
    },
)
Sample = TypedDict(
    "Sample",
    {
        "coins": list[Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"]],
        "routes": list[Literal["markets", "prices", "snapshots", "quotes"]],
        "requestsPerMinute": int,
        "market": Optional[dict[str, Any]],
        "sources": list[Literal["recorded", "simulated"]],
    },
)
SeriesDigest = TypedDict(
    "SeriesDigest",
    {
        "coin": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "revision": int,
        "sha256": str,
        "markets": list["MarketDigest"],
    },
)
Settlement = TypedDict(
    "Settlement",
    {
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "source": Literal["recorded", "simulated"],
        "slug": Optional[str],
        "windowStart": Optional[str],
        "windowEnd": Optional[str],
        "settlementRule": Optional[Literal["twap60", "twap30", "spot", "binance-1h", "binance-1d"]],
        "agreement": Literal["agrees", "disagrees", "unknown"],
        "reason": Optional[Literal["winner_differs", "void", "no_winner", "not_over", "no_tick_at_start", "no_tick_at_end", "candle", "rule_unknown", "window_unknown"]],
        "proof": Optional[dict[str, Any]],
        "estimate": Optional[dict[str, Any]],
        "strike": Optional[Amount],
        "strikeSource": Optional[Literal["catalogue", "price_page", "dataset", "chain", "feed", "simulated"]],
        "finalPrice": Optional[Amount],
        "finalPriceSource": Optional[Literal["catalogue", "price_page", "dataset", "chain", "feed", "simulated"]],
        "result": Optional[Literal["up", "down", "void"]],
        "winnerSource": Optional[Literal["venue", "dataset", "simulated"]],
    },
)
SettlementTick = TypedDict(
    "SettlementTick",
    {
        "source": str,
        "windowSeconds": int,
        "timestamp": str,
        "price": Amount,
        "receivedAt": Optional[str],
        "lateMs": int,
    },
)
Snapshot = TypedDict(
    "Snapshot",
    {
        "id": str,
        "assetId": Optional[str],
        "conditionId": str,
        "symbol": Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"],
        "outcome": Literal["up", "down"],
        "timeframe": Literal["5m", "15m", "1h", "4h", "1d"],
        "timestamp": str,
        "bids": list["Level"],
        "asks": list["Level"],
        "receivedAt": Optional[str],
        "sources": "LadderSources",
    },
)
Spot = TypedDict(
    "Spot",
    {
        "id": str,
        "source": str,
        "windowSeconds": int,
        "timestamp": str,
        "price": Amount,
        "receivedAt": Optional[str],
        "sequence": Optional[int],
        "dropped": int,
    },
)
SpotBar = TypedDict(
    "SpotBar",
    {
        "source": str,
        "windowSeconds": int,
        "start": str,
        "end": str,
        "open": Amount,
        "high": Amount,
        "low": Amount,
        "close": Amount,
        "ticks": int,
    },
)
Subscription = TypedDict(
    "Subscription",
    {
        "tier": dict[str, Any],
        "current": Optional[dict[str, Any]],
        "upcoming": list["SubscriptionPeriod"],
        "free": bool,
    },
)
SubscriptionPeriod = TypedDict(
    "SubscriptionPeriod",
    {
        "id": str,
        "tierId": str,
        "startsAt": str,
        "endsAt": Optional[str],
        "paymentId": Optional[str],
    },
)
TestKey = TypedDict(
    "TestKey",
    {
        "key": str,
    },
)
Tier = TypedDict(
    "Tier",
    {
        "id": str,
        "tierId": str,
        "name": str,
        "coins": list[Literal["btc", "eth", "sol", "xrp", "doge", "bnb", "hype", "zec"]],
        "routes": list[Literal["markets", "prices", "snapshots", "quotes"]],
        "requestsPerMinute": int,
        "concurrentStreams": int,
        "priceUsdc": Optional[str],
        "periodDays": Optional[int],
        "isForSale": bool,
        "contact": Optional[str],
        "pausedSince": Optional[str],
    },
)
Trade = TypedDict(
    "Trade",
    {
        "timestamp": str,
        "outcome": Optional[Literal["up", "down"]],
        "price": Amount,
        "size": Optional[Amount],
        "side": Optional[Literal["buy", "sell"]],
        "transactionHash": Optional[str],
        "chain": Literal["confirmed", "failed", "pending", "unknown"],
    },
)
Usage = TypedDict(
    "Usage",
    {
        "tier": dict[str, Any],
        "period": Optional[dict[str, Any]],
        "windows": dict[str, Any],
        "packs": list[dict[str, Any]],
        "days": list["UsageDay"],
    },
)
UsageDay = TypedDict(
    "UsageDay",
    {
        "date": str,
        "requests": int,
        "bytes": int,
        "routes": list[dict[str, Any]],
    },
)
WellKnown = TypedDict(
    "WellKnown",
    {
        "service": str,
        "algorithm": str,
        "publicKey": str,
        "publicKeyPem": str,
        "newest": Optional[dict[str, Any]],
        "manifests": str,
        "citations": str,
    },
)
AMOUNTS = frozenset(
    [
        "ask",
        "askDepth",
        "askSize",
        "averagePrice",
        "bestPrice",
        "bid",
        "bidDepth",
        "bidSize",
        "close",
        "cost",
        "covered",
        "deviation",
        "exponent",
        "fee",
        "filled",
        "finalPrice",
        "high",
        "imbalance",
        "lastTrade",
        "low",
        "mid",
        "notional",
        "open",
        "price",
        "priceStep",
        "queueAhead",
        "rate",
        "rebateRate",
        "size",
        "slippage",
        "spread",
        "strike",
        "tickSize",
        "total",
        "tradedAt",
        "tradedThrough",
        "unfilled",
        "usdc",
        "verified",
        "volume",
        "worstPrice",
    ]
)
"""Members that are decimals, though one without a fraction is printed like an integer."""

COLUMNS: dict[str, list[dict[str, tuple[str, dict[str, Any]]]]] = {
    "/v1/billing/payments": [
        {
            "paymentId": ("", {"payment_id": "text"}),
            "quoteId": ("", {"quote_id": "text"}),
            "status": ("", {"status": "text"}),
            "paymentState": ("", {"payment_state": "text"}),
            "reason": ("", {"reason": "text?"}),
            "tier": ("", {"tier_tier_id": "text", "tier_name": "text", "tier_period_days": "int", "tier_requests": "int"}),
            "subscription": ("", {"subscription_id": "text?", "subscription_tier_id": "text?", "subscription_starts_at": "time?", "subscription_ends_at": "time?", "subscription_payment_id": "text?"}),
            "amount": ("", {"amount": "text"}),
            "amountUsd": ("", {"amount_usd": "text"}),
            "token": ("", {"token": "text"}),
            "network": ("", {"network": "text"}),
            "payer": ("", {"payer": "text"}),
            "transaction": ("", {"transaction": "text?"}),
            "explorerUrl": ("", {"explorer_url": "text?"}),
            "createdAt": ("", {"created_at": "time"}),
            "updatedAt": ("", {"updated_at": "time"}),
        },
    ],
    "/v1/board": [
        {
            "conditionId": ("", {"condition_id": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "slug": ("", {"slug": "text?"}),
            "windowStart": ("", {"window_start": "time?"}),
            "windowEnd": ("", {"window_end": "time?"}),
            "settlementRule": ("", {"settlement_rule": "text?"}),
            "strike": ("", {"strike": "float?"}),
            "spot": ("", {"spot_price": "float?", "spot_source": "text?", "spot_window_seconds": "int?", "spot_timestamp": "time?"}),
            "average": ("", {"average_price": "float?", "average_from": "time?", "average_to": "time?", "average_source": "text?", "average_is_settlement": "bool?"}),
            "needed": ("", {"needed_price": "float?", "needed_from": "time?"}),
            "bookOf": ("", {"book_of": "text?"}),
            "timestamp": ("", {"timestamp": "time?"}),
            "bid": ("", {"bid": "float?"}),
            "ask": ("", {"ask": "float?"}),
            "mid": ("", {"mid": "float?"}),
            "spread": ("", {"spread": "float?"}),
            "bidDepth": ("", {"bid_depth": "float?"}),
            "askDepth": ("", {"ask_depth": "float?"}),
            "volume": ("", {"volume": "float?"}),
            "trades": ("", {"trades": "int?"}),
            "recording": ("", {"recording_state": "text", "recording_reason": "text?", "recording_since": "time?", "recording_covered": "float?"}),
            "history": ("", {"history_from": "time?", "history_step_ms": "int?", "history_mid": ["float"], "history_spot": ["float"], "history_average": ["float"]}),
        },
    ],
    "/v1/coins": [
        {
            "symbol": ("", {"symbol": "text"}),
            "name": ("", {"name": "text"}),
            "sources": ("", {"sources": ["text"]}),
            "markets": ("", {"markets": "int"}),
            "openMarkets": ("", {"open_markets": "int"}),
            "snapshots": ("", {"snapshots": "int"}),
            "firstSnapshot": ("", {"first_snapshot": "time?"}),
            "lastSnapshot": ("", {"last_snapshot": "time?"}),
            "timeframes": ("", {"timeframes": [{"timeframe":"text","markets":"int","openMarkets":"int","snapshots":"int","firstSnapshot":"text","lastSnapshot":"text"}]}),
        },
    ],
    "/v1/exports": [
        {
            "exportId": ("", {"export_id": "text"}),
            "name": ("", {"name": "text"}),
            "state": ("", {"state": "text"}),
            "format": ("", {"format": "text"}),
            "contentEncoding": ("", {"content_encoding": "text?"}),
            "snapshots": ("", {"snapshots": "int"}),
            "bytes": ("", {"bytes": "int"}),
            "sha256": ("", {"sha256": "text?"}),
            "startedAt": ("", {"started_at": "time"}),
            "endedAt": ("", {"ended_at": "time?"}),
        },
    ],
    "/v1/incidents": [
        {
            "id": ("", {"id": "text"}),
            "source": ("", {"source": "text"}),
            "cause": ("", {"cause": "text"}),
            "from": ("", {"from": "time"}),
            "to": ("", {"to": "time?"}),
            "durationMs": ("", {"duration_ms": "int?"}),
            "markets": ("", {"markets": "int"}),
            "affected": ("", {"affected": [{"symbol":"text","timeframe":"text","markets":"int","firstWindow":"text","lastWindow":"text"}]}),
        },
    ],
    "/v1/keys": [
        {
            "id": ("", {"id": "text"}),
            "label": ("", {"label": "text?"}),
            "hint": ("", {"hint": "text"}),
            "status": ("", {"status": "text"}),
            "isCurrent": ("", {"is_current": "bool"}),
            "createdAt": ("", {"created_at": "time"}),
            "expiresAt": ("", {"expires_at": "time?"}),
            "lastUsedAt": ("", {"last_used_at": "time?"}),
        },
    ],
    "/v1/manifests": [
        {
            "sequence": ("", {"sequence": "int"}),
            "day": ("", {"day": "text"}),
            "revision": ("", {"revision": "int"}),
            "digest": ("", {"digest": "text"}),
            "previous": ("", {"previous": "text?"}),
            "signature": ("", {"signature": "text"}),
            "publicKey": ("", {"public_key": "text"}),
            "madeAt": ("", {"made_at": "time"}),
        },
    ],
    "/v1/revisions": [
        {
            "id": ("", {"id": "text"}),
            "time": ("", {"time": "time"}),
            "why": ("", {"why": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "conditionId": ("", {"condition_id": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "windowStart": ("", {"window_start": "time"}),
            "revision": ("", {"revision": "int"}),
            "added": ("", {"added": "int"}),
            "changed": ("", {"changed": "int"}),
            "removed": ("", {"removed": "int"}),
            "from": ("", {"from": "time?"}),
            "to": ("", {"to": "time?"}),
            "facts": ("", {"facts": [{"fact":"text","before":"text","after":"text"}]}),
        },
    ],
    "/v1/sample/files": [
        {
            "name": ("", {"name": "text"}),
            "url": ("", {"url": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "day": ("", {"day": "text"}),
            "kind": ("", {"kind": "text"}),
            "numbers": ("", {"numbers": "text"}),
            "revision": ("", {"revision": "int"}),
            "isLatest": ("", {"is_latest": "bool"}),
            "markets": ("", {"markets": "int"}),
            "rows": ("", {"rows": "int"}),
            "bytes": ("", {"bytes": "int"}),
            "sha256": ("", {"sha256": "text"}),
            "madeAt": ("", {"made_at": "time"}),
            "link": ("", {"link": "text"}),
            "linkExpires": ("", {"link_expires": "time"}),
        },
    ],
    "/v1/{coin}/calibration": [
        {
            "symbol": ("", {"symbol": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "madeAt": ("", {"made_at": "time"}),
            "from": ("", {"from": "time"}),
            "to": ("", {"to": "time"}),
            "markets": ("", {"markets": "int"}),
            "edges": ("", {"edges": ["float"]}),
            "moments": ("", {"moments": [{"beforeEndMs":"int","deviation":"float","windows":["int"],"ups":["int"]}]}),
        },
    ],
    "/v1/{coin}/coverage": [
        {
            "day": ("", {"day": "text"}),
            "state": ("", {"state": "text"}),
            "markets": ("", {"markets": "int"}),
            "timeframes": ("", {"timeframes": [{"timeframe":"text","markets":"int","windows":"int","covered":"float"}]}),
            "snapshots": ("", {"snapshots_up": "int", "snapshots_down": "int"}),
            "covered": ("", {"covered": "float?"}),
            "gaps": ("", {"gaps": [{"reason":"text","count":"int","durationMs":"int"}]}),
            "verified": ("", {"verified": "float?"}),
            "longestSilenceMs": ("", {"longest_silence_ms": "int?"}),
        },
    ],
    "/v1/{coin}/days": [
        {
            "day": ("", {"day": "text"}),
            "kind": ("", {"kind": "text"}),
            "state": ("", {"state": "text"}),
            "reasons": ("", {"reasons": ["text"]}),
            "since": ("", {"since": "time"}),
        },
    ],
    "/v1/{coin}/files": [
        {
            "name": ("", {"name": "text"}),
            "url": ("", {"url": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "day": ("", {"day": "text"}),
            "kind": ("", {"kind": "text"}),
            "numbers": ("", {"numbers": "text"}),
            "revision": ("", {"revision": "int"}),
            "isLatest": ("", {"is_latest": "bool"}),
            "markets": ("", {"markets": "int"}),
            "rows": ("", {"rows": "int"}),
            "bytes": ("", {"bytes": "int"}),
            "sha256": ("", {"sha256": "text"}),
            "madeAt": ("", {"made_at": "time"}),
            "link": ("", {"link": "text"}),
            "linkExpires": ("", {"link_expires": "time"}),
        },
    ],
    "/v1/{coin}/markets": [
        {
            "conditionId": ("", {"condition_id": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "status": ("", {"status": "text"}),
            "slug": ("", {"slug": "text?"}),
            "question": ("", {"question": "text?"}),
            "windowStart": ("", {"window_start": "time?"}),
            "windowEnd": ("", {"window_end": "time?"}),
            "tickSize": ("", {"tick_size": "float?"}),
            "strike": ("", {"strike": "float?"}),
            "finalPrice": ("", {"final_price": "float?"}),
            "winner": ("", {"winner": "text?"}),
            "winnerSource": ("", {"winner_source": "text?"}),
            "result": ("", {"result": "text?"}),
            "settlementRule": ("", {"settlement_rule": "text?"}),
            "strikeSource": ("", {"strike_source": "text?"}),
            "strikeTime": ("", {"strike_time": "time?"}),
            "finalPriceSource": ("", {"final_price_source": "text?"}),
            "finalPriceTime": ("", {"final_price_time": "time?"}),
            "feeSchedule": ("", {"fee_schedule_rate": "float?", "fee_schedule_exponent": "float?", "fee_schedule_taker_only": "bool?", "fee_schedule_rebate_rate": "float?"}),
            "takerDelayMs": ("", {"taker_delay_ms": "int?"}),
            "orderAgeMs": ("", {"order_age_ms": "int?"}),
            "spot": ("", {"spot_price": "float?", "spot_source": "text?", "spot_window_seconds": "int?", "spot_timestamp": "time?"}),
            "outcomes": ("", {"outcomes": [{"outcome":"text","assetId":"text","snapshots":"int","verifiedSnapshots":"int","firstSnapshot":"text","lastSnapshot":"text","coverage":{"covered":"float","gaps":"int","longestSilenceMs":"int","verified":"float"}}]}),
            "snapshots": ("", {"snapshots": "int"}),
            "firstSnapshot": ("", {"first_snapshot": "time?"}),
            "lastSnapshot": ("", {"last_snapshot": "time?"}),
            "revision": ("", {"revision": "int"}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/changes": [
        {
            "id": ("", {"id": "text"}),
            "prevId": ("", {"prev_id": "text?"}),
            "outcome": ("", {"outcome": "text"}),
            "timestamp": ("", {"timestamp": "time"}),
            "receivedAt": ("", {"received_at": "time?"}),
            "verified": ("", {"verified": "bool?"}),
            "snapshot": ("", {"snapshot": "bool"}),
            "bids": ("", {"bids": [{"price":"float","size":"float"}]}),
            "asks": ("", {"asks": [{"price":"float","size":"float"}]}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/prices": [
        {
            "id": ("", {"id": "text"}),
            "outcome": ("", {"outcome": "text"}),
            "timestamp": ("", {"timestamp": "time"}),
            "bid": ("", {"bid": "float?"}),
            "ask": ("", {"ask": "float?"}),
            "mid": ("", {"mid": "float?"}),
            "lastTrade": ("", {"last_trade": "float?"}),
            "lastTradeTime": ("", {"last_trade_time": "time?"}),
            "lastTradeOutcome": ("", {"last_trade_outcome": "text?"}),
        },
        {
            "outcome": ("", {"outcome": "text"}),
            "start": ("", {"start": "time"}),
            "end": ("", {"end": "time"}),
            "open": ("", {"open": "float?"}),
            "high": ("", {"high": "float?"}),
            "low": ("", {"low": "float?"}),
            "close": ("", {"close": "float?"}),
            "lastTrade": ("", {"last_trade": "float?"}),
            "lastTradeTime": ("", {"last_trade_time": "time?"}),
            "lastTradeOutcome": ("", {"last_trade_outcome": "text?"}),
            "lastTradeUpdates": ("", {"last_trade_updates": "int"}),
            "states": ("", {"states": "int"}),
            "covered": ("", {"covered": "float"}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/quotes": [
        {
            "time": ("interval", {"time": "time"}),
            "ageMs": ("interval", {"age_ms": "int"}),
            "id": ("", {"id": "text"}),
            "outcome": ("", {"outcome": "text"}),
            "timestamp": ("", {"timestamp": "time"}),
            "bid": ("", {"bid": "float?"}),
            "bidSize": ("", {"bid_size": "float?"}),
            "ask": ("", {"ask": "float?"}),
            "askSize": ("", {"ask_size": "float?"}),
            "mid": ("", {"mid": "float?"}),
            "spread": ("", {"spread": "float?"}),
            "imbalance": ("", {"imbalance": "float?"}),
            "receivedAt": ("", {"received_at": "time?"}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/snapshots": [
        {
            "id": ("", {"id": "text"}),
            "assetId": ("", {"asset_id": "text?"}),
            "conditionId": ("", {"condition_id": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "outcome": ("", {"outcome": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "timestamp": ("", {"timestamp": "time"}),
            "bids": ("", {"bids": [{"price":"float","size":"float","source":"text"}]}),
            "asks": ("", {"asks": [{"price":"float","size":"float","source":"text"}]}),
            "receivedAt": ("fields", {"received_at": "time?"}),
            "sources": ("view", {"sources_own_id": "text?", "sources_own_timestamp": "time?", "sources_mirror_id": "text?", "sources_mirror_timestamp": "time?", "sources_skew_ms": "int?"}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/snapshots/at": [
        {
            "id": ("", {"id": "text"}),
            "assetId": ("", {"asset_id": "text?"}),
            "conditionId": ("", {"condition_id": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "outcome": ("", {"outcome": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "timestamp": ("", {"timestamp": "time"}),
            "bids": ("", {"bids": [{"price":"float","size":"float","source":"text"}]}),
            "asks": ("", {"asks": [{"price":"float","size":"float","source":"text"}]}),
            "receivedAt": ("fields", {"received_at": "time?"}),
            "sources": ("view", {"sources_own_id": "text?", "sources_own_timestamp": "time?", "sources_mirror_id": "text?", "sources_mirror_timestamp": "time?", "sources_skew_ms": "int?"}),
            "ageMs": ("", {"age_ms": "int"}),
        },
    ],
    "/v1/{coin}/markets/{conditionId}/trades": [
        {
            "timestamp": ("", {"timestamp": "time"}),
            "outcome": ("", {"outcome": "text?"}),
            "price": ("", {"price": "float"}),
            "size": ("", {"size": "float?"}),
            "side": ("", {"side": "text?"}),
            "transactionHash": ("", {"transaction_hash": "text?"}),
            "chain": ("server", {"chain": "text"}),
        },
    ],
    "/v1/{coin}/panel": [
        {
            "conditionId": ("", {"condition_id": "text"}),
            "slug": ("", {"slug": "text?"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "windowStart": ("", {"window_start": "time"}),
            "windowEnd": ("", {"window_end": "time"}),
            "strike": ("", {"strike": "float?"}),
            "finalPrice": ("", {"final_price": "float?"}),
            "winner": ("", {"winner": "text?"}),
            "winnerSource": ("", {"winner_source": "text?"}),
            "offset": ("", {"offset": "text"}),
            "offsetMs": ("", {"offset_ms": "int"}),
            "ts": ("", {"ts": "time"}),
            "lastTrade": ("", {"last_trade_price": "float?", "last_trade_outcome": "text?", "last_trade_timestamp": "time?"}),
            "spot": ("", {"spot_price": "float?", "spot_source": "text?", "spot_window_seconds": "int?", "spot_age_ms": "int?"}),
            "covered": ("", {"covered_up": "bool", "covered_down": "bool"}),
            "up": ("", {"up_timestamp": "time?", "up_age_ms": "int?", "up_bid": "float?", "up_bid_size": "float?", "up_ask": "float?", "up_ask_size": "float?", "up_mid": "float?", "up_spread": "float?", "up_imbalance": "float?", "up_bids_levels": "int?", "up_bids_size": "float?", "up_bids_usdc": "float?", "up_asks_levels": "int?", "up_asks_size": "float?", "up_asks_usdc": "float?"}),
            "down": ("", {"down_timestamp": "time?", "down_age_ms": "int?", "down_bid": "float?", "down_bid_size": "float?", "down_ask": "float?", "down_ask_size": "float?", "down_mid": "float?", "down_spread": "float?", "down_imbalance": "float?", "down_bids_levels": "int?", "down_bids_size": "float?", "down_bids_usdc": "float?", "down_asks_levels": "int?", "down_asks_size": "float?", "down_asks_usdc": "float?"}),
        },
    ],
    "/v1/{coin}/prices": [
        {
            "conditionId": ("", {"condition_id": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "slug": ("", {"slug": "text?"}),
            "windowStart": ("", {"window_start": "time?"}),
            "windowEnd": ("", {"window_end": "time?"}),
            "up": ("", {"up_bid": "float?", "up_ask": "float?", "up_mid": "float?", "up_timestamp": "time?"}),
            "down": ("", {"down_bid": "float?", "down_ask": "float?", "down_mid": "float?", "down_timestamp": "time?"}),
            "lastTrade": ("", {"last_trade_price": "float?", "last_trade_outcome": "text?", "last_trade_timestamp": "time?"}),
        },
    ],
    "/v1/{coin}/settlements": [
        {
            "conditionId": ("", {"condition_id": "text"}),
            "symbol": ("", {"symbol": "text"}),
            "timeframe": ("", {"timeframe": "text"}),
            "source": ("", {"source": "text"}),
            "slug": ("", {"slug": "text?"}),
            "windowStart": ("", {"window_start": "time?"}),
            "windowEnd": ("", {"window_end": "time?"}),
            "settlementRule": ("", {"settlement_rule": "text?"}),
            "agreement": ("", {"agreement": "text"}),
            "reason": ("", {"reason": "text?"}),
            "proof": ("", {"proof_strike": "float?", "proof_final_price": "float?", "proof_winner": "text?", "proof_ticks": [{"source":"text","windowSeconds":"int","timestamp":"text","price":"float","receivedAt":"text","lateMs":"int"}]}),
            "estimate": ("", {"estimate_strike": "float?", "estimate_final_price": "float?", "estimate_winner": "text?", "estimate_source": "text?"}),
            "strike": ("", {"strike": "float?"}),
            "strikeSource": ("", {"strike_source": "text?"}),
            "finalPrice": ("", {"final_price": "float?"}),
            "finalPriceSource": ("", {"final_price_source": "text?"}),
            "result": ("", {"result": "text?"}),
            "winnerSource": ("", {"winner_source": "text?"}),
        },
    ],
    "/v1/{coin}/spot": [
        {
            "id": ("", {"id": "text"}),
            "source": ("", {"source": "text"}),
            "windowSeconds": ("", {"window_seconds": "int"}),
            "timestamp": ("", {"timestamp": "time"}),
            "price": ("", {"price": "float"}),
            "receivedAt": ("", {"received_at": "time?"}),
            "sequence": ("", {"sequence": "int?"}),
            "dropped": ("", {"dropped": "int"}),
        },
        {
            "source": ("", {"source": "text"}),
            "windowSeconds": ("", {"window_seconds": "int"}),
            "start": ("", {"start": "time"}),
            "end": ("", {"end": "time"}),
            "open": ("", {"open": "float"}),
            "high": ("", {"high": "float"}),
            "low": ("", {"low": "float"}),
            "close": ("", {"close": "float"}),
            "ticks": ("", {"ticks": "int"}),
        },
    ],
}
"""Of each list the members of its rows (with `interval` the last kind): the parameter that a member
needs (`server` if the operator decides), and the columns that it makes, with their kinds: a name,
of a list the kind of its items, of objects in one those of their members."""
