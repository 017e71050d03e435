"""Saves a market as Tardis CSV, and runs the backtest engine of nautilus_trader over it.

A test runs `save`. The rest follows the documentation of nautilus_trader 1.2 and was never run: the package
could not be installed where this was written. Its reader knows no exchange `polymarket`, so the files name
`binance`; the instrument id that the loader is given replaces what they name.

Usage: KEY=bf_live_… python3 nautilus_tardis.py market up|down folder [coin]
"""
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PRICE_DECIMALS, SIZE_DECIMALS = 4, 6  # of the smallest tick, and of shares


def get(path):
    server = os.environ.get("SERVER", "http://127.0.0.1:3000")
    try:
        with urlopen(Request(server + path, headers={"Authorization": f"Bearer {os.environ['KEY']}"})) as answer:
            return answer.read().decode()
    except HTTPError as error:
        sys.exit(error.read().decode())


def save(market, outcome, folder, coin):
    """Paths of the two files, `incremental_book_L2` and `trades`."""
    paths = []
    for kind in ("book", "trades"):
        text = get(f"/v1/{coin}/markets/{market}/export?format=tardis&kind={kind}&outcome={outcome}")
        path = Path(folder) / f"{outcome}-{kind}.csv"
        path.write_text(text.replace("\npolymarket,", "\nbinance,"))
        paths.append(path)
    return paths


def to_instrument(market, outcome):
    """The facts of a `BinaryOption`, in the form that its `from_dict` takes."""
    asset = next(each["assetId"] for each in market["outcomes"] if each["outcome"] == outcome)
    symbol = f"{market['conditionId']}-{asset}"
    start, end = (
        int(datetime.fromisoformat(market[name].replace("Z", "+00:00")).timestamp()) * 10**9
        for name in ("windowStart", "windowEnd")
    )
    return {
        "type": "BinaryOption", "id": f"{symbol}.POLYMARKET", "raw_symbol": symbol,
        "asset_class": "ALTERNATIVE", "currency": "USDC", "activation_ns": start, "expiration_ns": end,
        "price_precision": PRICE_DECIMALS, "price_increment": f"{10**-PRICE_DECIMALS:.{PRICE_DECIMALS}f}",
        "size_precision": SIZE_DECIMALS, "size_increment": f"{10**-SIZE_DECIMALS:.{SIZE_DECIMALS}f}",
        "max_quantity": None, "min_quantity": None, "maker_fee": "0", "taker_fee": "0",
        "outcome": outcome.capitalize(), "description": market["question"], "ts_event": start, "ts_init": start,
    }


def run(facts, book, trades):
    from nautilus_trader.adapters.tardis.loaders import TardisCSVDataLoader
    from nautilus_trader.backtest.engine import BacktestEngine
    from nautilus_trader.model.currencies import USDC
    from nautilus_trader.model.enums import AccountType, BookType, OmsType
    from nautilus_trader.model.identifiers import Venue
    from nautilus_trader.model.instruments import BinaryOption
    from nautilus_trader.model.objects import Money

    instrument = BinaryOption.from_dict(facts)
    loader = TardisCSVDataLoader(PRICE_DECIMALS, SIZE_DECIMALS, instrument.id)
    engine = BacktestEngine()
    engine.add_venue(
        venue=Venue("POLYMARKET"), oms_type=OmsType.NETTING, account_type=AccountType.CASH,
        starting_balances=[Money(1000, USDC)], book_type=BookType.L2_MBP,
    )
    engine.add_instrument(instrument)
    for data in (loader.load_deltas(book), loader.load_trades(trades)):
        if data:
            engine.add_data(data)
    # engine.add_strategy(…): yours
    engine.run()
    print(engine.get_result())


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    name, side, target, coin_name = [*sys.argv[1:], "btc"][:4]
    files = save(name, side, target, coin_name)
    print(*files)
    instrument_facts = to_instrument(json.loads(get(f"/v1/{coin_name}/markets/{name}")), side)
    try:
        run(instrument_facts, *files)
    except ImportError:
        print("To run the engine: pip install nautilus_trader")
