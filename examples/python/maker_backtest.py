"""Backtests a maker over a market's `.npz` file, with numpy: it bids at the best bid and asks at the best ask.

An order arrives after LATENCY_NS, behind everything that the book shows there, and until then the order
before it can be filled. Only trades fill: through its price, or at its price once that queue has traded.
Depth that disappears fills nothing, because it may have been withdrawn. A share is worth 1 or 0 at the end.

With hftbacktest 2.4 installed, its engine then runs the same quotes. That part (`by_hftbacktest`) follows its
documentation and was never run: the package could not be installed where this was written.

Usage: KEY=bf_live_… python3 maker_backtest.py market [up|down] [coin]    (needs numpy)
"""
import io
import json
import os
import sys
import tempfile
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy

BUY, SELL = 1 << 29, 1 << 28
DEPTH, TRADE, CLEAR, SNAPSHOT = 1, 2, 3, 4
LATENCY_NS, SHARES, POSITION_MAX = 100_000_000, 10, 50


class Order:
    def __init__(self, price, from_ns):
        self.price, self.from_ns, self.queue, self.left = price, from_ns, 0, SHARES


def run(events):
    """The fills as (nanoseconds, price, shares), with shares below 0 for sales."""
    books, resting, sent, fills = {BUY: {}, SELL: {}}, {}, {}, []
    position = 0
    for index, (flags, at, _, price, size, *_) in enumerate(events.tolist()):
        for own, order in list(sent.items()):  # until then the order before it can be filled
            if at > order.from_ns:
                resting[own] = sent.pop(own)
                order.queue = books[own].get(order.price, 0)
        kind, side = flags & 0xFF, BUY if flags & BUY else SELL
        if kind == CLEAR:  # a gap: nothing is known until the snapshot that follows
            books, resting, sent = {BUY: {}, SELL: {}}, {}, {}
        elif kind in (DEPTH, SNAPSHOT):
            books[side][price] = size
            if size == 0:
                del books[side][price]
        elif kind == TRADE and flags & (BUY | SELL):
            own, sign = (SELL, -1) if side == BUY else (BUY, 1)  # a buyer takes what is asked
            order = resting.get(own)
            if order and order.price is not None and (order.price - price) * sign >= 0:
                if order.price != price:  # the trade went through the order
                    order.queue = 0
                filled = min(order.left, max(0, size - order.queue))
                order.queue = max(0, order.queue - size)
                order.left -= filled
                position += filled * sign
                if filled:
                    fills.append((at, order.price, filled * sign))
        if index + 1 < len(events) and events["exch_ts"][index + 1] == at:
            continue  # more of this moment follows
        best = {BUY: max(books[BUY], default=None), SELL: min(books[SELL], default=None)}
        for own, sign in ((BUY, 1), (SELL, -1)):
            order = resting.get(own)
            wants = best[own] if position * sign < POSITION_MAX else None  # None: no order
            if own not in sent and (order is None or order.price != wants or order.left == 0):
                sent[own] = Order(wants, at + LATENCY_NS)
    return fills


def by_hftbacktest(path):
    from hftbacktest import GTX, LIMIT, BacktestAsset, HashMapMarketDepthBacktest
    from numba import njit

    @njit
    def quote(engine):
        while engine.elapse(LATENCY_NS) == 0:
            engine.clear_inactive_orders(0)
            depth, orders = engine.depth(0), engine.orders(0)
            for each, price in ((1, depth.best_bid), (2, depth.best_ask)):
                if each in orders:
                    if abs(orders[each].price - price) > 1e-9 and orders[each].cancellable:
                        engine.cancel(0, each, False)
                elif each == 1 and engine.position(0) < POSITION_MAX:
                    engine.submit_buy_order(0, each, price, SHARES, GTX, LIMIT, False)
                elif each == 2 and engine.position(0) > -POSITION_MAX:
                    engine.submit_sell_order(0, each, price, SHARES, GTX, LIMIT, False)

    asset = BacktestAsset().data([path]).linear_asset(1.0).tick_size(0.001).lot_size(0.01)
    asset = asset.constant_order_latency(LATENCY_NS, LATENCY_NS).risk_adverse_queue_model()
    engine = HashMapMarketDepthBacktest([asset.no_partial_fill_exchange().trading_value_fee_model(0, 0)])
    quote(engine)
    values = engine.state_values(0)
    print(f"hftbacktest: {values.num_trades} fills, position {values.position}, cash {values.balance:.2f}")
    engine.close()


def get(path):
    server = os.environ.get("SERVER", "http://127.0.0.1:3000")
    try:
        with urlopen(Request(server + path, headers={"Authorization": f"Bearer {os.environ['KEY']}"})) as answer:
            return answer.read()
    except HTTPError as error:
        sys.exit(error.read().decode())


def main(name, outcome="up", coin="btc"):
    market = json.loads(get(f"/v1/{coin}/markets/{name}"))
    file = get(f"/v1/{coin}/markets/{name}/export?format=npz&outcome={outcome}")
    fills = run(numpy.load(io.BytesIO(file))["data"])
    position = sum(shares for _, _, shares in fills)
    cash = -sum(price * shares for _, price, shares in fills)
    print(f"{len(fills)} fills, position {position:.2f}, cash {cash:.2f}")
    fees = market["feeSchedule"]
    if fees is None or not fees["takerOnly"]:
        print("fees of makers: not known of this market, and not charged")
    if market["winner"] is not None:
        print(f"result: {cash + position * (market['winner'] == outcome):.2f} USDC ({market['winner']} won)")
    try:
        import hftbacktest  # noqa: F401
    except ImportError:
        return
    with tempfile.NamedTemporaryFile(suffix=".npz") as copy:
        copy.write(file)
        copy.flush()
        by_hftbacktest(copy.name)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
