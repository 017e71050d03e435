/**
 * Prints the book as of a time: the state at or before it, never after.
 * Usage: KEY=bf_live_… bun book-at.ts market time [coin]
 */
type Level = { price: number; size: number }
type State = { outcome: string; timestamp: string; ageMs: number; bids: Level[]; asks: Level[] }

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [market, ts, coin = 'btc'] = process.argv.slice(2)
const query = `ts=${ts}&depth=3&maxAgeMs=5000`

const response = await fetch(`${server}/v1/${coin}/markets/${market}/snapshots/at?${query}`, {
  headers: { authorization: `Bearer ${process.env.KEY}` },
})
if (!response.ok) {
  console.error(await response.text())
  process.exit(1)
}
const { data } = (await response.json()) as { data: State[] }
const print = ({ price, size }: Level) => console.log(String(price).padStart(8), size)
for (const { outcome, timestamp, ageMs, bids, asks } of data) {
  console.log(`${outcome}, of ${timestamp}, ${ageMs} ms old`)
  // Lists begin with the best level: reversed, the asks read downwards to the spread.
  asks.toReversed().forEach(print)
  console.log('     ---')
  bids.forEach(print)
}
