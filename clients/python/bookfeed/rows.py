"""Members of rows, as JSON has them (docs/data.md); a test compares them with the API document.

With `fields`, `interval` or `view`, rows have fewer members or other ones, described there.
"""

from decimal import Decimal
from typing import Any, Literal, Optional, TypedDict, Union

Amount = Union[float, Decimal]
"""A float, or a `Decimal` from a client with `exact=True`."""
Side = Literal["up", "down"]
Amount_ = Optional[Amount]
Text_ = Optional[str]
Side_ = Optional[Side]
Object_ = Optional[dict[str, Any]]

Level = TypedDict("Level", {"price": Amount, "size": Amount})
Snapshot = TypedDict(
    "Snapshot",
    {"id": str, "assetId": Text_, "conditionId": str, "symbol": str, "outcome": Side,
     "timeframe": str, "timestamp": str, "bids": list[Level], "asks": list[Level]},
)  # fmt: skip


class AgedSnapshot(Snapshot):
    ageMs: int


Quote = TypedDict(
    "Quote",
    {"id": str, "outcome": Side, "timestamp": str, "bid": Amount_, "bidSize": Amount_,
     "ask": Amount_, "askSize": Amount_, "mid": Amount_, "spread": Amount_, "imbalance": Amount_},
)  # fmt: skip
Price = TypedDict(
    "Price",
    {"id": str, "outcome": Side, "timestamp": str, "bid": Amount_, "ask": Amount_, "mid": Amount_,
     "lastTrade": Amount_, "lastTradeTime": Text_, "lastTradeOutcome": Side_},
)  # fmt: skip
Trade = TypedDict(
    "Trade",
    {"timestamp": str, "outcome": Side_, "price": Amount, "size": Amount_, "side": Text_,
     "transactionHash": Text_},
)  # fmt: skip
Market = TypedDict(
    "Market",
    {"conditionId": str, "symbol": str, "timeframe": str, "source": str, "status": str,
     "slug": Text_, "question": Text_, "windowStart": Text_, "windowEnd": Text_,
     "tickSize": Amount_, "strike": Amount_, "strikeSource": Text_, "strikeTime": Text_,
     "finalPrice": Amount_, "finalPriceSource": Text_, "finalPriceTime": Text_,
     "settlementRule": Text_, "feeSchedule": Object_, "result": Text_, "winner": Side_,
     "winnerSource": Text_, "spot": Object_,
     "outcomes": list[dict[str, Any]], "snapshots": int, "firstSnapshot": Text_,
     "lastSnapshot": Text_, "revision": int},
)  # fmt: skip
PanelRow = TypedDict(
    "PanelRow",
    {"conditionId": str, "slug": Text_, "timeframe": str, "source": str,
     "windowStart": str, "windowEnd": str, "strike": Amount_, "finalPrice": Amount_,
     "winner": Side_, "winnerSource": Text_, "offset": str,
     "offsetMs": int, "ts": str, "lastTrade": Object_, "spot": Object_,
     "covered": dict[Side, bool], "up": Object_, "down": Object_},
)  # fmt: skip
DayFile = TypedDict(
    "DayFile",
    {"name": str, "url": str, "timeframe": str, "day": str, "kind": str, "numbers": str,
     "revision": int, "isLatest": bool, "markets": int, "rows": int, "bytes": int,
     "sha256": str, "madeAt": str},
)  # fmt: skip
Revision = TypedDict(
    "Revision",
    {"id": str, "time": str, "why": str, "symbol": str, "conditionId": str, "timeframe": str,
     "windowStart": str, "revision": int, "added": int, "changed": int, "removed": int,
     "from": Text_, "to": Text_, "facts": list[dict[str, Any]]},
)  # fmt: skip
