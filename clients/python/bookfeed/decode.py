"""JSON as this API prints it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

AMOUNTS = frozenset(
    "ask askSize averagePrice bestPrice bid bidSize close cost covered exponent fee filled finalPrice "
    "high imbalance lastTrade low mid notional open price priceStep rate rebateRate size slippage "
    "spread strike tickSize total unfilled usdc verified worstPrice".split()
)
"""Members that are decimals, though one without a fraction is printed like an integer.

None of them is an integer anywhere, which a test compares with the API document.
"""


def _with_decimals(members: dict[str, Any]) -> dict[str, Any]:
    for name in members.keys() & AMOUNTS:
        if type(members[name]) is int:
            members[name] = Decimal(members[name])
    return members


def decode(text: bytes | str, exact: bool) -> Any:
    """With `exact`, decimals are `Decimal`, digit for digit; without, `float` (or `int`)."""
    if not exact:
        return json.loads(text)
    return json.loads(text, parse_float=Decimal, object_hook=_with_decimals)
