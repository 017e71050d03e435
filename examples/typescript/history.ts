/**
 * Pages through a market's history in replay order, and counts changes of the top of the book.
 * Usage: KEY=bf_live_… bun history.ts market [coin]
 */
type Level = { price: number; size: number }
type Snapshot = { id: string; outcome: string; timestamp: string; bids: Level[]; asks: Level[] }

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [market, coin = 'btc'] = process.argv.slice(2)
if (market === undefined) {
  console.error('Which market? See markets.ts.')
  process.exit(1)
}

/** Waits as long as the server asks when the rate limit is reached. */
async function get(path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${process.env.KEY}` }
  const response = await fetch(server + path, { headers })
  if (response.ok) return response
  if (response.status !== 429) {
    console.error(await response.text())
    process.exit(1)
  }
  const seconds = Number(response.headers.get('retry-after'))
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  return get(path)
}

/** Yields every snapshot once. Only `limit` may change from page to page. */
async function* replay(path: string): AsyncGenerator<Snapshot> {
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: Response = await get(cursor === '' ? path : `${path}&cursor=${cursor}`)
    const body = (await page.json()) as { data: Snapshot[]; nextCursor: string | null }
    yield* body.data
    cursor = body.nextCursor
  }
}

const tops = new Map<string, string>()
let snapshots = 0
let changes = 0
for await (const { outcome, bids, asks } of replay(
  `/v1/${coin}/markets/${market}/snapshots?limit=1000&depth=1`,
)) {
  const top = JSON.stringify([bids, asks])
  if (tops.get(outcome) !== top) changes++
  tops.set(outcome, top)
  snapshots++
}
console.log(`${snapshots} snapshots, ${changes} changes of the top of the book`)
