/**
 * Writes the top of a market's book as CSV, one row per second.
 * Usage: KEY=bf_live_… bun quotes-csv.ts market [coin] > quotes.csv
 */
type Quote = Record<string, string | number | null>

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [market, coin = 'btc'] = process.argv.slice(2)
const columns = ['time', 'outcome', 'bid', 'bidSize', 'ask', 'askSize', 'mid', 'spread']
const path = `${server}/v1/${coin}/markets/${market}/quotes?interval=1s&limit=1000`

console.log(columns.join(','))
for (let url: string | undefined = path; url !== undefined;) {
  const response: Response = await fetch(url, {
    headers: { authorization: `Bearer ${process.env.KEY}` },
  })
  if (!response.ok) {
    console.error(await response.text())
    process.exit(1)
  }
  const { data, nextCursor } = (await response.json()) as {
    data: Quote[]
    nextCursor: string | null
  }
  // Fields that an empty side leaves undefined are null, which becomes an empty field.
  for (const quote of data) console.log(columns.map((name) => quote[name] ?? '').join(','))
  url = nextCursor === null ? undefined : `${path}&cursor=${nextCursor}`
}
