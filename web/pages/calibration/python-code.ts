/** A program that computes the numbers of the page with the client for Python. */

import { limitOf, type Rule, toDecimal } from '../../lib/backtest.ts'
import type { Outcome } from '../../lib/bodies.ts'
import { outcomeNames } from '../../lib/format.ts'
import type { PanelCall } from './view.ts'

type Counted = {
  call: PanelCall
  outcome: Outcome
  widthCents: number
  rule: Rule
  origin: string
  /** A public key; undefined for the key in the environment. */
  token: string | undefined
}

export function toPython({ call, outcome, widthCents, rule, origin, token }: Counted): string {
  const { coin, timeframe, from, to, source, offsets } = call
  const key = token === undefined ? 'os.environ["KEY"]' : `"${token}"`
  const limit = limitOf(rule)
  const { measure, comparison } = rule
  const held = [...new Set(['ask', measure])].map(
    (each) => `row["${rule.outcome}"]["${each}"] is not None`,
  )
  const when = `its ${measure} is at ${comparison} ${toDecimal(rule.price)}`
  return `${token === undefined ? 'import os\n' : ''}from decimal import Decimal
from math import sqrt
from statistics import mean, stdev

from bookfeed import Client

client = Client(${key}, "${origin}", exact=True)
rows = list(client.panel(
    "${coin}", timeframe="${timeframe}", from_="${from}", to="${to}",${source === undefined ? '' : ` source="${source}",`}
    offsets=[${offsets.map((offset) => `"${offset}"`).join(', ')}],
))


def interval(wins, count, z=1.959964):
    """Wilson's 95 % interval of a share."""
    share, spread = wins / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return f"{max(middle - half, 0):.4f} to {min(middle + half, 1):.4f}"


# How often ${outcomeNames[outcome]} won, by the time before the end and by its mid.
cells = {}
for row in rows:
    state = row["${outcome}"]
    if not row["covered"]["${outcome}"] or not state or state["mid"] is None or not row["winner"]:
        continue
    cents = int(state["mid"] * 100 // ${widthCents}) * ${widthCents}
    cells.setdefault((row["offsetMs"], row["offset"], cents), []).append(row["winner"] == "${outcome}")
for (_, offset, cents), results in sorted(cells.items()):
    wins, count = sum(results), len(results)
    print(offset, f"{cents}-{cents + ${widthCents}}", wins, "of", count, interval(wins, count))

# Buy ${toDecimal(rule.size)} shares of ${outcomeNames[rule.outcome]} ${rule.beforeMs / 1000} s before the end if ${when}, and hold.
size, price, rate = Decimal("${toDecimal(rule.size)}"), Decimal("${toDecimal(rule.price)}"), Decimal("${toDecimal(rule.feeRate)}")
entries = [
    row for row in rows
    if row["offsetMs"] == ${-rule.beforeMs || 0} and row["covered"]["${rule.outcome}"] and row["${rule.outcome}"]
    and ${held.join(' and ')}
    and row["${rule.outcome}"]["${measure}"] ${comparison === 'most' ? '<=' : '>='} price
]
moments = [(row["conditionId"], "${rule.outcome}", row["ts"]) for row in entries]
books = client.as_of_many("${coin}", moments, fields="asks")
equity, peak, drawdown, returns, won = Decimal(0), Decimal(0), Decimal(0), [], 0
for row, book in zip(entries, books):
    shares = paid = Decimal(0)
    for level in book["snapshot"]["asks"]:
        taken = min(level["size"], size - shares)
        if taken == 0${limit === undefined ? '' : ' or level["price"] > price'}:
            break
        shares += taken
        paid += taken * level["price"] * (1 + rate * (1 - level["price"]))
    if shares == 0 or not row["winner"]:
        continue
    is_won = row["winner"] == "${rule.outcome}"
    profit = (shares if is_won else 0) - paid
    equity += profit
    peak = max(peak, equity)
    drawdown = max(drawdown, peak - equity)
    returns.append(profit / paid)
    won += is_won
if not returns:
    print("no trades")
else:
    print(len(returns), "trades,", won, "won,", interval(won, len(returns)))
    print(f"profit {equity:.4f} USDC, max drawdown {drawdown:.4f} USDC, mean return {mean(returns):.6f}")
if len(returns) > 1:
    half = 1.959964 * float(stdev(returns)) / sqrt(len(returns))
    print(f"mean return, 95 % interval: {max(float(mean(returns)) - half, -1):.6f} to {float(mean(returns)) + half:.6f}")
`
}
