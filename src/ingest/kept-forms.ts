/**
 * The forms in which others capture messages and books: unchanged, or in a member of an object, as
 * text or as an object, with the time of receipt beside it under various names. Each form is a row
 * of the tables below.
 */

import { type Outcome, outcomes } from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { MOMENT_MS_MAX, VENUE_OPENED_MS } from '#src/domain/time.ts'
import { toReceivedMs } from '#src/domain/wire/snapshot-values.ts'
import { isRecord } from '#src/platform/record.ts'
import { type JsonObject, withoutExponent } from '#src/venue/json-fields.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { isPlainText } from './line-source.ts'

export const LINES_OF_TEXT = 'lines of text'

/** Members that hold a message or a list of messages, the likeliest first. */
const holders = [
  'raw',
  'raw_message',
  'payload',
  'payloadUtf8',
  'msg',
  'message',
  'data',
  'frame',
  'body',
  'snapshots',
  'results',
  'books',
]

/** Other names of members of a book, by the venue's name. */
const names: Readonly<Record<string, readonly string[]>> = {
  asset_id: ['assetId', 'token_id', 'tokenId', 'clob_token_id', 'token'],
  market: ['market_id', 'condition_id', 'conditionId'],
  timestamp: ['order_timestamp', 'event_ts_ms', 'event_ts', 'event_time', 'ts_ms', 'ts', 'time'],
  hash: ['orderbook_hash', 'book_hash'],
  tick_size: ['tickSize'],
  min_order_size: ['minOrderSize'],
  neg_risk: ['negRisk'],
  last_trade_price: ['lastTradePrice'],
}
/** Names of the members of a level. */
const levelNames = { price: ['price', 'p'], size: ['size', 's', 'quantity', 'amount', 'qty'] }

/** Members that a message inherits from the object around it, if it lacks them. */
const inherited = ['event_type', 'asset_id', 'market', 'hash', 'tick_size']
/** Times that are the venue's by their name; others may be times of receipt. */
const eventTimes =
  /^(?:event|venue|exchange|source|server)_(?:ts|time|timestamp)(?:_(?:ms|us|ns|s))?$/i

/** Our own members, whose invalid values are faults of the line. */
const ownReceipts = ['_recv', 'receivedAt']
/** Members used by others, the likeliest first. */
const receipts = [
  /^_?rec(?:v|eived?|eipt)(?:_|$)/i,
  /^(?:received|recv)(?:At|Ms|Ns|Ts|Time)/,
  /^(?:local|capture[d]?|arriv(?:al|ed)|collected)_?(?:timestamp|time|ts|at)/i,
  /^_?recorded_?at/i,
]
/** Beside a message in a member, or beside its own `timestamp`, any name of a time is accepted. */
const looseReceipts = [...receipts, /^(?:ts|time|t)(?:_(?:ms|us|ns|s))?$/i]
const outerReceipts = [...looseReceipts, /^timestamp(?:_(?:ms|us|ns|s))?$/i]
/** A clock that starts with the machine. */
const monotonic = /mono|perf|uptime/i

/** Prefixes of the columns and members of an outcome, if a row or an object has both. */
export const outcomePrefixes: Readonly<Record<Outcome, readonly string[]>> = {
  up: ['up_', 'yes_'],
  down: ['down_', 'dn_', 'no_'],
}

/** The maximum depth of nested objects that are searched. */
const DEPTH_MAX = 4

/** True if a text begins with messages or books, which may be JSON inside a string. */
export const holdsKept = (head: string): boolean =>
  /\\*"(?:event_type|asset_id)\\*"\s*:/.test(head) ||
  /\\*"(?:topic|channel)\\*"\s*:\s*\\*"(?:crypto_prices|price\.crypto)/.test(head) ||
  /\\*"(?:up|yes)_(?:bids|asks)\\*"\s*:/.test(head) ||
  /^\s*\{\s*"(?:snapshots|results|books|data)"\s*:\s*[[{].*?"(?:bids|asks)"\s*:/s.test(head)

/** True if a row with these columns is a book, or holds a message in one of them. */
export const holdsKeptColumns = (columns: readonly string[]): boolean =>
  holders.some((name) => columns.includes(name)) ||
  (['bids', 'asks'].every((name) => columns.includes(name)) && findBookNames(columns) !== undefined)

/** The columns that identify the book of a row: the token, the time and, if present, the hash. */
export function findBookNames(columns: readonly string[]): string[] | undefined {
  const find = (name: string) =>
    [name, ...(names[name] ?? [])].filter((each) => columns.includes(each))
  const [token, time, hash] = ['asset_id', 'timestamp', 'hash'].map((name) =>
    find(name).slice(0, 1),
  )
  if (token?.length !== 1 || time?.length !== 1) return undefined
  return [...token, ...time, ...(hash ?? [])]
}

export type Kept =
  | { kind: 'message' | 'price'; text: string; receivedMs: number | undefined }
  /** Not a message of the venue. */
  | { kind: 'other'; reason: string }
  | { kind: 'fault'; reason: string }

/**
 * Creates a reader of a line or entry. A time of receipt is a date-time, or Unix seconds,
 * milliseconds, microseconds or nanoseconds, distinguished by magnitude. Numbers in the returned texts
 * are strings, as written by the venue. The reader throws a `record` fault.
 */
export const createKeptReader =
  (known: KnownNames) =>
  (text: string): Kept[] =>
    readText(text, { depth: 0, receivedMs: undefined, known })

/** Names that a capture leaves out. */
type KnownNames = {
  /** The condition id of a token's market. */
  marketOf(assetId: string): string | undefined
  /** The token of an outcome of a market, which is named by its slug or condition id. */
  tokenOf(market: string, outcome: Outcome): string | undefined
}

type Around = { depth: number; receivedMs: number | undefined; known: KnownNames }

/** A message and the value from which it was read; they are identical if nothing was renamed. */
type Piece =
  | { kept: Kept }
  | { value: JsonObject; from: unknown; isPrice: boolean; receivedMs: number | undefined }

function readText(text: string, around: Around): Kept[] {
  const seen = { hasNumbers: false }
  const value = parseWithTexts(text, seen)
  if (typeof value !== 'object' || value === null) {
    if (text === homeVenue.feed.ping.answer) return []
    // Text of a capture, such as a ping or an address. A truncated message in a member still has
    // its beginning; a truncated line may have lost it.
    const isText = around.depth > 0 ? !/^\s*[[{]/.test(text) : isPlainText(text)
    if (isText) return [other(LINES_OF_TEXT)]
    return [{ kind: 'message', text, receivedMs: around.receivedMs }]
  }
  const list = Array.isArray(value) ? value : [value]
  const pieces = list.flatMap((each: unknown) => unwrap(each, around))
  const [first] = pieces
  const isAsItCame =
    !seen.hasNumbers &&
    pieces.length === list.length &&
    first !== undefined &&
    pieces.every(
      (piece, at) =>
        'value' in piece &&
        'value' in first &&
        piece.value === list[at] &&
        !piece.isPrice &&
        piece.receivedMs === first.receivedMs,
    )
  if (isAsItCame && 'value' in first)
    return [{ kind: 'message', text, receivedMs: first.receivedMs }]
  return pieces.map((piece) => {
    if ('kept' in piece) return piece.kept
    const { isPrice, receivedMs, value: message, from } = piece
    // Prices keep all their digits; the value is unchanged otherwise.
    const isWhole = isPrice && from === value
    const kind = isPrice ? 'price' : 'message'
    return { kind, text: isWhole ? text : JSON.stringify(message), receivedMs }
  })
}

const other = (reason: string): Kept => ({ kind: 'other', reason })

/** Parses JSON with numbers as their original text, so that none becomes a float. */
function parseWithTexts(text: string, seen = { hasNumbers: false }): unknown {
  const toText = (key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== 'number') return value
    if (!key.startsWith('_')) seen.hasNumbers = true
    return withoutExponent(context?.source ?? String(value))
  }
  try {
    return JSON.parse(text, toText)
  } catch {
    return undefined
  }
}

function unwrap(value: unknown, around: Around): Piece[] {
  if (Array.isArray(value)) return value.flatMap((each: unknown) => unwrap(each, around))
  if (!isRecord(value)) return [{ kept: other(LINES_OF_TEXT) }]
  const pair = splitOutcomes(value, around.known)
  if (pair !== undefined) return pair.flatMap((each) => unwrap(each, around))
  const isPrice = isPriceMessage(value)
  if (isPrice || isMessage(value) || isBook(value)) {
    const patterns = 'timestamp' in value && !isPrice ? looseReceipts : receipts
    const receivedMs = findReceipt(value, patterns) ?? around.receivedMs
    try {
      const named = isPrice ? value : toVenueNames(value, around.known)
      return [{ value: named, from: value, isPrice, receivedMs }]
    } catch (error) {
      if (!isRecordFault(error)) throw error
      return [{ kept: { kind: 'fault', reason: error.message } }]
    }
  }
  const holder = holders.find((name) => isHeld(value[name]))
  if (holder === undefined || around.depth === DEPTH_MAX) return [toLeft(value)]
  const held = value[holder]
  const inner = {
    ...around,
    depth: around.depth + 1,
    receivedMs: findReceipt(value, outerReceipts) ?? around.receivedMs,
  }
  if (typeof held === 'string') return readText(held, inner).map((kept) => ({ kept }))
  return unwrap(isRecord(held) ? inherit(held, value) : held, inner)
}

/** Splits an object with the books of both outcomes; undefined if it has not both. */
function splitOutcomes(value: JsonObject, { tokenOf }: KnownNames): JsonObject[] | undefined {
  const found = outcomes.map((outcome) => {
    const prefixes = outcomePrefixes[outcome]
    const prefix = prefixes.find((each) => `${each}bids` in value && `${each}asks` in value)
    if (prefix === undefined) return undefined
    const members = Object.entries(value).map(([name, each]) =>
      name.startsWith(prefix) ? [name.slice(prefix.length), each] : [name, each],
    )
    const own: JsonObject = Object.fromEntries(members)
    if (findName(own, 'asset_id') !== undefined) return own
    const market = marketNames.map((name) => own[name]).find((each) => typeof each === 'string')
    const token = market === undefined ? undefined : tokenOf(market, outcome)
    return { ...own, asset_id: token ?? `${outcome} of ${String(market)}` }
  })
  return found.every((each) => each !== undefined) ? found : undefined
}

/** Members that name a market, by its slug or condition id. */
const marketNames = ['slug', 'market_slug', 'window_slug', 'market', 'condition_id', 'conditionId']

/**
 * Treats an object with a member of a message as a message; the venue's reader reports what is
 * wrong.
 */
function toLeft(value: JsonObject): Piece {
  const isMeant = ['asset_id', 'market', 'price_changes', 'event_type'].some(
    (name) => name in value,
  )
  if (isMeant) return { value, from: value, isPrice: false, receivedMs: undefined }
  return {
    kept: other(
      'bids' in value && 'asks' in value ? 'books without a token' : 'messages of other feeds',
    ),
  }
}

const isMessage = (value: JsonObject): boolean =>
  typeof value.event_type === 'string' &&
  (['market', 'asset_id', 'price_changes'].some((name) => name in value) ||
    !holders.some((name) => isHeld(value[name])))

const isBook = (value: JsonObject): boolean =>
  'bids' in value && 'asks' in value && findName(value, 'asset_id') !== undefined

const isPriceMessage = ({ topic, channel, payload }: JsonObject): boolean =>
  isRecord(payload) && /^(?:crypto_prices|price\.crypto)/.test(String(topic ?? channel))

const isHeld = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || (typeof value === 'string' && value !== '')

/** The member of an object that the venue calls `name`. */
const findName = (value: JsonObject, name: string): string | undefined =>
  name in value ? name : names[name]?.find((each) => each in value)

function inherit(held: JsonObject, outer: JsonObject): JsonObject {
  if (isMessage(held)) return held
  const taken: Record<string, unknown> = {}
  for (const name of inherited) {
    const known = findName(held, name) === undefined ? findName(outer, name) : undefined
    if (known !== undefined) taken[name] = outer[known]
  }
  const time = Object.keys(outer).find((name) => eventTimes.test(name))
  if (time !== undefined && findName(held, 'timestamp') === undefined) taken.timestamp = outer[time]
  return Object.keys(taken).length === 0 ? held : { ...taken, ...held }
}

/** Returns a book in the venue's format; the same object if it is one already or not a book. */
function toVenueNames(value: JsonObject, { marketOf }: KnownNames): JsonObject {
  if (!('bids' in value && 'asks' in value)) return value
  const named: Record<string, unknown> = { event_type: value.event_type }
  for (const name of Object.keys(names)) {
    const known = findName(value, name)
    if (known !== undefined) named[name] = value[known]
  }
  const { asset_id: token, market } = named
  // The market is named differently, for example by its slug or its number in the catalogue.
  if (typeof market !== 'string' || !market.startsWith('0x')) {
    named.market = marketOf(String(token))
    if (named.market === undefined)
      throw recordFault(
        `the market of token ${String(token).slice(0, 80)} is not known; import its tokens or its entry of the catalogue too`,
      )
  }
  const { timestamp } = named
  if (typeof timestamp === 'string' && !/^\d{13,15}$/.test(timestamp))
    named.timestamp = String(toReceivedMs(timestamp, 'timestamp'))
  named.bids = toLevels(value.bids)
  named.asks = toLevels(value.asks)
  const isSame =
    named.bids === value.bids &&
    named.asks === value.asks &&
    ['asset_id', 'market', 'timestamp'].every((name) => named[name] === value[name]) &&
    Object.keys(named).every((name) => named[name] === undefined || name in value)
  return isSame ? value : named
}

/** Converts levels to the venue's objects from JSON text, pairs or other names. */
function toLevels(levels: unknown): unknown {
  const list = typeof levels === 'string' ? parseWithTexts(levels || '[]') : levels
  if (!Array.isArray(list)) return list
  const [first]: unknown[] = list
  if (isRecord(first) && 'price' in first && 'size' in first) return list
  return list.map((level: unknown) => {
    if (Array.isArray(level)) return { price: String(level[0]), size: String(level[1]) }
    if (!isRecord(level)) return level
    const member = (any: readonly string[]) => level[any.find((name) => name in level) ?? '']
    return { price: member(levelNames.price), size: member(levelNames.size) }
  })
}

function findReceipt(value: JsonObject, patterns: readonly RegExp[]): number | undefined {
  for (const name of ownReceipts) {
    const own = value[name]
    if (own !== undefined && own !== null) return toReceivedMs(String(own), name)
  }
  const candidates = Object.keys(value).filter((name) => !monotonic.test(name))
  for (const pattern of patterns) {
    for (const name of candidates) {
      const receivedMs = pattern.test(name) ? tryReceipt(value[name]) : undefined
      if (receivedMs !== undefined) return receivedMs
    }
  }
  return undefined
}

/** Undefined for a value that cannot be a time of receipt, such as a duration. */
function tryReceipt(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  try {
    const receivedMs = toReceivedMs(value, '')
    return receivedMs >= VENUE_OPENED_MS && receivedMs <= MOMENT_MS_MAX ? receivedMs : undefined
  } catch (error) {
    if (isRecordFault(error)) return undefined
    throw error
  }
}
