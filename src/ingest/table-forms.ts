/** The supported tables: exports of this service and archives of other vendors. */

import { parseMillionths } from '#src/domain/decimal.ts'
import {
  type Market,
  type Outcome,
  outcomes,
  parseConditionId,
  type Source,
} from '#src/domain/market.ts'
import { recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { toReceivedMs } from '#src/domain/wire/snapshot-values.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Fault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'
import { columnName } from '#src/tables/column.ts'
import { parseJson, type Reading, readOutcome, readTimeMs } from '#src/venue/json-fields.ts'
import { fitsRecordKind, readMarketRecords } from '#src/venue/record-kinds.ts'
import type { MarketRecord } from '#src/venue/venue.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { findBookNames, holdsKeptColumns, outcomePrefixes } from './kept-forms.ts'

/** Returns the text of a cell; empty if there is none. */
export type Row = (column: string) => string

/** A whole book, a message of the venue as JSON in any captured form, or other records. */
type TableRecord =
  | { snapshot: Snapshot; source: Source | undefined }
  | { message: string }
  | { records: readonly MarketRecord[] }

export type TableForm = {
  /** The name with its article. */
  name: string
  columns: readonly string[]
  /** The key of a row; consecutive rows with the same key are one record. */
  keyOf(row: Row): string
  /** In an archive of all markets, rows of markets that are not in the history are skipped. */
  marketOf?(row: Row): string
  /** Reads a record; throws a `record` fault. */
  read(rows: readonly Row[], find: FindMarket, reading: Reading): TableRecord
}

const readLevel = (price: string, size: string): [number, number] => {
  const level = [parseMillionths(price), parseMillionths(size)] as const
  if (!level[0] || !level[1]) throw recordFault('price or size: not a decimal above 0')
  return [level[0], level[1]]
}

function toLadder(levels: [number, number][], side: 'bid' | 'ask'): Ladder {
  const direction = side === 'bid' ? -1 : 1
  const sorted = levels.toSorted(([a], [b]) => (a - b) * direction)
  if (sorted.some(([price], at) => price === sorted[at - 1]?.[0]))
    throw recordFault(`${side}: a price twice`)
  return { prices: sorted.map(([price]) => price), sizes: sorted.map(([, size]) => size) }
}

/** Normalizes a condition id; a text that is not an id becomes one that no market has. */
const toConditionId = (name: string): string => parseConditionId(name) ?? name.toLowerCase()

/** Finds a market by its slug or condition id, in any case. */
export const findNamed = (
  history: Pick<MarketHistory, 'findMarket' | 'findMarketBySlug'>,
  name: string,
): Market | undefined =>
  history.findMarketBySlug(name.toLowerCase()) ?? history.findMarket(toConditionId(name))

/** Throws for a slug of a market that is not kept. */
function skipUnkept(name: string): void {
  const reason = homeVenue.whyNotKept(name.toLowerCase())
  if (/^[a-z]/i.test(name) && reason !== undefined) throw skippedRecord(reason)
}

export type FindMarket = ReturnType<typeof createFindMarket>

/** Creates a lookup of markets by their names in tables; it throws a `record` fault. */
export function createFindMarket(history: MarketHistory) {
  const unknown = (name: string): Fault =>
    recordFault(
      `${name} is not known; import its market too, as GET /v1/{coin}/markets/{conditionId} answers`,
    )
  return {
    /** Finds by slug or condition id. */
    byName(name: string): Market {
      skipUnkept(name)
      const market = findNamed(history, name)
      if (market === undefined) throw unknown(name)
      return market
    },

    byOutcome(conditionId: string, outcome: Outcome): { market: Market; outcome: Outcome } {
      const market = history.findMarket(toConditionId(conditionId))
      if (market?.assetIds[outcome] === undefined)
        throw unknown(`the token ${outcome} of market ${conditionId}`)
      return { market, outcome }
    },

    /** Finds by token, or by market and outcome; if both are given, they must agree. */
    byNames({
      token,
      market: name,
      outcome: side,
    }: Record<'token' | 'market' | 'outcome', string>) {
      skipUnkept(name)
      const market =
        (name === '' ? undefined : findNamed(history, name)) ??
        (token === '' ? undefined : history.findMarketByAsset(token))
      if (market === undefined) throw unknown(name || `the token ${token}`)
      const ofToken = outcomes.find((each) => market.assetIds[each] === token)
      const outcome = side === '' ? ofToken : readOutcome(side, 'outcome')
      if (outcome === undefined) throw unknown(`the token ${token} of market ${name}`)
      const held = market.assetIds[outcome]
      if (token !== '' && held !== undefined && held !== token)
        throw recordFault(`token ${token} is not that of ${outcome} of ${market.conditionId}`)
      const assetIds = { ...market.assetIds, [outcome]: held ?? token }
      if (assetIds[outcome] === '') throw unknown(`the token ${outcome} of market ${name}`)
      return { market: { ...market, assetIds }, outcome }
    },

    /** Finds by the id of a token, or by a condition id or slug and, after a colon, the outcome. */
    bySymbol(symbol: string): { market: Market; outcome: Outcome } {
      const own = /^\d+$/.test(symbol) ? history.findMarketByAsset(symbol) : undefined
      const ofToken = outcomes.find((each) => own?.assetIds[each] === symbol)
      if (own && ofToken) return { market: own, outcome: ofToken }
      const [, name = symbol, side] = /^(.+)[:/](up|down)$/i.exec(symbol) ?? []
      const market = findNamed(history, name)
      if (market === undefined) throw unknown(symbol)
      if (side === undefined)
        throw recordFault(`${symbol}: of which outcome? Write ${symbol}:up or ${symbol}:down`)
      return { market, outcome: readOutcome(side, 'symbol') }
    },
  }
}

function toSnapshot(
  { market, outcome }: { market: Market; outcome: Outcome },
  timestampMs: number,
  received: string,
  levelsOf: (side: 'bid' | 'ask') => [number, number][],
): Snapshot {
  const { coin, conditionId, timeframe, assetIds } = market
  return {
    coin,
    conditionId,
    timeframe,
    outcome,
    timestampMs,
    bids: toLadder(levelsOf('bid'), 'bid'),
    asks: toLadder(levelsOf('ask'), 'ask'),
    assetId: assetIds[outcome] ?? '',
    receivedMs: received === '' ? undefined : toReceivedMs(received, 'received_at'),
  }
}

/** Columns of tables with one state per row, whose vendors number and name levels differently. */
const wideNames = {
  time: [
    'ts_ms',
    'timestamp_ms',
    'time_ms',
    'ts_ns',
    'timestamp',
    'ts',
    'time',
    'datetime',
    'collected_at',
    'recorded_at',
  ],
  token: ['clob_token_id', 'token_id', 'asset_id', 'assetId', 'token'],
  market: [
    'condition_id',
    'conditionId',
    'market_id',
    'window_slug',
    'market_slug',
    'slug',
    'market',
  ],
} as const
const wideLevels: readonly ((
  side: 'bid' | 'ask',
  value: 'price' | 'size',
  level: number,
) => string)[] = [
  (side, value, level) => `${side}_${value === 'price' ? 'p' : 's'}${level}`,
  (side, value, level) => `${side}_${value}_${level}`,
  (side, value, level) => `${side}_${level}_${value}`,
  (side, value, level) => `${side}_${value === 'price' ? 'px' : 'sz'}_${level}`,
  (side, value, level) => `${side}${level}_${value}`,
]

function findWideColumns(names: readonly string[]) {
  const known = new Set(names)
  const find = (any: readonly string[]) => any.find((name) => known.has(name))
  const time = find(wideNames.time)
  const token = find(wideNames.token)
  const market = known.has('outcome') ? find(wideNames.market) : undefined
  if (time === undefined || (token === undefined && market === undefined)) return undefined
  for (const level of wideLevels) {
    for (const firstLevel of [0, 1]) {
      const values = (['bid', 'ask'] as const).flatMap((side) => [
        level(side, 'price', firstLevel),
        level(side, 'size', firstLevel),
      ])
      if (values.every((name) => known.has(name))) return { time, token, market, level, firstLevel }
    }
  }
  return undefined
}

function readWide(
  row: Row,
  { time, token, market, level, firstLevel }: NonNullable<ReturnType<typeof findWideColumns>>,
  find: FindMarket,
): TableRecord {
  const found = find.byNames({
    token: token === undefined ? '' : row(token),
    market: market === undefined ? '' : row(market),
    outcome: row('outcome'),
  })
  const levelsOf = (side: 'bid' | 'ask'): [number, number][] => {
    const levels: [number, number][] = []
    for (let at = firstLevel; ; at++) {
      const price = row(level(side, 'price', at))
      const size = row(level(side, 'size', at))
      // If a side has fewer levels than columns, the remaining cells are empty or zero.
      if (isNothing(price) || isNothing(size)) return levels
      levels.push(readLevel(price, size))
    }
  }
  const timestampMs = toReceivedMs(row(time), time)
  return { source: undefined, snapshot: toSnapshot(found, timestampMs, '', levelsOf) }
}

const isNothing = (text: string): boolean => /^(?:|nan|null|none|0+(?:\.0*)?)$/i.test(text)

const first = (rows: readonly Row[]): Row => rows[0] ?? (() => '')

function readOwn(
  rows: readonly Row[],
  find: FindMarket,
  levelsOf: (side: 'bid' | 'ask') => [number, number][],
): TableRecord {
  const row = first(rows)
  const found = find.byOutcome(ownIdOf(row), readOutcome(row('outcome'), 'outcome'))
  const source = row('source')
  return {
    source: source === 'simulated' || source === 'recorded' ? source : undefined,
    snapshot: toSnapshot(
      found,
      readTimeMs(row('timestamp'), 'timestamp'),
      row('received_at'),
      levelsOf,
    ),
  }
}

const OWN_ID = columnName('conditionId')
/** The same column in exports of 0.4 and older. */
const OLD_ID = 'conditionId'
const ownIdOf = (row: Row): string => row(OWN_ID) || row(OLD_ID)
const ownKey = (row: Row): string => `${ownIdOf(row)}:${row('id')}`

/** Reads the levels of a side from the columns of a row, up to the first empty one. */
function acrossColumns(row: Row, nameOf: (level: number, value: 'price' | 'size') => string) {
  const levels: [number, number][] = []
  for (let level = 0; row(nameOf(level, 'price')) !== ''; level++)
    levels.push(readLevel(row(nameOf(level, 'price')), row(nameOf(level, 'size'))))
  return levels
}

/** Converts the vendor's microseconds since 1970. */
function microsToMs(text: string, column: string): number {
  if (/^\d{16}$/.test(text)) return Number(text.slice(0, 13))
  throw recordFault(`${column}: not Unix microseconds`)
}

const buySell = { bid: 'BUY', ask: 'SELL' } as const

function readIncrement(rows: readonly Row[], find: FindMarket): TableRecord {
  const row = first(rows)
  const { market, outcome } = find.bySymbol(row('symbol'))
  const assetId = market.assetIds[outcome]
  const timestamp = String(microsToMs(row('timestamp'), 'timestamp'))
  const levelsOf = (side: string) =>
    rows
      .filter((each) => each('side') === side)
      .map((each) => ({ price: each('price'), size: each('amount') }))
  const event = {
    market: market.conditionId,
    timestamp,
    _recv: microsToMs(row('local_timestamp'), 'local_timestamp'),
  }
  if (row('is_snapshot') === 'true') {
    const book = { asset_id: assetId, bids: levelsOf('bid'), asks: levelsOf('ask') }
    return { message: JSON.stringify({ event_type: 'book', ...event, ...book }) }
  }
  const changes = (['bid', 'ask'] as const).flatMap((side) =>
    levelsOf(side).map((level) => ({ asset_id: assetId, ...level, side: buySell[side] })),
  )
  const message = { event_type: 'price_change', ...event, price_changes: changes }
  return { message: JSON.stringify(message) }
}

/** Columns of an archive with one message of the venue, a single change, per row. */
const messageColumns = ['timestamp_received', 'timestamp', 'market', 'event_type', 'asset_id']
const ownMessageColumns = [...messageColumns.slice(1), 'bids', 'asks', 'price', 'size', 'side']
/** Columns of the older archive, whose `data` is a JSON object. */
const olderColumns = ['timestamp_received', 'market_id', 'update_type', 'data']

/** Converts the pairs of the archives to the venue's levels. */
const toLevels = (value: unknown): unknown =>
  Array.isArray(value) ? value.map(([price, size]: string[]) => ({ price, size })) : value

/** Reads a message of the older archive, which has the time of receipt in place of the venue's. */
function readOlderMessage(rows: readonly Row[]): TableRecord {
  const row = first(rows)
  const data = parseJson(row('data'))
  if (!isRecord(data)) throw recordFault('data: not a JSON object')
  const time = row('timestamp_received')
  const event = { market: row('market_id'), timestamp: time, _recv: Number(time) }
  const type = row('update_type')
  if (type === 'book_snapshot') {
    const [bids, asks] = [data.bids, data.asks].map(toLevels)
    const book = { event_type: 'book', asset_id: data.token_id, bids, asks }
    return { message: JSON.stringify({ ...event, ...book }) }
  }
  if (type !== 'price_change') throw recordFault('update_type: not book_snapshot or price_change')
  const change = {
    asset_id: data.token_id,
    price: data.change_price,
    size: data.change_size,
    side: data.change_side,
    best_bid: data.best_bid ?? '',
    best_ask: data.best_ask ?? '',
  }
  const changes = { event_type: 'price_change', price_changes: [change] }
  return { message: JSON.stringify({ ...event, ...changes }) }
}

function readMessage(rows: readonly Row[]): TableRecord {
  const row = first(rows)
  const text = (column: string) => row(column) || undefined
  const levels = (column: string): unknown => toLevels(JSON.parse(row(column) || '[]'))
  const received = text('timestamp_received')
  const event = {
    event_type: row('event_type'),
    market: row('market'),
    timestamp: row('timestamp'),
    _recv: received === undefined ? undefined : Number(received),
  }
  const token = { asset_id: row('asset_id') }
  const change = {
    ...token,
    price: text('price'),
    size: text('size'),
    side: text('side'),
    best_bid: text('best_bid'),
    best_ask: text('best_ask'),
  }
  const own = {
    book: () => ({ ...token, bids: levels('bids'), asks: levels('asks') }),
    price_change: () => ({ price_changes: [change] }),
    last_trade_price: () => ({ ...change, transaction_hash: text('transaction_hash') }),
    tick_size_change: () => ({ ...token, new_tick_size: text('new_tick_size') }),
  }[event.event_type]
  return { message: JSON.stringify({ ...event, ...own?.() }) }
}

/** Forms of exports of this service; `idColumn` names the market. */
const ownForms = (idColumn: string): TableForm[] => [
  {
    name: 'an export of ours, one row per level',
    columns: ['timestamp', 'id', idColumn, 'outcome', 'side', 'level', 'price', 'size'],
    keyOf: ownKey,
    read: (rows, find) =>
      readOwn(rows, find, (side) =>
        rows
          .filter((row) => row('side') === side)
          .map((row) => readLevel(row('price'), row('size'))),
      ),
  },
  {
    name: 'an export of ours, one row per state',
    columns: ['timestamp', 'id', idColumn, 'outcome', 'bid_price_1', 'ask_price_1'],
    keyOf: ownKey,
    read: (rows, find) =>
      readOwn(rows, find, (side) =>
        acrossColumns(first(rows), (level, value) => `${side}_${value}_${level + 1}`),
      ),
  },
]

const tableForms: readonly TableForm[] = [
  ...ownForms(OWN_ID),
  {
    name: 'book snapshots of the Tardis kind',
    columns: ['symbol', 'timestamp', 'local_timestamp', 'asks[0].price', 'bids[0].price'],
    keyOf: (row) => `${row('symbol')}:${row('timestamp')}:${row('local_timestamp')}`,
    read(rows, find) {
      const row = first(rows)
      const found = find.bySymbol(row('symbol'))
      const timestampMs = microsToMs(row('timestamp'), 'timestamp')
      const received = String(microsToMs(row('local_timestamp'), 'local_timestamp'))
      const snapshot = toSnapshot(found, timestampMs, received, (side) =>
        acrossColumns(
          row,
          (level, value) => `${side}s[${level}].${value === 'size' ? 'amount' : value}`,
        ),
      )
      return { snapshot, source: undefined }
    },
  },
  {
    name: 'incremental books of the Tardis kind',
    columns: ['symbol', 'timestamp', 'local_timestamp', 'is_snapshot', 'side', 'price', 'amount'],
    keyOf: (row) => ['symbol', 'timestamp', 'local_timestamp', 'is_snapshot'].map(row).join(':'),
    read: readIncrement,
  },
  {
    name: 'messages of the PMXT kind',
    columns: messageColumns,
    keyOf: () => '',
    marketOf: (row) => toConditionId(row('market')),
    read: readMessage,
  },
  {
    name: 'messages of the PMXT kind without times of receipt, as we export them',
    columns: ownMessageColumns,
    keyOf: () => '',
    marketOf: (row) => toConditionId(row('market')),
    read: readMessage,
  },
  {
    name: 'messages of the PMXT kind until April 2026',
    columns: olderColumns,
    keyOf: () => '',
    marketOf: (row) => toConditionId(row('market_id')),
    read: readOlderMessage,
  },
]

const WIDE_NAME = 'books with one state per row and their levels in columns'

/** Creates a form for each table, because the names of its columns differ. */
function findWideForm(names: readonly string[]): TableForm | undefined {
  const columns = findWideColumns(names)
  if (columns === undefined) return undefined
  return {
    name: WIDE_NAME,
    columns: names,
    keyOf: () => '',
    read: (rows, find) => readWide(first(rows), columns, find),
  }
}

const toObject = (row: Row, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, row(name)]).filter(([, cell]) => cell !== ''))

/** Finds the form of rows that hold a message, or a book with its levels as JSON. */
function findKeptForm(names: readonly string[]): TableForm | undefined {
  if (!holdsKeptColumns(names)) return undefined
  return {
    name: KEPT_NAME,
    columns: names,
    keyOf: () => '',
    read: (rows) => ({ message: JSON.stringify(toObject(first(rows), names)) }),
  }
}

const KEPT_NAME = 'messages or books with a row each'

/** Finds the form of rows of objects usually read as JSON, such as trades of the Data API. */
function findRecordForm(names: readonly string[]): TableForm | undefined {
  if (!fitsRecordKind(names)) return undefined
  return {
    name: RECORD_NAME,
    columns: names,
    keyOf: () => '',
    read(rows, _find, reading) {
      const cells = Object.entries(toObject(first(rows), names))
      const value = Object.fromEntries(cells.map(([name, cell]) => [name, toBoolean(cell)]))
      return { records: readMarketRecords(value, reading) ?? [] }
    },
  }
}

const RECORD_NAME = 'trades of the Data API or markets, a row each'
const toBoolean = (cell: string): string | boolean =>
  /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell

const sizeNames = ['size', 'quantity', 'amount', 'qty']
const bookSides: Readonly<Record<string, 'bids' | 'asks'>> = {
  bid: 'bids',
  bids: 'bids',
  buy: 'bids',
  ask: 'asks',
  asks: 'asks',
  sell: 'asks',
}

/**
 * Finds the form of books with one level per row: consecutive rows with the same token, time and
 * hash are one book.
 */
function findLevelForm(names: readonly string[]): TableForm | undefined {
  const sizeName = sizeNames.find((name) => names.includes(name))
  const book = findBookNames(names)
  if (sizeName === undefined || book === undefined) return undefined
  if (!names.includes('side') || !names.includes('price')) return undefined
  const own = names.filter((name) => name !== 'side' && name !== 'price' && name !== sizeName)
  return {
    name: LEVEL_NAME,
    columns: names,
    keyOf: (row) => book.map(row).join(':'),
    read(rows) {
      const sides: Record<'bids' | 'asks', object[]> = { bids: [], asks: [] }
      for (const row of rows) {
        const side = bookSides[row('side').toLowerCase()]
        if (side === undefined) throw recordFault('side: neither bid nor ask')
        sides[side].push({ price: row('price'), size: row(sizeName) })
      }
      return { message: JSON.stringify({ ...toObject(first(rows), own), ...sides }) }
    },
  }
}

const LEVEL_NAME = 'books with one row per level'

/** Finds the forms of a table with the books of both outcomes in each row, one form per outcome. */
function findPairForms(names: readonly string[]): TableForm[] {
  const forms = outcomes.map((outcome) => findOutcomeForm(names, outcome))
  return forms.every((form) => form !== undefined) ? forms : []
}

/** Finds the form that the columns of an outcome have without their prefix. */
function findOutcomeForm(names: readonly string[], outcome: Outcome): TableForm | undefined {
  const prefixed = (name: string) =>
    outcomePrefixes[outcome].map((prefix) => prefix + name).find((each) => names.includes(each))
  const others = Object.values(outcomePrefixes).flat()
  const own = new Set<string>()
  for (const name of names) {
    const prefix = others.find((each) => name.startsWith(each))
    if (prefix === undefined) own.add(name)
    else if (outcomePrefixes[outcome].includes(prefix)) own.add(name.slice(prefix.length))
  }
  // The token follows from the market if the row does not have it.
  const market = wideNames.market.find((name) => own.has(name))
  const hasToken = wideNames.token.some((name) => own.has(name))
  if (!hasToken && market === undefined) return undefined
  const [token = ''] = hasToken ? [] : wideNames.token
  const columns = [...own, 'outcome', ...(hasToken ? [] : [token])]
  const form = findWideForm(columns) ?? findKeptForm(columns)
  if (form === undefined) return undefined
  const view =
    (row: Row, find: FindMarket): Row =>
    (name) => {
      if (name === 'outcome') return outcome
      if (name !== token || market === undefined) return row(prefixed(name) ?? name)
      return find.byName(row(market)).assetIds[outcome] ?? ''
    }
  const levels = names.filter((name) =>
    outcomePrefixes[outcome].some((prefix) => /^(?:bid|ask)/.test(name.split(prefix, 2)[1] ?? '')),
  )
  return {
    ...form,
    read(rows, find, reading) {
      const row = first(rows)
      if (levels.every((name) => isNothing(row(name))))
        throw skippedRecord(`rows without a book of ${outcome}`)
      return form.read([view(row, find)], find, reading)
    },
  }
}

/** The forms, each with its required columns, as text. */
export const formTexts: readonly string[] = [
  ...tableForms.map(({ name, columns }) => `${name} (${columns.join(', ')})`),
  `${WIDE_NAME} (ts_ms or timestamp; clob_token_id, or outcome and window_slug or condition_id; bid_p1, bid_s1, ask_p1, ask_s1)`,
  `the same with up_ and down_ before the columns of each outcome (up_bid_p1, down_bid_p1, …)`,
  `${LEVEL_NAME} (token_id, timestamp, side, price, size)`,
  `${KEPT_NAME} (raw, or token_id, timestamp, bids, asks)`,
  `${RECORD_NAME} (asset, conditionId, slug, outcome, side, price, size, timestamp)`,
]

/** Finds the form of a table; a table with both outcomes a row has one for each. */
export function findForms(names: readonly string[]): readonly TableForm[] {
  const form = findForm(names)
  return form === undefined ? findPairForms(names) : [form]
}

const findForm = (names: readonly string[]): TableForm | undefined =>
  [...tableForms, ...ownForms(OLD_ID)].find(({ columns }) =>
    columns.every((column) => names.includes(column)),
  ) ??
  findWideForm(names) ??
  findKeptForm(names) ??
  findRecordForm(names) ??
  findLevelForm(names)
