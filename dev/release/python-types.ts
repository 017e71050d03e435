/** Generates parameters, rows and decimal members of the Python client from the API document. */

type Schema = {
  $ref?: string
  type?: string
  format?: string
  /** Ends with null if the value can be null. */
  enum?: (string | number | null)[]
  nullable?: boolean
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  description?: string
}
type Parameter = { in: string; name: string; schema: Schema; description?: string }
export type Operation = {
  operationId: string
  summary: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses?: Record<string, { content?: { 'application/json'?: { schema: Schema } } }>
}
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  security?: object[]
  components: { schemas: Record<string, Schema> }
}

const header = `"""Generated from the API document by dev/release/python-types.ts: do not edit.

Parameters are named as arguments: \`max_age_ms\` for \`maxAgeMs\`, \`from_\` for \`from\`. Rows have all members
that JSON can have (docs/data.md): some come only on request, and \`fields\` or \`interval\` leave some out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Optional, TypedDict, Union

Time = Union[int, str, date, datetime]
"""Unix milliseconds, RFC 3339, a date, also as text (00:00 UTC), or a datetime (UTC if it has no zone)."""
Names = Union[str, Sequence[str]]
"""One name, several with commas between them, or a list."""
Decimals = Union[str, int, float, Decimal]
"""A decimal number. A string or a \`Decimal\` is sent digit for digit."""
Amount = Union[float, Decimal]
"""A float, or a \`Decimal\` from a client with \`exact=True\`."""
`

/** Text of `bookfeed/api.py`, sorted by name, so that the order of routes does not matter. */
export function pythonTypesOf({ paths, components }: ApiDocument): string {
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([, methods]) => Object.values(methods))
    .toSorted((a, b) => compare(a.operationId, b.operationId))
  const filters = operations.flatMap(filtersOf)
  const rows = Object.entries(components.schemas)
    .toSorted(([a], [b]) => compare(a, b))
    .flatMap(([name, schema]) => rowOf(name, schema))
  const lists = Object.entries(paths)
    .toSorted(([a], [b]) => compare(a, b))
    .flatMap(([path, { get }]) => listOf(path, get, components.schemas))
  const amounts = amountsOf(components.schemas)
  return [header, ...filters, ...rows, amounts, columnsText(lists)].join('\n')
}

const compare = (a: string, b: string): number => (a < b ? -1 : 1)

const textOf = (value: string | number): string => JSON.stringify(String(value))
const literal = (values: NonNullable<Schema['enum']>): string =>
  `Literal[${values
    .filter((value) => value !== null)
    .map(textOf)
    .join(', ')}]`

/** Argument of a parameter: `max_age_ms` for `maxAgeMs`; a Python keyword gets an underscore. */
function argumentOf(name: string): string {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return snake === 'from' ? 'from_' : snake
}

/**
 * True for parameters that a method has as its own arguments: the moment, and the encoding of the
 * response.
 */
function isOwn({ name }: Parameter, all: readonly Parameter[]): boolean {
  const format = all.find((each) => each.name === 'format')
  const isTable = format?.schema.enum?.includes('json') === true
  return name === 'ts' || name === 'format' || (name === 'numbers' && isTable)
}

function filtersOf({ operationId, parameters = [], requestBody }: Operation): string[] {
  const inQuery = parameters.filter((each) => each.in === 'query')
  const filters = inQuery.filter((each) => !isOwn(each, inQuery))
  const body = requestBody?.content['application/json'].schema.properties ?? {}
  const members = Object.entries(body)
    .filter(([, schema]) => schema.type !== 'array')
    .map(([name, schema]): Parameter => ({ in: 'body', name, schema }))
  const all = [...filters, ...members]
  if (all.length === 0) return []
  const name = operationId.charAt(0).toUpperCase() + operationId.slice(1)
  const lines = all.map((each) => `    ${argumentOf(each.name)}: ${filterType(each)}\n`)
  return [`\nclass ${name}(TypedDict, total=False):\n${lines.join('')}`]
}

function filterType({ name, schema, description = schema.description ?? '' }: Parameter): string {
  if (name === 'cursor') return 'str | None'
  if (schema.enum !== undefined)
    return schema.enum.every((each) => /^\d+$/.test(String(each))) ? 'int' : literal(schema.enum)
  if (schema.anyOf?.some(({ format }) => format === 'date-time')) return 'Time'
  if (schema.format === 'decimal') return 'Decimals'
  if (schema.type === 'integer') return 'int'
  if (schema.type === 'number') return 'float'
  if (schema.type === 'boolean') return 'bool'
  return schema.type === 'string' && /by commas/.test(description) ? 'Names' : 'str'
}

function rowOf(name: string, { properties }: Schema): string[] {
  if (properties === undefined) return []
  const members = Object.entries(properties).map(
    ([member, schema]) => `        ${textOf(member)}: ${rowType(schema)},\n`,
  )
  return [`${name} = TypedDict(\n    ${textOf(name)},\n    {\n${members.join('')}    },\n)`]
}

function rowType(schema: Schema): string {
  const shown = typeUnlessNull(schema)
  return schema.nullable ? `Optional[${shown}]` : shown
}

function typeUnlessNull({ $ref, type, enum: values, anyOf, items }: Schema): string {
  if ($ref !== undefined) return textOf($ref.slice($ref.lastIndexOf('/') + 1))
  if (anyOf !== undefined) return 'Any'
  if (values !== undefined && type === 'string') return literal(values)
  if (type === 'array') return `list[${items === undefined ? 'Any' : rowType(items)}]`
  const known: Record<string, string> = {
    string: 'str',
    boolean: 'bool',
    integer: 'int',
    number: 'Amount',
    object: 'dict[str, Any]',
  }
  return known[type ?? ''] ?? 'Any'
}

/**
 * Kind of a column: a name; for a list, the kind of its items; for an object in a list, the kinds
 * of its members.
 */
type Kind = string | [Kind] | { [member: string]: Kind }
/** A list, and the members of each of its kinds of rows with their columns. */
type List = { path: string; kinds: Member[][] }
type Member = {
  name: string
  columns: [name: string, kind: Kind][]
  /** Parameter that adds the member to rows; `server` if the operator decides. */
  needs?: 'fields' | 'interval' | 'view' | 'server' | undefined
}
type Schemas = ApiDocument['components']['schemas']

function listOf(path: string, get: Operation | undefined, schemas: Schemas): List[] {
  const { data } = get?.responses?.['200']?.content?.['application/json']?.schema.properties ?? {}
  if (data?.items === undefined) return []
  const rows = data.items.anyOf ?? [data.items]
  return [{ path, kinds: rows.map((row) => membersOf(row, schemas)) }]
}

const resolved = ({ $ref, ...schema }: Schema, schemas: Schemas): Schema =>
  $ref === undefined ? schema : (schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {})

const membersOf = (row: Schema, schemas: Schemas): Member[] =>
  Object.entries(resolved(row, schemas).properties ?? {}).map(([name, schema]) => ({
    name,
    columns: columnsOf([name], schema, schemas),
    needs: needsOf(resolved(schema, schemas).description ?? ''),
  }))

/** Members of objects within a row are separate columns; lists stay lists. */
function columnsOf(
  place: readonly string[],
  schema: Schema,
  schemas: Schemas,
): [name: string, kind: Kind][] {
  const { nullable, ...known } = resolved(schema, schemas)
  const members = Object.entries(known.properties ?? {})
  if (members.length > 0) {
    return members.flatMap(([name, member]) => {
      const own = resolved(member, schemas)
      const isNullable = nullable === true || own.nullable === true
      return columnsOf([...place, name], { ...own, nullable: isNullable }, schemas)
    })
  }
  const column = place
    .map((name) => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase())
    .join('_')
  if (known.type === 'array') return [[column, nestedKind(known, schemas) ?? 'any']]
  return [[column, `${kindOf(known)}${nullable ? '?' : ''}`]]
}

/** Times within lists stay text. Undefined if the value may have several types. */
function nestedKind(schema: Schema, schemas: Schemas): Kind | undefined {
  const { format: _, items = {}, properties, ...known } = resolved(schema, schemas)
  if (known.type === 'array') {
    const kind = nestedKind(items, schemas)
    return kind && [kind]
  }
  if (properties === undefined) {
    const kind = kindOf(known)
    return kind === 'any' ? undefined : kind
  }
  const kinds: { [member: string]: Kind } = {}
  for (const [name, member] of Object.entries(properties)) {
    const kind = nestedKind(member, schemas)
    if (kind === undefined) return undefined
    kinds[name] = kind
  }
  return kinds
}

function kindOf({ type = '', format, anyOf }: Schema): string {
  if (anyOf !== undefined) return 'any'
  if (format === 'date-time') return 'time'
  const kinds: Record<string, string> = {
    number: 'float',
    integer: 'int',
    boolean: 'bool',
    string: 'text',
  }
  return kinds[type] ?? 'any'
}

function needsOf(description: string): Member['needs'] {
  if (/^Only where `fields` names it/.test(description)) return 'fields'
  if (/only with `interval`/i.test(description)) return 'interval'
  if (/^Only if the operator/.test(description)) return 'server'
  return /^Only with `view=/.test(description) ? 'view' : undefined
}

function columnsText(lists: readonly List[]): string {
  const kindText = (members: readonly Member[]): string =>
    members
      .map(({ name, columns, needs = '' }) => {
        const pairs = columns.map(([column, kind]) => `${textOf(column)}: ${JSON.stringify(kind)}`)
        return `            ${textOf(name)}: (${textOf(needs)}, {${pairs.join(', ')}}),\n`
      })
      .join('')
  const text = lists.map(
    ({ path, kinds }) =>
      `    ${textOf(path)}: [\n${kinds.map((kind) => `        {\n${kindText(kind)}        },\n`).join('')}    ],\n`,
  )
  return `COLUMNS: dict[str, list[dict[str, tuple[str, dict[str, Any]]]]] = {
${text.join('')}}
"""Of each list the members of its rows (with \`interval\` the last kind): the parameter that a member
needs (\`server\` if the operator decides), and the columns that it makes, with their kinds: a name,
of a list the kind of its items, of objects in one those of their members."""
`
}

/**
 * Names of decimal members, by their type in all objects. Versions of protocols are numbers but not
 * decimals.
 */
function amountsOf(schemas: object): string {
  const decimals = new Set<string>()
  const integers = new Set<string>()
  function look(part: unknown): void {
    if (typeof part !== 'object' || part === null) return
    for (const [name, schema] of Object.entries((part as Schema).properties ?? {})) {
      for (const { type } of [schema, ...(schema.anyOf ?? [])]) {
        if (type === 'number' && !name.endsWith('Version')) decimals.add(name)
        if (type === 'integer') integers.add(name)
      }
    }
    for (const each of Object.values(part)) look(each)
  }
  look(schemas)
  const both = [...decimals].filter((name) => integers.has(name))
  if (both.length > 0)
    throw new Error(`${both.join(', ')}: a decimal in one body and an integer in another.`)
  const names = [...decimals].toSorted().map((name) => `        ${textOf(name)},\n`)
  return `AMOUNTS = frozenset(
    [
${names.join('')}    ]
)
"""Members that are decimals, though one without a fraction is printed like an integer."""
`
}
