/** Live rows and replays: what each connection subscribes to, and which messages are new. */
import type { components } from './api.ts'
import { BookfeedError } from './errors.ts'
import { EventLine } from './events.ts'
import { isRow, type Line, overLines, SocketLine, type Wire } from './line.ts'
import type { Exact } from './numbers.ts'
import { type Requester, sentMembers, sentOf } from './request.ts'
import type { Whole } from './shapes.ts'

type Schemas = components['schemas']
type Rows = {
  snapshots: Schemas['Snapshot']
  changes: Schemas['Change']
  quotes: Schemas['Quote']
  prices: Schemas['Price']
  trades: Omit<Schemas['Trade'], 'chain'>
}
type MarketChannel = keyof Rows
type Outcome = 'up' | 'down'
/**
 * The position of a stream: condition id → cursor of the last row taken. `spot` has one entry,
 * under `spot`; a coin over server-sent events has one entry, under the coin.
 */
export type Places = Record<string, string>

type RowMessage<C extends MarketChannel, N> = {
  type: 'snapshot' | 'row'
  channel: C
  conditionId: string
  /** Also valid in the route of the channel; only the last of several snapshots has one. */
  cursor?: string
  data: Whole<Exact<Rows[C], N>>
}
type SpotMessage<N> = {
  type: 'snapshot' | 'row'
  channel: 'spot'
  coin: string
  cursor?: string
  data: Exact<Schemas['Spot'], N>
}
export type Channel = MarketChannel | 'spot' | 'markets'
/** A message of a stream of one channel, or of any, as described in docs/live.md. */
export type Message<N = number, C extends Channel = Channel> =
  | { [M in C & MarketChannel]: RowMessage<M, N> }[C & MarketChannel]
  | ('spot' extends C ? SpotMessage<N> : never)
  | {
      type: 'gap'
      conditionId: string
      outcome: Outcome
      reason: string
      from: string
      to: string | null
    }
  | {
      type: 'market_open' | 'market_closed' | 'market_resolved'
      data: Exact<Schemas['Market'], N>
    }
  | { type: 'market_end'; conditionId: string }

type Filter<C extends Channel> = {
  channel: C
  coin: string
  timeframe?: Schemas['Market']['timeframe'] | undefined
  /** One market, by condition id, slug or asset id; all markets of the coin if undefined. */
  conditionId?: string | undefined
  outcome?: Outcome | undefined
  /** For `snapshots`: levels per side. */
  depth?: number | undefined
  /** For `spot`. */
  source?: string | undefined
  /** For `spot`: averaging period in seconds. */
  window?: number | undefined
  /**
   * Has a WebSocket send one zlib stream in place of text, in a tenth of the bytes or less. Needs a
   * runtime with `DecompressionStream`, as all current ones have.
   */
  encoding?: 'zlib-stream' | undefined
}
export type LiveQuery<C extends Channel = Channel> = Filter<C> & {
  /** Continues an earlier stream: its `Places`, or a cursor for one market or `spot`. */
  from?: Places | string | undefined
  /**
   * Kept up to date: condition id → cursor, for rows that you took and markets that still trade.
   * Store it, and pass it as `from` to the next run.
   */
  places?: Places | undefined
  /**
   * `sse` if WebSockets are blocked, or to save nine tenths of the bytes; used automatically if the
   * runtime has no WebSocket. It carries rows of markets, but neither `spot` nor `markets`. A coin
   * has one place there, under the name of the coin; the places of the two transports differ.
   */
  transport?: 'websocket' | 'sse' | undefined
}
export type ReplayQuery<C extends Channel = Channel> = Filter<C> & {
  /** Unix milliseconds, RFC 3339, a day in UTC, or a date; optional for one market. */
  from?: number | string | Date | undefined
  /** Exclusive. */
  to?: number | string | Date | undefined
  /** Starts after the row with this cursor, for one market or `spot`. */
  cursor?: string | undefined
  /** 0.1 to 1000 times the original speed; 0, the default, as fast as messages are taken. */
  speed?: number | undefined
  /** Includes prices of the coin. */
  with?: 'spot' | undefined
}
type Signal = { signal?: AbortSignal | undefined }

const ALL = 'all'
/** The condition id without its prefix: ids must be shorter than a condition id. */
const idOf = (conditionId: string) => conditionId.slice(2)
const passed = new Set(['gap', 'market_open', 'market_closed', 'market_resolved', 'market_end'])
/** The key of a message: its market, or `spot`. */
const keyOf = ({ conditionId, channel, data }: Wire): string =>
  String(conditionId ?? (channel === 'spot' ? channel : (data as Wire | undefined)?.conditionId))

const REMEMBERED_MAX = 10_000

/** Stores an entry; the oldest entries are evicted. */
function put<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > REMEMBERED_MAX && oldest !== undefined) map.delete(oldest)
}

/** Returns a function that is true the first time it sees a message that is not a row. */
function createNews(): (message: Wire) => boolean {
  const seen = new Map<string, true>()
  return (message) => {
    const { type, outcome, reason, from, to, since, time } = message
    const key = JSON.stringify([type, keyOf(message), outcome, reason, from, to, since, time])
    const isNew = !seen.has(key)
    put(seen, key, true)
    return isNew
  }
}

/** Holds rows until one with a cursor completes their group: a lost connection leaves no part. */
function createGroups(groupOf: (message: Wire) => string) {
  const held = new Map<string, Wire[]>()
  return {
    clear: (): void => held.clear(),
    /** Returns the messages to pass on now. */
    add(message: Wire): Wire[] {
      const key = groupOf(message)
      const group = [...(held.get(key) ?? []), message]
      if (message.cursor === undefined) held.set(key, group)
      else held.delete(key)
      return message.cursor === undefined ? [] : group
    },
  }
}

/** The places of a stream, including those that it begins with. */
function placesOf({ from, places = {}, conditionId, channel, coin }: LiveQuery): Places {
  if (typeof from === 'string') places[channel === 'spot' ? channel : (conditionId ?? coin)] = from
  else Object.assign(places, from)
  return places
}

/** Throws if the places of a coin belong to the other transport. */
function assertPlaces(places: Places, coin: string, isEvents: boolean): void {
  if (Object.keys(places).every((name) => (name === coin) === isEvents)) return
  const detail = isEvents
    ? `Over server-sent events a coin has one place, under "${coin}"; these are of a WebSocket.`
    : 'Over a WebSocket a coin has a place for each market; this one is of server-sent events.'
  throw new BookfeedError('invalid_parameter', detail, { param: 'from' })
}

export function liveStream(
  requester: Requester,
  query: LiveQuery & Signal,
): AsyncGenerator<Wire, void, void> {
  const { WebSocket = globalThis.WebSocket } = requester.options
  const isEvents = query.transport === 'sse' || WebSocket === undefined
  const Kind = isEvents ? EventLine : SocketLine
  const feed = new LiveFeed(requester, query, isEvents)
  const open = () => new Kind(requester, (line) => feed.begin(line))
  const take = (message: Wire, line: Line) => feed.take(message, line)
  return overLines({ open, take, isOver: () => feed.isOver }, query.signal)
}

class LiveFeed {
  isOver = false
  readonly #requester: Requester
  readonly #filter: Filter<Channel>
  readonly #signal: AbortSignal | undefined
  readonly #places: Places
  readonly #isCoin: boolean
  /** True if one cursor is the place in all markets of a coin. */
  readonly #hasCoinPlace: boolean
  readonly #isNews = createNews()
  readonly #groups: ReturnType<typeof createGroups>
  /** Markets that have their own subscription on this connection. */
  readonly #own = new Set<string>()
  #hasBegun: boolean
  #wasAway = false

  constructor(requester: Requester, query: LiveQuery & Signal, isEvents: boolean) {
    const { signal, from: _, places: __, transport: ___, ...filter } = query
    this.#requester = requester
    this.#filter = filter
    this.#signal = signal
    this.#places = placesOf(query)
    this.#isCoin = filter.conditionId === undefined && filter.channel !== 'spot'
    this.#hasCoinPlace = this.#isCoin && isEvents
    if (this.#isCoin) assertPlaces(this.#places, filter.coin, isEvents)
    this.#groups = createGroups(this.#hasCoinPlace ? () => filter.coin : keyOf)
    this.#hasBegun = Object.keys(this.#places).length > 0
  }

  begin(line: Line): void {
    this.#own.clear()
    this.#groups.clear()
    this.#wasAway = this.#hasBegun
    const places = Object.entries(this.#places)
    const hasPlaces = this.#isCoin && !this.#hasCoinPlace
    if (hasPlaces) for (const [market, from] of places) this.#follow(line, market, from)
    const from = hasPlaces ? undefined : places[0]?.[1]
    line.send({ op: 'subscribe', ...this.#filter, id: ALL, from, ...onSlow })
  }

  async *take(message: Wire, line: Line): AsyncGenerator<Wire> {
    const key = keyOf(message)
    if (message.id === ALL && this.#own.has(key)) return
    if (isRow(message)) yield* this.#row(message, key, line)
    else if (passed.has(String(message.type))) yield* this.#event(message, line)
    else if (message.type === 'live' && message.conditionId !== undefined)
      yield* this.#caughtUp(line, key)
  }

  #follow(line: Line, conditionId: string, from: string): void {
    this.#own.add(conditionId)
    const one = { id: idOf(conditionId), conditionId, from, timeframe: undefined }
    line.send({ op: 'subscribe', ...this.#filter, ...one, ...onSlow })
  }

  async *#row(message: Wire, key: string, line: Line): AsyncGenerator<Wire> {
    this.#hasBegun = true
    const isNew = this.#isCoin && this.#wasAway && !(key in this.#places)
    if (isNew && !this.#hasCoinPlace && message.type === 'snapshot')
      return yield* this.#fromFirst(line, key)
    for (const row of this.#groups.add(message)) {
      const place = this.#hasCoinPlace ? this.#filter.coin : key
      if (row.cursor !== undefined) this.#put(place, String(row.cursor))
      yield row
    }
  }

  #put(key: string, cursor: string): void {
    // A market requested under another name has one place, under its condition id.
    if (!this.#isCoin)
      for (const name of Object.keys(this.#places)) if (name !== key) delete this.#places[name]
    this.#places[key] = cursor
  }

  /** Follows a market that opened while the connection was down from its first row. */
  async *#fromFirst(line: Line, conditionId: string): AsyncGenerator<Wire> {
    const { coin, channel, outcome, depth } = this.#filter
    const path = `/v1/{coin}/markets/{conditionId}/${channel}`
    const input = { coin, conditionId, outcome, depth, limit: 1 }
    const { body, headers } = await this.#requester.json({ path, input, signal: this.#signal })
    const { data, nextCursor } = body as { data: object[]; nextCursor: string | null }
    const cursor = nextCursor ?? headers.get('x-resume-cursor')
    if (data[0] === undefined || cursor === null) return
    this.#follow(line, conditionId, cursor)
    this.#put(conditionId, cursor)
    yield { type: 'row', channel, conditionId, cursor, data: data[0] }
  }

  *#event(message: Wire, line: Line): Generator<Wire> {
    if (!this.#isNews(message)) return
    yield message
    if (message.type !== 'market_resolved') return
    const market = keyOf(message)
    delete this.#places[market]
    if (this.#own.delete(market)) line.send({ op: 'unsubscribe', id: idOf(market) })
    this.isOver = !this.#isCoin
  }

  /** Fetches a winner that may have been announced while the connection was down. */
  async *#caughtUp(line: Line, conditionId: string): AsyncGenerator<Wire> {
    const path = '/v1/{coin}/markets/{conditionId}'
    const input = { coin: this.#filter.coin, conditionId }
    const { body } = await this.#requester.json({ path, input, signal: this.#signal })
    if ((body as { status: string }).status !== 'resolved') return
    for (const type of ['market_closed', 'market_resolved'])
      yield* this.#event({ type, data: body }, line)
  }
}

/** All rows are delivered: a slow reader is disconnected, and continues. */
const onSlow = { onSlow: 'close' }

/** How far back a restarted replay begins: rows arrive up to a few seconds after a window ends. */
const BACK_MS = 600_000
type Place = { timeMs: number; seq: number }

export function replayStream(
  requester: Requester,
  query: ReplayQuery & Signal,
): AsyncGenerator<Wire, void, void> {
  const { signal, ...asked } = query
  const speed = asked.speed ?? 0
  const isNews = createNews()
  const groups = createGroups(keyOf)
  /** The last row of each market, now and when this connection began. */
  const last = new Map<string, Place>()
  let before = new Map<string, Place>()
  let timeMs = Number.NEGATIVE_INFINITY
  let isOver = false
  let isCatchingUp = false

  function begin(line: Line): void {
    groups.clear()
    before = new Map(last)
    isCatchingUp = timeMs > Number.NEGATIVE_INFINITY
    const backMs = Math.max(timeMs - BACK_MS, momentOf(asked.from))
    const back = isCatchingUp ? { from: backMs, cursor: undefined, speed: 0 } : { speed }
    line.send({ op: 'replay', ...sentMembers(asked), ...back, id: ALL })
  }

  function isNew(message: Wire): boolean {
    if (!isRow(message)) return isNews(message)
    const place = placeOf(message)
    const known = before.get(keyOf(message))
    if (known && comparePlaces(place, known) <= 0) return false
    put(last, keyOf(message), latest(last.get(keyOf(message)), place))
    if (message.type === 'row') timeMs = Math.max(timeMs, place.timeMs)
    return true
  }

  function* take(message: Wire, line: Line): Generator<Wire> {
    isOver = message.type === 'replay_end'
    if (!isRow(message) && !passed.has(String(message.type))) return
    for (const each of isRow(message) ? groups.add(message) : [message]) {
      if (!isNew(each)) continue
      if (isCatchingUp) line.send({ op: 'speed', id: ALL, speed })
      isCatchingUp = false
      yield each
    }
  }

  const open = () => new SocketLine(requester, begin, ALL)
  return overLines({ open, take, isOver: () => isOver }, signal)
}

const placeOf = ({ data, seq }: Wire): Place => ({
  timeMs: Date.parse(String((data as Wire).timestamp)),
  seq: Number(seq),
})
const comparePlaces = (a: Place, b: Place) => a.timeMs - b.timeMs || a.seq - b.seq
const latest = (a: Place | undefined, b: Place) => (a && comparePlaces(a, b) > 0 ? a : b)

/** A time as the server reads it: small numbers are seconds, and a space may replace the `T`. */
function momentOf(time: number | string | Date | undefined): number {
  if (time === undefined) return 0
  const text = String(sentOf(time))
  // Date.parse does not accept an offset in hours only.
  const iso = text
    .replace(' ', 'T')
    .replace(/(T.*[+-]\d\d):?(\d\d)?$/, (_, head, minutes = '00') => `${head}:${minutes}`)
  const number = /^\d+$/.test(text) ? Number(text) : Date.parse(iso)
  return number < 100_000_000_000 ? number * 1000 : number
}
