"""JSON as this API prints it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from .api import AMOUNTS


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
