/**
 * Reference prices that the venue forwards: over its live-data socket (`live`, with credentials of
 * its order book), and over an older one (`rtds`), which was being removed in autumn 2026 and of
 * which recordings exist.
 */

import { type Coin, coins } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { isRecord } from '#src/platform/record.ts'

import type { SpotFeed } from '../feed.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'

/** Time to stay away from a feed that refuses our messages: the refusal is not temporary. */
const REFUSED_MS = 300_000
/** The average by which the venue settles, in seconds; until 2026-08-14 it was half a minute. */
const WINDOW_SECONDS = 60
const RTDS_DIGITS = 18
/** The longest text of the feed that a line quotes. */
const CODE_LENGTH_MAX = 40

/**
 * The publisher of a channel's prices: its payloads may not name it. Chainlink's average settles
 * windows, Pyth's prices settle none.
 */
const channelSources: Readonly<Record<string, string>> = {
  'price.crypto.twap': 'chainlink',
  'price.crypto': 'pyth',
}

/** `btcusd`, `btc/usd` and `btcusdt` are all `btc`. */
const toCoin = (symbol: unknown): Coin | undefined =>
  coins.find((coin) => new RegExp(`^${coin}/?usdt?$`).test(String(symbol).toLowerCase()))

/** Empty for a value that is not a price. Exact values are integers of 10^`digits`. */
function toTicks(
  value: unknown,
  series: Omit<SpotTick, 'timestampMs' | 'price'>,
  digits = 0,
): SpotTick[] {
  if (!isRecord(value)) return []
  const { timestamp, full_accuracy_value: full, value: plain } = value
  const price = exactDecimal(full ?? plain, full === undefined ? 0 : digits)
  const timestampMs = Number(timestamp)
  if (price === undefined || !Number.isSafeInteger(timestampMs)) return []
  return [{ ...series, timestampMs, price }]
}

/** Its feeds number their messages, and count dropped ones. */
export const live: SpotFeed = {
  url: 'wss://ws-live-v2.polymarket.com/ws',
  ping: { text: '{"op":"ping"}', answer: '{"op":"pong"}', everyMs: 5000 },
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
    // The credentials are refused; only this code is temporary.
    const isPassing = code === 'auth_unavailable'
    return code.startsWith('auth_') ? { code, waitMs: isPassing ? 0 : REFUSED_MS } : { code }
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
    // Replies to our messages name a channel, too.
    if (op !== undefined || channel === undefined) return []
    const coin = isRecord(payload) ? toCoin(payload.symbol) : undefined
    if (!isRecord(payload) || coin === undefined) return undefined
    const windowSeconds = channel === 'price.crypto.twap' ? Number(payload.window_seconds ?? 60) : 0
    const source = String(payload.source ?? channelSources[String(channel)] ?? 'venue')
    const series = { coin, windowSeconds, source: source.toLowerCase() }
    if (snapshot === true)
      return Array.isArray(payload.data)
        ? payload.data.flatMap((each: unknown) => toTicks(each, series))
        : undefined
    const ticks = toTicks(
      { timestamp: message.ts, ...payload },
      {
        ...series,
        receivedMs,
        sequence: typeof seq === 'number' ? seq : undefined,
        dropped: typeof dropped === 'number' && dropped > 0 ? dropped : undefined,
      },
    )
    return ticks.length === 0 ? undefined : ticks
  },
}

/** Its prices are integers of 10^18, and its messages have no sequence numbers. */
export const rtds: SpotFeed = {
  url: 'wss://ws-live-data.polymarket.com',
  ping: { text: 'PING', answer: 'PONG', everyMs: 5000 },
  hello: (wanted) => [
    JSON.stringify({
      action: 'subscribe',
      // In a batch, an entry without a topic has the topic of the first one.
      subscriptions: ['crypto_prices_chainlink', 'crypto_prices_twap_sixty'].flatMap((topic) =>
        wanted.map((coin) => ({
          topic,
          type: '*',
          filters: JSON.stringify({ symbol: `${coin}/usd` }),
        })),
      ),
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
    const coin = toCoin(payload.symbol)
    if (coin === undefined) return []
    const isBinance = String(payload.symbol).toLowerCase().endsWith('usdt')
    const source = isBinance ? 'binance' : 'chainlink'
    const windowSeconds = rtdsWindows[kind] ?? Number(payload.window_s ?? 0)
    const series = { coin, windowSeconds, source }
    // The batch of the last minutes comes first, under the plain topic.
    if (Array.isArray(payload.data))
      return payload.data.flatMap((each: unknown) => toTicks(each, series))
    const ticks = toTicks(payload, { ...series, receivedMs }, RTDS_DIGITS)
    return ticks.length === 0 ? undefined : ticks
  },
}

const rtdsWindows: Readonly<Record<string, number>> = { twap_sixty: 60, twap_thirty: 30 }
