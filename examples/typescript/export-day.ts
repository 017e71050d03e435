/**
 * Downloads a day of a coin in one stream, and compares it with the SHA-256 of the bytes sent.
 * Usage: KEY=bf_live_… bun export-day.ts 2026-04-13 file [coin] [ndjson|csv|parquet]
 */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

type Sent = { exportId: string; sha256: string; snapshots: number; bytes: number }

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [day, path, coin = 'btc', format = 'ndjson'] = process.argv.slice(2)
if (path === undefined) {
  console.error('Which day, and which file?')
  process.exit(1)
}
// fetch would decompress gzip, but the digest covers the bytes as sent.
const headers = { authorization: `Bearer ${process.env.KEY}`, 'accept-encoding': 'identity' }

const response = await fetch(`${server}/v1/${coin}/export?day=${day}&format=${format}`, { headers })
if (!response.ok || response.body === null) {
  console.error(await response.text())
  process.exit(1)
}
const digest = createHash('sha256')
const file = await open(path, 'w')
for await (const piece of response.body) {
  digest.update(piece)
  await file.write(piece)
}
await file.close()

const list = await fetch(`${server}/v1/exports`, { headers })
const { data } = (await list.json()) as { data: Sent[] }
const sent = data.find(({ exportId }) => exportId === response.headers.get('x-export-id'))
if (sent?.sha256 !== digest.digest('hex')) {
  console.error(`${path} differs from what was sent.`)
  process.exit(1)
}
console.log(`${sent.snapshots} snapshots, ${sent.bytes} bytes, complete: ${path}`)
