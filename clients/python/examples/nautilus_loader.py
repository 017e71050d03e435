"""Loads a market into a catalogue of nautilus_trader: its instrument, books and trades.

Usage: KEY=bf_live_… SERVER=http://… python3 nautilus_loader.py coin market up|down folder

The conversion makes plain dicts in the form that the `from_dict` of nautilus_trader's types reads,
so that it can be looked at, and is tested, without that package: only `main` needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from bookfeed import Client

VENUE = "POLYMARKET"
PRICE_DECIMALS, SIZE_DECIMALS = 4, 6
"""Of the venue's smallest tick, which a market may change to near its end, and of its shares."""
F_SNAPSHOT, F_LAST = 32, 128
"""Part of a whole book; the last part of a message, which has to be marked even if it is alone."""
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_ns(time: str) -> int:
    moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def to_text(number: Decimal, decimals: int) -> str:
    text = f"{number:.{decimals}f}"
    if Decimal(text) != number:
        raise ValueError(f"{number} has more than {decimals} decimals.")
    return text


def step_of(decimals: int) -> str:
    return f"{Decimal(1).scaleb(-decimals):f}"


def to_instrument(market: Any, outcome: str) -> dict[str, Any]:
    """A `BinaryOption`. Fees are not known here: set those that you pay."""
    asset = next(each["assetId"] for each in market["outcomes"] if each["outcome"] == outcome)
    symbol = f"{market['conditionId']}-{asset}"
    activation, expiration = to_ns(market["windowStart"]), to_ns(market["windowEnd"])
    return {
        "type": "BinaryOption",
        **{"id": f"{symbol}.{VENUE}", "raw_symbol": symbol, "asset_class": "ALTERNATIVE"},
        **{"currency": "USDC", "activation_ns": activation, "expiration_ns": expiration},
        **{"price_precision": PRICE_DECIMALS, "price_increment": step_of(PRICE_DECIMALS)},
        **{"size_precision": SIZE_DECIMALS, "size_increment": step_of(SIZE_DECIMALS)},
        **{"max_quantity": None, "min_quantity": None, "maker_fee": "0", "taker_fee": "0"},
        **{"outcome": outcome.capitalize(), "description": market["question"]},
        **{"ts_event": activation, "ts_init": activation},
    }


def to_deltas(book: Any, instrument_id: str) -> list[dict[str, Any]]:
    """`OrderBookDelta`s that replace the book by this one: no change is made up between two states.

    `ts_init` is when the recorder had it, where that is known: no strategy can have acted before.
    """
    levels = [("NO_ORDER_SIDE", Decimal(0), Decimal(0))]
    levels += [("BUY", each["price"], each["size"]) for each in book["bids"]]
    levels += [("SELL", each["price"], each["size"]) for each in book["asks"]]
    return [
        {
            "type": "OrderBookDelta",
            "instrument_id": instrument_id,
            "action": "CLEAR" if index == 0 else "ADD",
            "order": {
                "side": side,
                "price": to_text(price, PRICE_DECIMALS) if index else "0",
                "size": to_text(size, SIZE_DECIMALS) if index else "0",
                "order_id": 0,
            },
            "flags": F_SNAPSHOT | (F_LAST if index == len(levels) - 1 else 0),
            "sequence": int(book["id"]),
            "ts_event": to_ns(book["timestamp"]),
            "ts_init": to_ns(book["receivedAt"] or book["timestamp"]),
        }
        for index, (side, price, size) in enumerate(levels)
    ]


def to_trade(trade: Any, instrument_id: str, number: int) -> dict[str, Any]:
    aggressor = {"buy": "BUYER", "sell": "SELLER"}.get(trade["side"], "NO_AGGRESSOR")
    time = to_ns(trade["timestamp"])
    return {
        **{"type": "TradeTick", "instrument_id": instrument_id, "aggressor_side": aggressor},
        **{"price": to_text(trade["price"], PRICE_DECIMALS)},
        **{"size": to_text(trade["size"], SIZE_DECIMALS)},
        **{"trade_id": str(number), "ts_event": time, "ts_init": time},
    }


def load(client: Client, coin: str, market: str, outcome: Any) -> Iterator[dict[str, Any]]:
    """The instrument, then books, then trades. The client has to be one with `exact=True`.

    Trades whose outcome or size the source does not name are left out.
    """
    instrument = to_instrument(client.market(coin, market), outcome)
    yield instrument
    fields = ["id", "timestamp", "receivedAt", "bids", "asks"]
    for book in client.snapshots(coin, market, outcome=outcome, fields=fields):
        yield from to_deltas(book, instrument["id"])
    for number, trade in enumerate(client.trades(coin, market)):
        if trade["outcome"] == outcome and trade["size"] is not None:
            yield to_trade(trade, instrument["id"], number)


def main(coin: str, market: str, outcome: str, folder: str) -> None:
    try:
        from nautilus_trader.model.data import OrderBookDelta, TradeTick
        from nautilus_trader.model.instruments import BinaryOption
        from nautilus_trader.persistence.catalog import ParquetDataCatalog
    except ImportError:
        sys.exit("This needs nautilus_trader: pip install nautilus_trader")
    types = {"BinaryOption": BinaryOption, "OrderBookDelta": OrderBookDelta, "TradeTick": TradeTick}
    client = Client(os.environ["KEY"], os.environ["SERVER"], exact=True)
    rows = list(load(client, coin, market, outcome))
    for name, kind in types.items():
        data = [kind.from_dict(row) for row in rows if row["type"] == name]
        # A catalogue wants each kind in the order in which it was received.
        ParquetDataCatalog(folder).write_data(sorted(data, key=lambda each: each.ts_init))
        print(f"{len(data)} {name}")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
