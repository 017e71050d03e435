/**
 * The served OpenAPI document, and validation against it. Written against 3.0.3, independently of
 * our renderer.
 */
import { expect } from 'bun:test'

import type { ErrorCode } from '#src/domain/errors.ts'

import type { Send } from './page-client.ts'

export type Schema = {
  $ref?: string
  anyOf?: Schema[]
  type?: string
  nullable?: boolean
  enum?: unknown[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  default?: unknown
  example?: unknown
  items?: Schema
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
}
type Content = {
  schema: Schema
  example?: unknown
  examples?: Record<string, { value: { code: string } }>
}
export type Answer = {
  description: string
  headers: Record<string, unknown>
  content?: Record<string, Content>
}
export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  example?: unknown
  schema: Schema
}
export type RequestBody = {
  required: boolean
  content: { 'application/json': { schema: Schema; example: Record<string, unknown> } }
}
export type Operation = {
  operationId: string
  summary?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: RequestBody
  security?: Record<string, string[]>[]
  responses: Record<string, Answer>
}
export type Document = {
  paths: Record<string, Record<string, Operation>>
  security: Record<string, string[]>[]
  components: { schemas: Record<string, Schema>; headers: Record<string, unknown> }
}
/** An operation with its path and its method in capitals. */
export type Entry = Operation & { path: string; method: string }

export async function readDocument(send: Send) {
  const response = await send('/swagger/json')
  expect(response.status).toBe(200)
  const document = JSON.parse(await response.text()) as Document
  const whole = inlined(document, document) as Document
  const entries = Object.entries(whole.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )
  return { document, entries }
}

/** The error codes documented by an operation. */
export const codesOf = ({ responses }: Entry): [status: string, code: ErrorCode][] =>
  Object.entries(responses).flatMap(([status, { content }]) =>
    Object.keys(content?.['application/problem+json']?.examples ?? {}).map(
      (code) => [status, code as ErrorCode] satisfies [string, ErrorCode],
    ),
  )

/** A part of a document with its references resolved. */
function inlined(document: Document, part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map((each) => inlined(document, each))
  if ('$ref' in part && typeof part.$ref === 'string') {
    const names = part.$ref.replace('#/', '').split('/')
    const found = names.reduce<unknown>(
      (at, name) => new Map(Object.entries(at ?? {})).get(name),
      document,
    )
    if (found === undefined) throw new Error(`${part.$ref} does not resolve.`)
    return inlined(document, found)
  }
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, inlined(document, value)]),
  )
}

/**
 * Names every place where `value` does not match `schema`, including members that the schema does
 * not name.
 */
export function faultsOf(document: Document, schema: Schema, value: unknown): string[] {
  return [...check({ document, schema, value, at: '' })]
}

type Check = { document: Document; schema: Schema; value: unknown; at: string }

function* check({ document, schema: given, value, at }: Check): Generator<string> {
  const schema = given.$ref ? resolve(document, given.$ref) : given
  if (schema.enum && !schema.enum.includes(value)) yield `${at} is none of the enum: ${value}`
  if (value === null) {
    if (schema.nullable !== true) yield `${at} is null`
  } else if (schema.anyOf) {
    const faults = schema.anyOf.map((each) => [...check({ document, schema: each, value, at })])
    // The faults of the last variant, chosen arbitrarily.
    if (faults.every((each) => each.length > 0)) yield* faults.at(-1) ?? []
  } else if (isOfType(schema, value)) {
    yield* checkContent({ document, schema, value, at })
  } else {
    yield `${at} is not of type ${schema.type}`
  }
}

function* checkContent({ document, schema, value, at }: Check): Generator<string> {
  if (typeof value === 'number') yield* checkNumber(schema, value, at)
  if (typeof value === 'string') yield* checkText(schema, value, at)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield* check({ document, schema: schema.items ?? {}, value: item, at: `${at}/${index}` })
    }
  } else if (typeof value === 'object') {
    yield* checkMembers({ document, schema, value: { ...value }, at })
  }
}

function* checkMembers({ document, schema, value, at }: Check & { value: object }) {
  const { properties = {}, required = [], additionalProperties: others } = schema
  for (const name of required) if (!(name in value)) yield `${at}/${name} is missing`
  for (const [name, member] of Object.entries(value)) {
    if (others === true && properties[name] === undefined) continue
    const property = properties[name] ?? (typeof others === 'object' ? others : undefined)
    if (property === undefined) yield `${at}/${name} is not documented`
    else yield* check({ document, schema: property, value: member, at: `${at}/${name}` })
  }
}

function* checkNumber(
  { minimum = -Infinity, maximum = Infinity }: Schema,
  value: number,
  at: string,
) {
  if (value < minimum || value > maximum) yield `${at} is out of bounds: ${value}`
}

const regExps = new Map<string, RegExp>()
function regExpOf(pattern: string): RegExp {
  const known = regExps.get(pattern) ?? new RegExp(pattern)
  regExps.set(pattern, known)
  return known
}

function* checkText(schema: Schema, value: string, at: string) {
  const { format, pattern = '', minLength = 0, maxLength = Infinity } = schema
  if (value.length < minLength) yield `${at} is too short`
  if (value.length > maxLength) yield `${at} is too long`
  if (!regExpOf(pattern).test(value)) yield `${at} is not like ${pattern}: ${value}`
  if (format === 'date' && !/^\d{4}-\d\d-\d\d$/.test(value)) yield `${at} is no day: ${value}`
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
  if (format === 'date-time' && !isTime) yield `${at} is no time: ${value}`
}

function resolve({ components }: Document, ref: string): Schema {
  const schema = components.schemas[ref.replace('#/components/schemas/', '')]
  if (schema === undefined) throw new Error(`${ref} does not resolve.`)
  return schema
}

function isOfType({ type }: Schema, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type && !Array.isArray(value)
}

/** Headers that frame any message; OpenAPI leaves them to HTTP. */
const framing = ['content-type', 'content-length', 'date']

/** Headers of a response that its documentation does not name. */
export function undocumentedHeaders(answer: Answer, headers: Headers): string[] {
  const known = Object.keys(answer.headers).map((name) => name.toLowerCase())
  return [...headers.keys()].filter((name) => !known.includes(name) && !framing.includes(name))
}

/** Expects a response that its operation documents, including body and headers. */
export async function expectDocumented(document: Document, entry: Entry, response: Response) {
  const answer = entry.responses[response.status]
  const text = await response.text()
  if (answer === undefined) throw new Error(`${entry.path} answered ${response.status}: ${text}`)
  expect(undocumentedHeaders(answer, response.headers)).toEqual([])
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  const content = answer.content?.[type]
  if (answer.content === undefined) return expect(text).toBe('')
  if (content === undefined) throw new Error(`${entry.path} answered with ${type}`)
  const value: unknown = /[/+]json$/.test(type) ? JSON.parse(text) : text
  expect(faultsOf(document, content.schema, value)).toEqual([])
  if (response.status < 400) return
  // The body was validated against the schema of problems just above.
  const { code } = value as { code: string }
  expect(Object.keys(content.examples ?? {})).toContain(code)
}
