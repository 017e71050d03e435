"""Compares prices with results: of the windows whose Up cost 30 to 40 cents, how many did Up win?

Reads the panel: one row per market and offset before its end, with the state that was known then.
Usage: KEY=bf_live_… python3 calibration.py [offset] [timeframe] [coin]    (-60s, 5m, btc)
"""
import json
import os
import sys
from collections import Counter
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
offset, timeframe, coin = [*sys.argv[1:], *["-60s", "5m", "btc"][len(sys.argv) - 1:]]
headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
path = f"{server}/v1/{coin}/panel?timeframe={timeframe}&offsets={offset}&maxAgeMs=5000&limit=500"

windows, won, paid = Counter(), Counter(), Counter()
cursor = ""
while cursor is not None:
    try:
        with urlopen(Request(path + (f"&cursor={cursor}" if cursor else ""), headers=headers)) as answer:
            page = json.load(answer)
    except HTTPError as error:
        sys.exit(error.read().decode())
    for row in page["data"]:
        up = row["up"]
        # Without both prices, or without a winner, a window says nothing.
        if up and up["bid"] is not None and up["ask"] is not None and row["winner"] is not None:
            mid = (up["bid"] + up["ask"]) / 2
            bin = min(9, int(mid * 10))
            windows[bin] += 1
            won[bin] += row["winner"] == "up"
            paid[bin] += mid
    cursor = page["nextCursor"]

print("price of Up   windows   mean price   Up won")
for bin in sorted(windows):
    count = windows[bin]
    print(f"{bin / 10:.1f} to {bin / 10 + 0.1:.1f}{count:12}{paid[bin] / count:13.3f}{won[bin] / count:9.3f}")
