"""JSON in the form of this API."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from .api import AMOUNTS


def _with_decimals(members: dict[str, Any]) -> dict[str, Any]:
    for name in members.keys() & AMOUNTS:
        if type(members[name]) is int:
            members[name] = Decimal(members[name])
    return members


def decode(text: bytes | str, exact: bool) -> Any:
    """Decimals become exact `Decimal` with `exact`, otherwise `float` (or `int`)."""
    if not exact:
        return json.loads(text)
    return json.loads(text, parse_float=Decimal, object_hook=_with_decimals)


def to_datetime(text: str) -> datetime:
    """A time of the API. Before Python 3.11, `fromisoformat` does not read the `Z`."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
