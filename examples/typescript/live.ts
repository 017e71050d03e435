/**
 * Prints the top of the book of every open market as it changes; for a named market, replays its
 * recording with the same messages.
 * Usage: KEY=bf_live_… bun live.ts [coin] [market]
 */
type Quote = { timestamp: string; outcome: string; bid: number | null; ask: number | null }
type Message =
  | { type: 'row' | 'snapshot'; conditionId: string; data: Quote; skipped?: number }
  | { type: 'error'; code: string; detail: string }
  | { type: 'replay_end' | 'heartbeat' | 'subscribed' | 'authenticated' }

const server = process.env.SERVER ?? 'http://127.0.0.1:3000'
const [coin = 'btc', market] = process.argv.slice(2)
const SILENT_MS = 30_000

const what = { id: 'mine', channel: 'quotes', coin }
const first =
  market === undefined
    ? { op: 'subscribe', ...what }
    : { op: 'replay', ...what, conditionId: market, speed: 0 }

/** Handles live rows and those of a replay. */
function handle({ conditionId, data, skipped }: Message & { type: 'row' | 'snapshot' }): void {
  const { timestamp, outcome, bid, ask } = data
  if (skipped) console.log(`${skipped} states were left out`)
  console.log(`${timestamp} ${conditionId} ${outcome} ${bid ?? '-'} ${ask ?? '-'}`)
}

let failures = 0
function connect(): void {
  const socket = new WebSocket(`${server.replace(/^http/, 'ws')}/v1/stream`)
  let isOver = false
  // A connection can die silently: request heartbeats, and reconnect when they stop.
  let silence = setTimeout(() => socket.close(), SILENT_MS)
  socket.onopen = () => {
    // The key is never in the URL.
    for (const operation of [
      { op: 'auth', key: process.env.KEY },
      { op: 'heartbeat', seconds: 10 },
      first,
    ])
      socket.send(JSON.stringify(operation))
  }
  socket.onmessage = ({ data }) => {
    clearTimeout(silence)
    silence = setTimeout(() => socket.close(), SILENT_MS)
    failures = 0
    const message = JSON.parse(String(data)) as Message
    if (message.type === 'row' || message.type === 'snapshot') handle(message)
    if (message.type === 'error') console.error(`${message.code}: ${message.detail}`)
    if (message.type === 'replay_end') {
      isOver = true
      socket.close()
    }
  }
  socket.onclose = ({ code, reason }) => {
    clearTimeout(silence)
    if (isOver) return
    console.error(`closed: ${code} ${reason}`)
    // 4001: wrong key. 4029: too many connections. Retrying fixes neither.
    if (code === 4001 || code === 4029) process.exit(1)
    setTimeout(connect, Math.random() * Math.min(30_000, 1000 * 2 ** failures++))
  }
}
connect()
