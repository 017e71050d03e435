"""Prints the book as of a moment: the state at or before it, never after.

Usage: KEY=bf_live_… python3 book_at.py market time [coin]
"""
import json
import os
import sys
from decimal import Decimal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

server = os.environ.get("SERVER", "http://127.0.0.1:3000")
if len(sys.argv) < 3:
    sys.exit(__doc__)
market, ts = sys.argv[1:3]
coin = sys.argv[3] if len(sys.argv) > 3 else "btc"

url = f"{server}/v1/{coin}/markets/{market}/snapshots/at?ts={ts}&depth=3&maxAgeMs=5000"
try:
    with urlopen(Request(url, headers={"Authorization": f"Bearer {os.environ['KEY']}"})) as response:
        states = json.load(response, parse_float=Decimal)["data"]
except HTTPError as error:
    sys.exit(error.read().decode())
for state in states:
    print(f"{state['outcome']}, of {state['timestamp']}, {state['ageMs']} ms old")
    # Lists begin with the best level: reversed, the asks read downwards to the spread.
    for level in reversed(state["asks"]):
        print(f"{level['price']:>8} {level['size']}")
    print("     ---")
    for level in state["bids"]:
        print(f"{level['price']:>8} {level['size']}")
