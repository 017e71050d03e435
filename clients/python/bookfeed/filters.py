"""Arguments of methods: the parameters of their routes, in `api.py`, which is generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from .api import ExportDay, ExportMarket, Names, Time

Outcome = Literal["up", "down"]


class ExportFilters(ExportMarket, ExportDay, total=False):
    """Parameters of an export of a market, or of a day of a coin."""


class LatestFilters(TypedDict, total=False):
    """The parameters of snapshots that do not change which row is the last one."""

    outcome: Outcome
    depth: int
    fields: Names
    view: Literal["own", "consolidated"]


class Subscribed(TypedDict, total=False):
    """What a stream over a WebSocket selects (docs/live.md#subscribe)."""

    channel: Literal["snapshots", "changes", "quotes", "prices", "trades", "spot", "markets"]
    timeframe: Literal["5m", "15m", "1h", "4h", "1d"]
    outcome: Outcome
    depth: int
    source: str
    window: int


class Replayed(Subscribed, total=False):
    """What a replay selects besides (docs/live.md#replay)."""

    from_: Time
    to: Time
    cursor: str | None
    speed: float
    with_: Literal["spot"]


def accept(method: str, kind: type, filters: Mapping[str, Any]) -> None:
    """Raises `TypeError` for a parameter that the method does not have."""
    known = kind.__annotations__
    for name in filters:
        if name not in known:
            names = ", ".join(sorted(known))
            raise TypeError(f"{method}() does not take {name!r}. It takes {names}.")
