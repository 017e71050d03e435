/** The sockets of the coins' prices: the one with credentials, and its predecessor. */
import { twapOf } from './generated.ts'
import type { Stage } from './stage.ts'
import type { Peer, PeerHandlers } from './web-socket.ts'

const UPDATE_MS = 1000
/** The period covered by the first message. */
const SNAPSHOT_MS = 120_000
const SUBSCRIPTIONS_MAX = 64
/** Close codes of the venue: not authorized, and too many subscriptions. */
const UNAUTHORISED = 4001
const TOO_MANY = 4008

type LiveOperation = {
  op?: string
  rid?: string
  auth?: { apiKey?: string; secret?: string; passphrase?: string }
  subscriptions?: { channel: string; filter: { symbol: string; window_seconds?: number } }[]
}

/** Faults of a price socket. */
export type SpotFaults = {
  /** Omits every n-th update, which the next one reports in `dropped`. */
  dropEvery?: number
  /** Error codes of refused operations, by their names. */
  refuses?: { readonly [op: string]: string }
}

/** Payloads of averages do not state their source. */
const sourceOf = (channel: string) => (channel === 'price.crypto' ? { source: 'pyth' } : {})

/** `btcusd`, `btc/usd` and `btcusdt` mean `btc`. */
const coinOf = (symbol: string): string => symbol.replace(/\/?usdt?$/, '')

/** Channels and topics with `twap` in their names carry the average of a minute. */
function priceOf(stage: Stage, name: string, symbol: string): (atMs: number) => string {
  const price = name.includes('twap') ? twapOf(stage.spot) : stage.spot
  return (atMs) => price(coinOf(symbol), atMs)
}

/** Calls back once a second of the venue's clock while the connection is open. */
function everySecond(stage: Stage, tick: (atMs: number) => boolean): void {
  const atMs = Math.floor(stage.nowMs() / UPDATE_MS) * UPDATE_MS + UPDATE_MS
  stage.later(atMs - stage.nowMs(), () => {
    if (tick(atMs)) everySecond(stage, tick)
  })
}

const operations = new Set(['auth', 'subscribe', 'ping'])

function readOperation(text: string): LiveOperation {
  try {
    return JSON.parse(text) as LiveOperation
  } catch {
    return {}
  }
}

/** The protocol of `wss://ws-live-v2.polymarket.com/ws`. */
export function openLive(stage: Stage, peer: Peer, faults: SpotFaults): PeerHandlers {
  let isOpen = true
  let isAuthorised = false
  let count = 0

  function stream(channel: string, symbol: string): void {
    let seq = 0
    let dropped = 0
    let updates = 0
    const send = (payload: object, rest: object): void => {
      const head = { v: 1, channel, seq: ++seq, ts: Math.floor(stage.nowMs()), ...rest }
      peer.send(JSON.stringify({ ...head, payload: { symbol, ...sourceOf(channel), ...payload } }))
      peer.flush()
    }
    const value = priceOf(stage, channel, symbol)
    const nowMs = Math.floor(stage.nowMs() / UPDATE_MS) * UPDATE_MS
    const data = Array.from({ length: SNAPSHOT_MS / UPDATE_MS }, (_, index) => {
      const timestamp = nowMs - SNAPSHOT_MS + (index + 1) * UPDATE_MS
      return { timestamp, full_accuracy_value: value(timestamp) }
    })
    send({ data }, { snapshot: true })
    everySecond(stage, (timestamp) => {
      if (faults.dropEvery !== undefined && ++updates % faults.dropEvery === 0) {
        dropped++
        seq++
        return isOpen
      }
      const rest = dropped === 0 ? {} : { dropped }
      dropped = 0
      if (isOpen) send({ timestamp, full_accuracy_value: value(timestamp) }, rest)
      return isOpen
    })
  }

  function subscribe({ rid, subscriptions = [] }: LiveOperation): void {
    count += subscriptions.length
    if (!isAuthorised || count > SUBSCRIPTIONS_MAX) {
      peer.close(isAuthorised ? TOO_MANY : UNAUTHORISED)
    } else {
      peer.send(JSON.stringify({ op: 'subscribed', rid }))
      for (const { channel, filter } of subscriptions) stream(channel, filter.symbol)
    }
  }
  function authorise({ rid, auth }: LiveOperation): void {
    isAuthorised = Boolean(auth?.apiKey && auth.secret && auth.passphrase)
    if (isAuthorised) peer.send(JSON.stringify({ op: 'authed', rid }))
    else peer.close(UNAUTHORISED)
  }

  return {
    message(text) {
      const operation = readOperation(text)
      const { op = '', rid } = operation
      const code = faults.refuses?.[op] ?? (operations.has(op) ? undefined : 'bad_op')
      if (code !== undefined) {
        peer.send(JSON.stringify({ op: 'error', code, channel: 'price.crypto.twap', rid }))
        return
      }
      if (op === 'ping') peer.send(JSON.stringify({ op: 'pong', rid }))
      if (operation.op === 'auth') authorise(operation)
      if (operation.op === 'subscribe') subscribe(operation)
    },
    closed() {
      isOpen = false
    },
  }
}

type RtdsMessage = { action?: string; subscriptions?: { topic: string; filters?: string }[] }

/** The protocol of `wss://ws-live-data.polymarket.com` until autumn 2026. */
export function openRtds(stage: Stage, peer: Peer): PeerHandlers {
  let isOpen = true

  function stream(topic: string, symbol: string): void {
    const length = topic === 'crypto_prices_twap_sixty' ? { window_s: 60 } : {}
    const send = (type: string, own: object, sentTopic = topic): void => {
      const timestamp = Math.floor(stage.nowMs())
      const payload = { ...own, ...length }
      const message = { connection_id: 'venue', payload, timestamp, topic: sentTopic, type }
      peer.send(JSON.stringify(message))
      peer.flush()
    }
    const value = priceOf(stage, topic, symbol)
    const nowMs = Math.floor(stage.nowMs() / UPDATE_MS) * UPDATE_MS
    const data = Array.from({ length: SNAPSHOT_MS / UPDATE_MS }, (_, index) => {
      const timestamp = nowMs - SNAPSHOT_MS + (index + 1) * UPDATE_MS
      return { timestamp, value: Number(value(timestamp)) }
    })
    send('subscribe', { symbol, data }, 'crypto_prices')
    everySecond(stage, (timestamp) => {
      const price = value(timestamp)
      // 18 decimals as an integer.
      const full_accuracy_value = `${price.replace('.', '')}0000000000`
      if (isOpen) send('update', { full_accuracy_value, symbol, timestamp, value: Number(price) })
      return isOpen
    })
  }

  return {
    message(text) {
      if (text === 'PING') return peer.send('PONG')
      const { action, subscriptions = [] } = JSON.parse(text) as RtdsMessage
      if (action !== 'subscribe') return
      for (const { topic, filters = '' } of subscriptions) {
        const symbols = filters.startsWith('{')
          ? [(JSON.parse(filters) as { symbol: string }).symbol]
          : filters.split(',')
        for (const symbol of symbols) stream(topic, symbol)
      }
    },
    closed() {
      isOpen = false
    },
  }
}
