"""Recounts what the page /calibration shows, from whole books and the list of markets alone.

Reads {"markets": …, "snapshots": …, "rules": …, "momentsMs": …, "binCents": …} from standard input,
in decimals and without any code of the project; prints the same numbers as JSON.
"""
import json
import sys
from bisect import bisect_right
from datetime import datetime
from decimal import Decimal

SILENCE_MS = 5_000  # A sixtieth of five minutes.
LENGTH_MS = 300_000


def to_ms(text):
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.timestamp() * 1000)


def is_covered(times, at, end):
    """Whether a moment lies in no gap: gaps are between states more than a sixtieth apart."""
    at = min(at, end - 1)
    index = bisect_right(times, at) - 1
    if index < 0:
        return False
    if times[index] == at:
        return True
    after = times[index + 1] if index + 1 < len(times) else end
    return after - times[index] <= SILENCE_MS


def main():
    given = json.load(sys.stdin, parse_float=Decimal, parse_int=Decimal)
    books = {}
    for book in given["snapshots"]:
        books.setdefault((book["conditionId"], book["outcome"]), []).append(book)
    states = {}
    for name, rows in books.items():
        rows.sort(key=lambda row: (to_ms(row["timestamp"]), row["id"]))
        states[name] = ([to_ms(row["timestamp"]) for row in rows], rows)
    markets = sorted(given["markets"], key=lambda market: to_ms(market["windowEnd"]))

    def at(market, outcome, moment):
        """The prevailing book, or None in a gap, and whether it is a gap."""
        times, rows = states.get((market["conditionId"], outcome), ([], []))
        if not is_covered(times, moment, to_ms(market["windowEnd"])):
            return None, True
        return rows[bisect_right(times, moment) - 1], False

    def mid(book):
        if not book["bids"] or not book["asks"]:
            return None
        return (book["bids"][0]["price"] + book["asks"][0]["price"]) / 2

    cells = {}
    for market in markets:
        for before in given["momentsMs"]:
            book, _ = at(market, "up", to_ms(market["windowEnd"]) - int(before))
            price = book and mid(book)
            if price is None or market["winner"] is None:
                continue
            cell = cells.setdefault(f"{int(before)} {int(price * 100 // given['binCents'])}", [0, 0])
            cell[0] += 1
            cell[1] += market["winner"] == "up"

    runs = []
    for rule in given["rules"]:
        runs.append(run(markets, at, mid, rule))
    json.dump({"cells": cells, "runs": runs}, sys.stdout)


def run(markets, at, mid, rule):
    size, price, rate = (Decimal(rule[name]) for name in ("size", "price", "feeRate"))
    counts = {"gap": 0, "noPrice": 0, "notMet": 0, "noWinner": 0, "notFilled": 0}
    profits, returns, wins, fees = [], [], 0, Decimal(0)
    for market in markets:
        book, is_gap = at(market, rule["outcome"], to_ms(market["windowEnd"]) - int(rule["beforeMs"]))
        if is_gap:
            counts["gap"] += 1
            continue
        ask = book["asks"][0]["price"] if book["asks"] else None
        value = ask if rule["measure"] == "ask" else mid(book)
        if ask is None or value is None:
            counts["noPrice"] += 1
            continue
        if (value > price) if rule["comparison"] == "most" else (value < price):
            counts["notMet"] += 1
            continue
        is_limited = rule["measure"] == "ask" and rule["comparison"] == "most"
        levels = [level for level in book["asks"] if not is_limited or level["price"] <= price]
        left, cost, fee = size, Decimal(0), Decimal(0)
        for level in levels:
            taken = min(left, level["size"])
            left -= taken
            cost += taken * level["price"]
            fee += taken * rate * level["price"] * (1 - level["price"])
        if left == size:
            counts["notFilled"] += 1
            continue
        if market["winner"] is None:
            counts["noWinner"] += 1
            continue
        is_won = market["winner"] == rule["outcome"]
        profit = (size - left if is_won else 0) - cost - fee
        wins += is_won
        fees += fee
        profits.append(profit)
        returns.append(profit / (cost + fee))
    drawdown = max(
        (sum(profits[start:end]) * -1 for start in range(len(profits)) for end in range(start + 1, len(profits) + 1)),
        default=Decimal(0),
    )
    return {
        **counts,
        "trades": len(profits),
        "wins": wins,
        "profit": float(sum(profits)),
        "fees": float(fees),
        "drawdown": float(max(drawdown, Decimal(0))),
        "meanReturn": float(sum(returns) / len(returns)) if returns else None,
    }


main()
