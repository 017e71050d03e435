"""What was pulled and what was traded between two columns of heat maps, computed again.

    python3 removed_sizes.py ORIGIN KEY MARKET QUERY...

Reads the states, trades and coverage of a market from a server, computes `pulled` and `traded` of
each QUERY of its heat map from them, and compares. Prints how many columns and cells it compared,
or the first difference. It shares no code with the server, and needs the standard library alone.
"""

import json
import sys
import urllib.request
from datetime import datetime
from decimal import Decimal
from urllib.parse import parse_qs

ORIGIN, KEY, MARKET, *QUERIES = sys.argv[1:]


def read(path):
    request = urllib.request.Request(
        f"{ORIGIN}/v1/btc/markets/{MARKET}/{path}", headers={"Authorization": f"Bearer {KEY}"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response, parse_float=Decimal, parse_int=Decimal)


def walk(name):
    rows, cursor = [], ""
    while True:
        page = read(f"{name}?limit=500{cursor}")
        rows += page["data"]
        if page["nextCursor"] is None:
            return rows
        cursor = f"&cursor={page['nextCursor']}"


def ms(text):
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


STATES = walk("snapshots")
TRADES = walk("trades")


def intervals(outcome, start, end):
    for each in read(f"coverage?from={start}&to={end}")["outcomes"]:
        if each["outcome"] == outcome:
            return [(ms(span["from"]), ms(span["to"])) for span in each["intervals"]]


def bins(levels, step):
    sizes = {}
    for level in levels:
        at = int(level["price"] // step)
        sizes[at] = sizes.get(at, 0) + level["size"]
    return sizes


def book_before(outcome, end, side, step):
    """The sizes of the last state before a moment."""
    last = None
    for state in STATES:
        if state["outcome"] == outcome and ms(state["timestamp"]) < end:
            last = state
    return bins(last[side], step)


def expected(heat, start, end, known):
    """Pulled and traded of the column from `start` to `end`, or None where it cannot be said."""
    outcome, step = heat["outcome"], heat["priceStep"]
    if start == ms(heat["from"]) or not TRADES:
        return None
    if not any(known_from < start and end <= known_to for known_from, known_to in known):
        return None
    if start < ms(TRADES[0]["timestamp"]) or end - 1 > ms(TRADES[-1]["timestamp"]):
        return None
    took = {"bids": {}, "asks": {}}
    for trade in TRADES:
        if not start <= ms(trade["timestamp"]) < end:
            continue
        if None in (trade["outcome"], trade["size"], trade["side"]):
            return None
        price, is_sale = trade["price"], trade["side"] == "sell"
        if trade["outcome"] != outcome:
            price, is_sale = 1 - price, not is_sale
        side = took["bids" if is_sale else "asks"]
        at = int(price // step)
        side[at] = side.get(at, 0) + trade["size"]
    pulled, traded = {}, {}
    for side in ("bids", "asks"):
        before = book_before(outcome, start, side, step)
        after = book_before(outcome, end, side, step)
        for at, size in before.items():
            fall = size - after.get(at, 0)
            if fall <= 0:
                continue
            part = min(fall, took[side].get(at, 0))
            if part > 0:
                traded[side, at] = part
            if fall > part:
                pulled[side, at] = fall - part
    return pulled, traded


def served(both):
    return {
        (side, int(row["from"]) + at): size
        for side, row in both.items()
        for at, size in enumerate(row["sizes"])
        if size > 0
    }


counts = {"columns": 0, "known": 0, "pulled": 0, "traded": 0}
for query in QUERIES:
    heat = read(f"heatmap?{query}&include=removed")
    start, end, step = ms(heat["from"]), ms(heat["to"]), int(heat["stepMs"])
    known = intervals(heat["outcome"], start, end)
    for index, column in enumerate(heat["columns"]):
        begin = start + index * step
        want = expected(heat, begin, min(end, begin + step), known)
        got = None
        if column is not None and column["pulled"] is not None:
            got = served(column["pulled"]), served(column["traded"])
        if want != got:
            sys.exit(f"{query}, column {index}: expected {want}, got {got}")
        counts["columns"] += 1
        if got is not None:
            counts["known"] += 1
            counts["pulled"] += len(got[0])
            counts["traded"] += len(got[1])
print(json.dumps(counts))
