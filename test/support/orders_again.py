"""Fills and bounds of resting orders, computed again from raw rows.

    python3 orders_again.py BOOKS TRADES ANSWERS

BOOKS are recorded lines (gzip), TRADES and ANSWERS lines of JSON: what the server was given, and what
it was asked and answered. Prints how much it compared, or the first difference. It shares no code
with the server, and needs the standard library alone.
"""

import gzip
import json
import sys
from bisect import bisect_right
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

BOOKS, TRADES, ANSWERS = sys.argv[1:]


def exact(text):
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def ms(text):
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


BOOK_OF = defaultdict(list)
with gzip.open(BOOKS, "rt") as lines:
    for line in lines:
        row = json.loads(line)
        BOOK_OF[row["conditionId"]].append((ms(row["timestamp"]), row))
TRADES_OF = defaultdict(list)
with open(TRADES) as lines:
    for line in lines:
        trade = exact(line)
        TRADES_OF[trade["conditionId"]].append(trade)


def levels_at(market, outcome, at):
    """Bids and asks of an outcome at or before a moment; one outcome of a market is recorded."""
    times = [time for time, _ in BOOK_OF[market]]
    found = bisect_right(times, at)
    if found == 0:
        return None
    row = BOOK_OF[market][found - 1][1]
    sides = {}
    for side in ("bids", "asks"):
        sides[side] = {Fraction(level["price"]): Fraction(level["size"]) for level in row[side]}
    if row["outcome"] == outcome:
        return sides["bids"], sides["asks"]
    mirrored = {
        side: {1 - price: size for price, size in levels.items()} for side, levels in sides.items()
    }
    return mirrored["asks"], mirrored["bids"]


def rounded(value, digits):
    scaled = abs(value) * 10**digits
    whole = scaled.numerator // scaled.denominator
    if scaled - whole >= Fraction(1, 2):
        whole += 1
    return Fraction(whole if value >= 0 else -whole, 10**digits)


def check_fill(asked, answer):
    at = int(asked["ts"]) + int(asked["latencyMs"]) + int(asked["delay"])
    bids, asks = levels_at(asked["market"], asked["outcome"], at)
    buys = asked["side"] == "buy"
    left = Fraction(asked["size"])
    filled = notional = fee = Fraction(0)
    for price, offered in sorted((asks if buys else bids).items(), reverse=not buys):
        taken = min(left, offered)
        if taken == 0:
            break
        left -= taken
        filled += taken
        notional += taken * price
        fee += taken * Fraction(asked["feeRate"]) * price * (1 - price)
    total = notional + fee if buys else notional - fee
    mine = {
        "filled": filled,
        "unfilled": left,
        "notional": rounded(notional, 6),
        "fee": rounded(fee, 6),
        "total": rounded(total, 6),
    }
    for name, value in mine.items():
        assert Fraction(answer[name]) == value, (asked, name, answer[name], value)
    assert ms(answer["matchedAt"]) == at, (asked, answer["matchedAt"])
    return filled > 0


def bound(size):
    return {"size": size, "filled": Fraction(0), "firstAt": None, "completeAt": None}


def fill(state, shares, at):
    taken = min(shares, state["size"] - state["filled"])
    if taken <= 0:
        return
    if state["firstAt"] is None:
        state["firstAt"] = at
    state["filled"] += taken
    if state["filled"] == state["size"]:
        state["completeAt"] = at


def check_resting(asked, answer):
    price, size = Fraction(asked["price"]), Fraction(asked["size"])
    buys = asked["side"] == "buy"
    placed, until = int(asked["from"]) + int(asked["latencyMs"]), int(asked["until"])
    queue = None
    if answer["queueAhead"] is not None:
        bids, asks = levels_at(asked["market"], asked["outcome"], placed)
        queue = (bids if buys else asks).get(price, Fraction(0))
        assert Fraction(answer["queueAhead"]) == queue, (asked, answer["queueAhead"], queue)
    assert ("queue_unknown" in answer["doubts"]) == (queue is None), asked
    low, high = bound(size), bound(size)
    for trade in TRADES_OF[asked["market"]]:
        at = int(trade["timestampMs"])
        if not placed <= at < until:
            continue
        own = Fraction(trade["price"]) / 1_000_000
        seller = trade["side"] == "sell"
        if trade["outcome"] != asked["outcome"]:
            own, seller = 1 - own, not seller
        if seller != buys or (own > price if buys else own < price):
            continue
        shares = Fraction(trade["size"]) / 1_000_000
        fill(high, shares, at)
        if at == placed:
            continue
        if own != price:
            queue = Fraction(0)
        elif queue is None:
            continue
        passed = min(queue, shares) if own == price else 0
        queue -= passed
        fill(low, shares - passed, at)
    for name, mine in (("lower", low), ("upper", high)):
        theirs = answer[name]
        assert Fraction(theirs["filled"]) == mine["filled"], (asked, name, theirs, mine)
        for moment in ("firstAt", "completeAt"):
            known = None if theirs[moment] is None else ms(theirs[moment])
            assert known == mine[moment], (asked, name, moment, theirs, mine)
    return low["filled"] > 0, 0 < low["filled"] < high["filled"]


COUNTS = defaultdict(int)
with open(ANSWERS) as lines:
    for line in lines:
        pair = exact(line)
        asked, answer = pair["asked"], pair["answer"]
        if "until" in asked:
            filled, apart = check_resting(asked, answer)
            COUNTS["resting"] += 1
            COUNTS["restingFilled"] += filled
            COUNTS["apart"] += apart
        else:
            COUNTS["fills"] += 1
            COUNTS["filled"] += check_fill(asked, answer)
print(json.dumps(COUNTS))
