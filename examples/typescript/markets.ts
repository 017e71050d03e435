/** Lists the newest finished markets of a coin. Usage: KEY=bf_live_… bun markets.ts [coin] */
type Market = {
  conditionId: string
  timeframe: string
  windowStart: string
  winner: string
  snapshots: number
}

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [coin = 'btc'] = process.argv.slice(2)

const response = await fetch(
  `${server}/v1/${coin}/markets?status=resolved&withBooks=true&limit=10`,
  {
    headers: { authorization: `Bearer ${process.env.KEY}` },
  },
)
if (!response.ok) {
  console.error(await response.text())
  process.exit(1)
}
const { data } = (await response.json()) as { data: Market[] }
for (const { conditionId, timeframe, windowStart, winner, snapshots } of data) {
  console.log(conditionId, timeframe, windowStart, winner, snapshots)
}
