/**
 * Reference prices as the venue passes them on: over its live-data socket (`live`, with credentials
 * of its order book), and over the one before it (`rtds`), which was being removed in autumn 2026
 * and of which there are recordings.
 */
import { type Coin, coins } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { isRecord } from '#src/platform/record.ts'

import type { SpotFeed } from '../feed.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'

const PING = { text: 'PING', answer: 'PONG', everyMs: 5000 }
const LIVE_PING = { text: '{"op":"ping"}', answer: '{"op":"pong"}', everyMs: 5000 }
/** Codes of refused credentials; one of them passes by itself. */
const AUTH_CODE = /^auth_/
const AUTH_UNAVAILABLE = 'auth_unavailable'
/** How long to stay away from a feed that refuses what is sent: nothing changes by itself. */
const REFUSED_MS = 300_000
/** Averages that the venue settles by: of a minute, and until 2026-08-14 of half a minute. */
const WINDOW_SECONDS = 60
const RTDS_DIGITS = 18
/** Longest text of the feed's that a line repeats. */
const CODE_LENGTH_MAX = 40

/** `btcusd`, `btc/usd` and `btcusdt` are of `btc`. */
const coinOf = (symbol: unknown): Coin | undefined =>
  coins.find((coin) => new RegExp(`^${coin}/?usdt?$`).test(String(symbol).toLowerCase()))

type Head = Omit<SpotTick, 'timestampMs' | 'price'>

/** Undefined for what is no price. */
function toTick(value: unknown, head: Head, divisor = 0): SpotTick | undefined {
  if (!isRecord(value)) return undefined
  const { timestamp, full_accuracy_value: full, value: plain } = value
  const price = exactDecimal(full ?? plain, full === undefined ? 0 : divisor)
  const timestampMs = Number(timestamp)
  if (price === undefined || !Number.isSafeInteger(timestampMs)) return undefined
  return { ...head, timestampMs, price }
}

const isTick = (tick: SpotTick | undefined): tick is SpotTick => tick !== undefined

/** `wss://ws-live-v2.polymarket.com/ws`: numbers in each feed, and a count of what was dropped. */
export const live: SpotFeed = {
  url: 'wss://ws-live-v2.polymarket.com/ws',
  ping: LIVE_PING,
  hello(_coins, key) {
    const [apiKey = '', secret = '', passphrase = ''] = key.split(':')
    return [JSON.stringify({ op: 'auth', rid: 'auth', auth: { apiKey, secret, passphrase } })]
  },
  answer(text, wanted) {
    const message = parseJson(text)
    if (!isRecord(message) || message.op !== 'authed') return undefined
    const subscriptions = wanted.map((coin) => ({
      channel: 'price.crypto.twap',
      filter: { symbol: `${coin}usd`, window_seconds: WINDOW_SECONDS },
    }))
    return JSON.stringify({ op: 'subscribe', rid: 'prices', subscriptions })
  },
  refusal(text) {
    const message = parseJson(text)
    if (!isRecord(message) || message.op !== 'error') return undefined
    const code = String(message.code ?? 'an error without a code').slice(0, CODE_LENGTH_MAX)
    if (!AUTH_CODE.test(code)) return { code }
    return { code, waitMs: code === AUTH_UNAVAILABLE ? 0 : REFUSED_MS }
  },
  closes: {
    4001: { text: 'the credentials are refused (4001)', waitMs: REFUSED_MS },
    4002: { text: 'messages or pings were read too slowly (4002)', waitMs: 0 },
    4003: { text: 'the server is shut down (4003)', waitMs: 5000 },
    4008: { text: 'what was sent is against its policy (4008)', waitMs: REFUSED_MS },
  },
  decode(text, receivedMs) {
    const message = parseJson(text)
    if (!isRecord(message)) return undefined
    const { op, channel, seq, dropped, snapshot, payload } = message
    // Answers to what was sent name the channel too.
    if (op !== undefined || channel === undefined) return []
    const coin = isRecord(payload) ? coinOf(payload.symbol) : undefined
    if (!isRecord(payload) || coin === undefined) return undefined
    const windowSeconds = channel === 'price.crypto.twap' ? Number(payload.window_seconds ?? 60) : 0
    const head: Head = { coin, windowSeconds, source: String(payload.source ?? 'venue') }
    if (snapshot === true)
      return Array.isArray(payload.data)
        ? payload.data.map((each: unknown) => toTick(each, head)).filter(isTick)
        : undefined
    const counted = {
      ...{ receivedMs, sequence: typeof seq === 'number' ? seq : undefined },
      dropped: typeof dropped === 'number' && dropped > 0 ? dropped : undefined,
    }
    const tick = toTick({ timestamp: message.ts, ...payload }, { ...head, ...counted })
    return tick && [tick]
  },
}

/** `wss://ws-live-data.polymarket.com`: integers of 1e18, without numbers. */
export const rtds: SpotFeed = {
  url: 'wss://ws-live-data.polymarket.com',
  ping: PING,
  hello: (wanted) => [
    JSON.stringify({
      action: 'subscribe',
      subscriptions: wanted.map((coin) => ({
        topic: 'crypto_prices_chainlink',
        type: '*',
        filters: JSON.stringify({ symbol: `${coin}/usd` }),
      })),
    }),
  ],
  answer: () => undefined,
  refusal: () => undefined,
  closes: {},
  decode(text, receivedMs) {
    const message = parseJson(text)
    if (!isRecord(message)) return undefined
    const { topic, payload } = message
    const [, kind = ''] = /^crypto_prices(?:_(\w+))?$/.exec(String(topic)) ?? []
    if (!isRecord(payload) || !String(topic).startsWith('crypto_prices')) return []
    const coin = coinOf(payload.symbol)
    if (coin === undefined) return []
    const isBinance = String(payload.symbol).toLowerCase().endsWith('usdt')
    const head: Head = {
      ...{ coin, windowSeconds: rtdsWindows[kind] ?? 0 },
      source: isBinance ? 'binance' : 'chainlink',
    }
    // The batch of the last minutes comes first, under the plain topic.
    if (Array.isArray(payload.data))
      return payload.data.map((each: unknown) => toTick(each, head)).filter(isTick)
    const tick = toTick(payload, { ...head, receivedMs }, RTDS_DIGITS)
    return tick && [tick]
  },
}

const rtdsWindows: Readonly<Record<string, number>> = { twap_sixty: 60, twap_thirty: 30 }
