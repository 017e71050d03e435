"""Arguments of methods: the parameters of their routes, in `api.py`, which is generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from .api import ExportDay, ExportMarket, Names, Time

Outcome = Literal["up", "down"]


class ExportFilters(ExportMarket, ExportDay, total=False):
    """Of a market, or of a day of a coin."""


class LatestFilters(TypedDict, total=False):
    """Those parameters of snapshots that choose no other row than the last one."""

    outcome: Outcome
    depth: int
    fields: Names
    view: Literal["own", "consolidated"]


def accept(method: str, kind: type, filters: Mapping[str, Any]) -> None:
    """Raises `TypeError` for a name that the method does not take."""
    known = kind.__annotations__
    for name in filters:
        if name not in known:
            names = ", ".join(sorted(known))
            raise TypeError(f"{method}() does not take {name!r}. It takes {names}.")
