/**
 * Lists as tables: the rows of a page as CSV or Parquet, made from its JSON, so that they say the
 * same. A member is a column in snake case (`condition_id`); those of an object within are named
 * `object_member`, and those of a list with an entry for each outcome `up_member`, `down_member`.
 */
import { isDeepStrictEqual } from 'node:util'

import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import {
  type Column,
  type Kind,
  mediaTypes,
  numberForms,
  type Numbers,
} from '#src/tables/column.ts'
import { createJsonCsv } from '#src/tables/csv.ts'
import { createJsonParquet } from '#src/tables/json-parquet.ts'
import { type JsonRow, memberColumn, parseRow, splitList } from '#src/tables/json-rows.ts'

import type { DataAnswer } from './answer.ts'
import { NEXT_HEADER } from './data-response.ts'
import { choice } from './fields.ts'
import { preferredType } from './negotiation.ts'
import type { OpenApiParameter, ResponseText } from './response-text.ts'
import { type DataTask, dataTask, type Lane, type TaskPorts } from './tasks.ts'

const listTypes = { json: 'application/json', ...mediaTypes } as const

export const TABLE_VARY = 'Accept, Accept-Encoding, Origin'

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
/** Parameters of `tableQuery`; a list that is JSON only has none. */
export type TableQuery = {
  format?: keyof typeof listTypes
  numbers?: Numbers
  interval?: string
}

/** The parameters of a list that can be had as CSV and Parquet, too. */
export const tableQuery = <Q extends TProperties>(query: TObject<Q>) =>
  Type.Object({ ...query.properties, ...parameters })

/** True of the parameter `format` of `tableQuery` in the API document. */
export const isTableFormat = ({ name, schema }: OpenApiParameter): boolean =>
  name === 'format' && isDeepStrictEqual(schema.enum, Object.keys(listTypes))

const text = { schema: { type: 'string' as const } }
const binary = { schema: { type: 'string' as const, format: 'binary' as const } }
const nextText = 'Of CSV and Parquet: what `nextCursor` is in JSON; absent where that is null.'

/** The document's text of a response that is available as a table. */
export const toTableText = (answer: ResponseText): ResponseText => ({
  ...answer,
  content: { 'text/csv': text, [mediaTypes.parquet]: binary },
  headers: { ...answer.headers, Vary: `\`${TABLE_VARY}\`.` },
  bodyHeaders: { ...answer.bodyHeaders, [NEXT_HEADER]: nextText },
})

/** The form of a list: its format, and the columns of a table. */
export type TableForm = {
  format: keyof typeof listTypes
  numbers: Numbers
  /** True of rows with `interval`. */
  isStepped: boolean
  /** Members that the rows have; undefined for all. */
  members: readonly string[] | undefined
}

/** The form of a list that is JSON only, whatever the request accepts. */
export const jsonOnly: TableForm = {
  format: 'json',
  numbers: 'decimal',
  isStepped: false,
  members: undefined,
}

/** The form that a request asks for. */
export function tableOf(
  request: Request,
  { format: asked, numbers = 'decimal', interval }: TableQuery,
  members?: readonly string[],
): TableForm {
  const format = asked ?? preferredType(request, listTypes, 'json')
  return { format, numbers, isStepped: interval !== undefined, members }
}

/**
 * The lane of a list: a table, rows with `interval`, and more rows than the default of the schema
 * are long work.
 */
export const listLane = (
  { properties }: TObject,
  { limit, interval }: { limit: number; interval?: string | undefined },
  { format }: TableForm,
): Lane =>
  format !== 'json' || interval !== undefined || limit > properties.limit?.default
    ? 'long'
    : 'short'

/**
 * Makes a task that prints a list in the form that a request asks for; `list` is the schema of its
 * JSON.
 */
export function tableTask<Given extends { table: TableForm }>(
  name: string,
  list: TObject,
  make: (ports: TaskPorts, given: Given) => DataAnswer | Promise<DataAnswer>,
): DataTask<Given> {
  const rows = list.properties.data?.items as TSchema | undefined
  if (rows === undefined) throw new Error('A table is made of a list.')
  return dataTask(name, async (ports, given) => {
    const answer = await make(ports, given)
    const { format, numbers, isStepped, members } = given.table
    if (format === 'json') return { ...answer, vary: TABLE_VARY }
    return toTable(answer, format, numbers, columnsOf(rows, isStepped, members))
  })
}

/** Rows of a group. */
const GROUP_ROWS = 1_000

function toTable(
  { body, version: _, ...answer }: DataAnswer,
  format: keyof typeof mediaTypes,
  numbers: Numbers,
  columns: readonly Column<JsonRow>[],
): DataAnswer {
  const encoder =
    format === 'csv' ? createJsonCsv(columns) : createJsonParquet(columns, numbers, GROUP_ROWS)
  const list = splitList(typeof body === 'string' ? body : new TextDecoder().decode(body))
  let group: JsonRow[] = []
  let next = list.next()
  for (; next.done !== true; next = list.next()) {
    if (group.push(parseRow(next.value)) < GROUP_ROWS) continue
    encoder.add(group)
    group = []
  }
  if (group.length > 0) encoder.add(group)
  const { nextCursor } = JSON.parse(next.value) as { nextCursor: string | null }
  return {
    ...answer,
    body: encoder.end(),
    nextCursor: nextCursor ?? undefined,
    vary: TABLE_VARY,
    mediaType: mediaTypes[format],
  }
}

/** The columns of rows without `interval`, or of rows with it if they differ. */
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
