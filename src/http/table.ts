/**
 * Lists as tables: the rows of a page as CSV or Parquet, made from its JSON, so that they say the
 * same. A member is a column in snake case (`condition_id`); those of an object within are named
 * `object_member`, and those of a list with an entry for each outcome `up_member`, `down_member`.
 */
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'

import { columnName } from '#src/domain/column-name.ts'
import { outcomes } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { AnswerText } from './api.ts'
import { type DataAnswer, NEXT_HEADER, type PageAnswer, PARQUET } from './data-response.ts'
import { choice } from './fields.ts'
import { preferredType } from './negotiation.ts'

/** `number` is a decimal of any digits; `list` is JSON in a text. */
type Kind = 'text' | 'time' | 'integer' | 'number' | 'boolean' | 'list'
export type Column = { name: string; kind: Kind; path: readonly string[] }
/** Values by column. A number is its digits, as they were printed; a time is RFC 3339. */
export type Row = readonly (string | boolean | null)[]
export type Numbers = 'decimal' | 'double'

const mediaTypes = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: PARQUET,
} as const
type Format = keyof typeof mediaTypes

const VARY = 'Accept, Accept-Encoding, Origin'

const parameters = {
  format: Type.Optional(
    choice(
      ['json', 'csv', 'parquet'],
      'Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`.',
    ),
  ),
  numbers: Type.Optional(
    choice(
      ['decimal', 'double'],
      'Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE.',
    ),
  ),
}
type TableQuery = { format?: Format; numbers?: Numbers; fields?: string; interval?: string }
type Call = { request: Request; query: TableQuery; caller?: Caller }
type Answer = DataAnswer | PageAnswer
type Result = Answer | Steps<Answer>

/** Names of the members that the rows of a request have, where they have not all. */
export type MembersOf = (query: TableQuery, caller?: Caller) => readonly string[]

/** The parameters of a list that can be had as CSV and Parquet, too. */
export const tableQuery = <Q extends TProperties>(query: TObject<Q>) =>
  Type.Object({ ...query.properties, ...parameters })

const text = { schema: { type: 'string' as const } }
const binary = { schema: { type: 'string' as const, format: 'binary' as const } }
const nextText = 'Of CSV and Parquet: what `nextCursor` is in JSON; absent where that is null.'

/** What the document says of an answer that can be had as a table. */
export const toTableText = (answer: AnswerText): AnswerText => ({
  ...answer,
  content: { 'text/csv': text, [mediaTypes.parquet]: binary },
  headers: { ...answer.headers, Vary: `\`${VARY}\`.` },
  bodyHeaders: { ...answer.bodyHeaders, [NEXT_HEADER]: nextText },
})

/** Makes what prints a list in the format that a request asks for; `list` is the schema of its JSON. */
export function createTable(list: TObject, membersOf?: MembersOf) {
  const rows = list.properties.data?.items as TSchema | undefined
  if (rows === undefined) throw new Error('A table is made of a list.')
  return <T extends Answer>(
    { request, query, caller }: Call,
    made: T | Steps<T>,
  ): T | Steps<T> | Steps<DataAnswer> | Promise<Steps<DataAnswer>> => {
    const format = query.format ?? preferredType(request, mediaTypes, 'json')
    if (format === 'json') return varied(made)
    const columns = columnsOf(rows, query.interval !== undefined, membersOf?.(query, caller))
    return toTable(made, { format, numbers: query.numbers, columns })
  }
}

const isSteps = <T extends Answer>(result: T | Steps<T>): result is Steps<T> => 'next' in result

/** What is JSON varies as well. */
function varied<T extends Answer>(result: T | Steps<T>): T | Steps<T> {
  if (!isSteps(result)) return Object.assign(result, { vary: VARY })
  return (function* () {
    return { ...(yield* result), vary: VARY }
  })()
}

/** Makes a file of rows that come in groups. */
type Encoder = { add(rows: readonly Row[]): Steps<void>; end(): Uint8Array<ArrayBuffer> }
export type CreateEncoder = (columns: readonly Column[], numbers?: Numbers) => Encoder
type Table = { format: 'csv' | 'parquet'; numbers: Numbers | undefined; columns: Column[] }

function toTable(result: Result, table: Table): Steps<DataAnswer> | Promise<Steps<DataAnswer>> {
  if (table.format === 'csv') return tableSteps(result, table, createCsv)
  // Loaded when first asked for, which most processes never are.
  const loaded = import('./table-parquet.ts')
  return loaded.then(({ createParquet }) => tableSteps(result, table, createParquet))
}

/** Rows of a group: a column of them is encoded in one step. */
const GROUP_ROWS = 1_000
/** Values that are read in one step: half a millisecond of work. */
const STEP_VALUES = 500

function* tableSteps(
  result: Result,
  { format, numbers, columns }: Table,
  create: CreateEncoder,
): Steps<DataAnswer> {
  const answer = isSteps(result) ? yield* result : result
  const { coverage, isClosed } = answer
  const made = 'make' in answer ? yield* answer.make() : answer
  const { body, resumeCursor } = made
  const json = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const encoder = create(columns, numbers)
  const list = splitList(json)
  const stepRows = Math.ceil(STEP_VALUES / columns.length)
  let group: Row[] = []
  let next = list.next()
  while (next.done !== true) {
    group.push(toRow(next.value, columns))
    if (group.length === GROUP_ROWS) {
      yield* encoder.add(group)
      group = []
    }
    if (group.length % stepRows === 0) yield
    next = list.next()
  }
  if (group.length > 0) yield* encoder.add(group)
  yield
  const { nextCursor } = JSON.parse(next.value) as { nextCursor: string | null }
  return {
    ...{ body: encoder.end(), coverage, resumeCursor, nextCursor: nextCursor ?? undefined },
    ...{ isClosed, isOfPage: 'make' in answer, vary: VARY, mediaType: mediaTypes[format] },
  }
}

const HEAD = '{"data":['
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d]

/** Yields the text of each object of `data`, and returns the rest of the list without them. */
export function* splitList(json: string): Generator<string, string> {
  let at = HEAD.length
  while (json.charCodeAt(at) === OPEN) {
    const end = endOf(json, at)
    yield json.slice(at, end)
    at = json[end] === ',' ? end + 1 : end
  }
  return HEAD + json.slice(at)
}

/** Where the object that begins at `start` has ended. */
function endOf(json: string, start: number): number {
  let depth = 0
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === OPEN) depth++
    else if (code === CLOSE && --depth === 0) return at + 1
    else if (code === QUOTE) {
      for (at++; json.charCodeAt(at) !== QUOTE; at++) if (json.charCodeAt(at) === BACKSLASH) at++
    }
  }
  return json.length
}

// What a reviver is called with beside a value is not in the type library yet.
type Revive = (key: string, value: unknown, context: { source?: string }) => unknown
const exactly: Revive = (_, value, { source }) => (typeof value === 'number' ? source : value)

/** Numbers as they are printed: as floats some would lose digits. */
function toRow(text: string, columns: readonly Column[]): Row {
  const row = JSON.parse(text, exactly as (key: string, value: unknown) => unknown) as object
  return columns.map(({ kind, path }) => {
    let value: unknown = row
    for (const name of path) value = memberOf(value, name)
    if (value === undefined || value === null) return null
    return kind === 'list' ? JSON.stringify(value) : (value as string | boolean)
  })
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.find(({ outcome }) => outcome === name)
  return value === null || value === undefined ? value : (value as Record<string, unknown>)[name]
}

/** Of the rows without `interval`, or of those with it where they are others. */
function columnsOf(rows: TSchema, isStepped: boolean, names?: readonly string[]): Column[] {
  const variants = variantsOf(rows)
  const { properties } = (isStepped ? variants.at(-1) : variants[0]) as TObject
  return Object.entries(properties)
    .filter(([name]) => names?.includes(name) ?? true)
    .flatMap(([name, member]) => columnsAt([name], member))
}

const variantsOf = (schema: TSchema): TSchema[] =>
  ((schema.anyOf as TSchema[] | undefined) ?? [schema]).filter(({ type }) => type !== 'null')

function columnsAt(path: readonly string[], schema: TSchema): Column[] {
  const [only = schema, ...others] = variantsOf(schema)
  if (others.length === 0 && only.type === 'object') return columnsIn(path, only as TObject)
  const items: TSchema | undefined = only.items
  if (items?.properties?.outcome !== undefined) {
    const { outcome: _, ...rest } = (items as TObject).properties
    return outcomes.flatMap((outcome) => columnsIn([...path, outcome], Type.Object(rest)))
  }
  const shown = path.filter((name) => name !== 'outcomes')
  return [{ name: columnName(...shown), kind: kindOf(only), path }]
}

const columnsIn = (path: readonly string[], { properties }: TObject): Column[] =>
  Object.entries(properties).flatMap(([name, member]) => columnsAt([...path, name], member))

function kindOf({ type, format }: TSchema): Kind {
  if (type === 'array') return 'list'
  if (type === 'integer' || type === 'number' || type === 'boolean') return type
  return format === 'date-time' ? 'time' : 'text'
}

const CSV_STEP_ROWS = 100

/** RFC 4180, with LF as in exports. */
const createCsv: CreateEncoder = (columns) => {
  const lines = [columns.map(({ name }) => name).join(',')]
  const toCell = (value: Row[number]): string => {
    const text = value === null ? '' : String(value)
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return {
    *add(rows) {
      for (const [at, row] of rows.entries()) {
        lines.push(row.map(toCell).join(','))
        if (at % CSV_STEP_ROWS === CSV_STEP_ROWS - 1) yield
      }
    },
    end: () => new TextEncoder().encode(`${lines.join('\n')}\n`),
  }
}
