"""Recounts how windows were settled, from recorded prices alone and without any code of the project.

`list TABLE` prints the start of each window of a table of outcomes, in seconds, and the coin's price
then, where it is known.
`compare TABLE` reads the settlements that a server says of them, one a line, from standard input,
and prints as JSON what it counted and what differs.
"""
import csv
import gzip
import json
import sys
from datetime import datetime
from decimal import Decimal

LENGTH_S = 300
LATE_S = 5


def read(table):
    """The rows of a table by the start of their windows, and the price at each start."""
    with gzip.open(table, "rt") as file:
        rows = {int(row["timestamp"]): row for row in csv.DictReader(file)}
    return rows, {start: row["btc_open"] for start, row in rows.items() if row["btc_open"]}


def print_prices(table):
    rows, prices = read(table)
    for start in rows:
        print(start, prices.get(start, ""))


def first_from(prices, second):
    """The first price in the five seconds from a second on."""
    return next((prices[at] for at in range(second, second + LATE_S) if at in prices), None)


def compare(table):
    rows, prices = read(table)
    counts = {"agrees": 0, "disagrees": 0, "unknown": 0, "ties": 0}
    differences = []
    seen = set()
    for line in sys.stdin:
        said = json.loads(line, parse_float=Decimal, parse_int=Decimal)
        moment = datetime.fromisoformat(said["windowStart"].replace("Z", "+00:00"))
        start = round(moment.timestamp())
        seen.add(start)
        strike, final = (first_from(prices, at) for at in (start, start + LENGTH_S))
        if strike is None or final is None:
            expected = ("unknown", None, None, None)
        else:
            strike, final = Decimal(strike), Decimal(final)
            winner = "up" if final >= strike else "down"
            word = "agrees" if rows[start]["outcome"] == winner else "disagrees"
            expected = (word, strike, final, winner)
            counts["ties"] += strike == final
        proof = said["proof"] or {}
        found = (said["agreement"], *(proof.get(name) for name in ("strike", "finalPrice", "winner")))
        counts[expected[0]] += 1
        if found != expected:
            differences.append([start, str(found), str(expected)])
    missing = len(rows.keys() - seen)
    print(json.dumps({"counts": counts, "missing": missing, "differences": differences[:10]}))


if __name__ == "__main__":
    {"list": print_prices, "compare": compare}[sys.argv[1]](*sys.argv[2:])
