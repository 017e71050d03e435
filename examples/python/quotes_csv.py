"""Writes the top of a market's book as CSV, as of each second.

Usage: KEY=bf_live_… python3 quotes_csv.py market [coin] > quotes.csv
"""
import csv
import json
import os
import sys
from decimal import Decimal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
if len(sys.argv) < 2:
    sys.exit(__doc__)
market = sys.argv[1]
coin = sys.argv[2] if len(sys.argv) > 2 else "btc"
headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
columns = ["time", "outcome", "bid", "bidSize", "ask", "askSize", "mid", "spread"]
path = f"{server}/v1/{coin}/markets/{market}/quotes?interval=1s&limit=1000"

# Fields that an empty side leaves undefined are null, which becomes an empty field.
table = csv.DictWriter(sys.stdout, columns, extrasaction="ignore", lineterminator="\n")
table.writeheader()
cursor = ""
while cursor is not None:
    url = path + (f"&cursor={cursor}" if cursor else "")
    try:
        with urlopen(Request(url, headers=headers)) as response:
            page = json.load(response, parse_float=Decimal)
    except HTTPError as error:
        sys.exit(error.read().decode())
    table.writerows(page["data"])
    cursor = page["nextCursor"]
