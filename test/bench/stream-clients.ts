/**
 * Subscribers of the live stream for `stream.ts`: begins to count at the first line of its input,
 * and prints what it counted at the second.
 */
type Job = {
  origin: string
  keys: string[]
  markets: string[]
  subscribers: number
  connections: number
  channel: string
}

const job = JSON.parse(process.argv[2] ?? '') as Job
const url = `${job.origin.replace('http', 'ws')}/v1/stream`
/** Of each so many one is parsed for its time: the bench must not measure itself. */
const SAMPLE = 7
let rows = 0
let bytes = 0
let skipped = 0
let late: number[] = []

function onMessage({ data }: MessageEvent): void {
  const text = String(data)
  if (!text.startsWith('{"type":"row"')) return
  rows++
  bytes += text.length
  if (text.includes('"skipped":')) skipped += Number(JSON.parse(text).skipped)
  if (rows % SAMPLE !== 0) return
  const at = text.indexOf('"timestamp":"') + '"timestamp":"'.length
  late.push(Date.now() - Date.parse(text.slice(at, text.indexOf('"', at))))
}

async function open(index: number): Promise<void> {
  const authorization = `Bearer ${job.keys[Math.floor(index / job.connections)]}`
  const socket = new WebSocket(url, { headers: { authorization } })
  const opened = Promise.withResolvers<void>()
  socket.onmessage = ({ data }) => {
    if (!String(data).includes('"subscribed"')) return
    socket.onmessage = onMessage
    opened.resolve()
  }
  socket.onclose = ({ code }) => opened.reject(new Error(`closed with ${code}`))
  await new Promise((resolve) => {
    socket.onopen = resolve
  })
  const conditionId = job.markets[index % job.markets.length]
  const subscribe = { op: 'subscribe', id: 'a', channel: job.channel, coin: 'btc', conditionId }
  socket.send(JSON.stringify(subscribe))
  await opened.promise
}

for (let index = 0; index < job.subscribers; index++) await open(index)
console.log(JSON.stringify({ ready: true }))

const input = console[Symbol.asyncIterator]()
await input.next()
;[rows, bytes, skipped, late] = [0, 0, 0, []]
await input.next()
const sorted = late.toSorted((a, b) => a - b)
const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
const quantiles = { p50: at(0.5), p99: at(0.99), max: at(1) }
console.log(JSON.stringify({ rows, bytes, skipped, late: quantiles }))
