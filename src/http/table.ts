/**
 * Lists as tables: the rows of a page as CSV or Parquet, made from its JSON, so that they say the
 * same. A member is a column in snake case (`condition_id`); those of an object within are named
 * `object_member`, and those of a list with an entry for each outcome `up_member`, `down_member`.
 */
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Steps } from '#src/platform/scheduler.ts'
import {
  type Column,
  type Kind,
  mediaTypes,
  numberForms,
  type Numbers,
} from '#src/tables/column.ts'
import { createJsonCsv } from '#src/tables/csv.ts'
import { createJsonParquet } from '#src/tables/json-parquet.ts'
import {
  type JsonEncoder,
  type JsonRow,
  memberColumn,
  parseRow,
  splitList,
} from '#src/tables/json-rows.ts'

import type { DataAnswer, PageAnswer } from './answer.ts'
import { NEXT_HEADER } from './data-response.ts'
import { choice } from './fields.ts'
import { preferredType } from './negotiation.ts'
import type { ResponseText } from './response-text.ts'
import { visitOf } from './visit.ts'

const listTypes = { json: 'application/json', ...mediaTypes } as const

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
      numberForms,
      'Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE.',
    ),
  ),
}
type TableQuery = {
  format?: keyof typeof listTypes
  numbers?: Numbers
  fields?: string
  interval?: string
}
type Answer = DataAnswer | PageAnswer
type Result = Answer | Steps<Answer>

/** Names of the members that the rows of a request have, where they have not all. */
type MembersOf = (query: TableQuery, caller?: Caller) => readonly string[]

/** The parameters of a list that can be had as CSV and Parquet, too. */
export const tableQuery = <Q extends TProperties>(query: TObject<Q>) =>
  Type.Object({ ...query.properties, ...parameters })

const text = { schema: { type: 'string' as const } }
const binary = { schema: { type: 'string' as const, format: 'binary' as const } }
const nextText = 'Of CSV and Parquet: what `nextCursor` is in JSON; absent where that is null.'

/** What the document says of an answer that can be had as a table. */
export const toTableText = (answer: ResponseText): ResponseText => ({
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
    { request, query, caller }: { request: Request; query: TableQuery; caller?: Caller },
    made: T | Steps<T>,
  ): T | Steps<T> | Steps<DataAnswer> => {
    const format = query.format ?? preferredType(request, listTypes, 'json')
    if (format === 'json') return varied(made)
    visitOf(request).isLong = true
    const columns = columnsOf(rows, query.interval !== undefined, membersOf?.(query, caller))
    return toTable(made, format, query.numbers ?? 'decimal', columns)
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

/** Rows of a group: a column of them is encoded in one step. */
const GROUP_ROWS = 1_000
/** Values that are read in one step: half a millisecond of work. */
const STEP_VALUES = 500

function toTable(
  result: Result,
  format: keyof typeof mediaTypes,
  numbers: Numbers,
  columns: readonly Column<JsonRow>[],
): Steps<DataAnswer> {
  const encoder =
    format === 'csv' ? createJsonCsv(columns) : createJsonParquet(columns, numbers, GROUP_ROWS)
  return tableSteps(result, format, columns, encoder)
}

function* tableSteps(
  result: Result,
  format: keyof typeof mediaTypes,
  columns: readonly Column<JsonRow>[],
  encoder: JsonEncoder,
): Steps<DataAnswer> {
  const answer = isSteps(result) ? yield* result : result
  const made = 'make' in answer ? yield* answer.make() : answer
  const json = typeof made.body === 'string' ? made.body : new TextDecoder().decode(made.body)
  const list = splitList(json)
  const stepRows = Math.ceil(STEP_VALUES / columns.length)
  let group: JsonRow[] = []
  let next = list.next()
  while (next.done !== true) {
    group.push(parseRow(next.value))
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
    body: encoder.end(),
    coverage: answer.coverage,
    resumeCursor: made.resumeCursor,
    nextCursor: nextCursor ?? undefined,
    isClosed: answer.isClosed,
    isOfPage: 'make' in answer,
    vary: VARY,
    mediaType: mediaTypes[format],
  }
}

/** Of the rows without `interval`, or of those with it where they are others. */
function columnsOf(
  rows: TSchema,
  isStepped: boolean,
  names?: readonly string[],
): Column<JsonRow>[] {
  const variants = variantsOf(rows)
  const { properties } = (isStepped ? variants.at(-1) : variants[0]) as TObject
  return Object.entries(properties)
    .filter(([name]) => names?.includes(name) ?? true)
    .flatMap(([name, member]) => columnsAt([name], member))
}

const variantsOf = (schema: TSchema): TSchema[] =>
  ((schema.anyOf as TSchema[] | undefined) ?? [schema]).filter(({ type }) => type !== 'null')

function columnsAt(path: readonly string[], schema: TSchema): Column<JsonRow>[] {
  const [only = schema, ...others] = variantsOf(schema)
  if (others.length === 0 && only.type === 'object') return columnsIn(path, only as TObject)
  const items: TSchema | undefined = only.items
  if (items?.properties?.outcome !== undefined) {
    const { outcome: _, ...rest } = (items as TObject).properties
    return outcomes.flatMap((outcome) => columnsIn([...path, outcome], Type.Object(rest)))
  }
  return [memberColumn(path, kindOf(only))]
}

const columnsIn = (path: readonly string[], { properties }: TObject): Column<JsonRow>[] =>
  Object.entries(properties).flatMap(([name, member]) => columnsAt([...path, name], member))

/** A number has any digits; an array is its JSON. */
function kindOf({ type, format }: TSchema): Kind {
  if (type === 'boolean') return type
  if (type === 'integer') return 'int64'
  if (type === 'number') return 'digits'
  return format === 'date-time' ? 'time' : 'text'
}
