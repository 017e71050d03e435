import { describe, expect, test } from 'bun:test'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import {
  type Entry,
  expectDocumented,
  faultsOf,
  readDocument,
  type Schema,
} from '../support/openapi-document.ts'
import { withParams } from '../support/page-client.ts'

const { history, both, single, open, edge, empty } = createMarketHistory()
const { send } = createHarness({ history })
const { document, entries } = await readDocument(send)
const markets = [both, single, open, edge, empty]

/** Every address of a route that has something to show. */
function addressesOf({ path }: Entry): string[] {
  const filled = markets.map(({ coin, conditionId }) =>
    path.replace('{coin}', coin).replace('{conditionId}', conditionId),
  )
  for (const address of filled) {
    if (address.includes('{')) throw new Error(`${path} has a parameter unknown to this test.`)
  }
  return [...new Set(filled)]
}

/** Every single value of a query parameter that its schema tells. */
const variantsOf = ({ parameters = [] }: Entry): Record<string, string>[] =>
  parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, example, schema }) => {
      const values = [
        example,
        schema.default,
        schema.minimum,
        schema.maximum,
        ...(schema.enum ?? []),
      ]
      const known = values.filter((value) => value !== undefined)
      return known.map((value) => ({ [name]: String(value) }))
    })

/** Asks with one encoding and follows the list to its end; yields the responses. */
async function* walk(address: string, params: Record<string, string>) {
  let cursor: string | null = null
  for (let pages = 0; pages < 50; pages++) {
    const place: Record<string, string> = cursor === null ? {} : { cursor }
    const response = await send(withParams(address, { ...params, ...place }))
    const { status, headers } = response
    const text = await response.text()
    yield new Response(text, { status, headers })
    const isJson = headers.get('content-type')?.includes('json') === true
    const body = isJson ? (JSON.parse(text) as { nextCursor?: string | null }) : {}
    if (!body.nextCursor) return
    cursor = body.nextCursor
  }
}

/** Asks as a browser does, as a program does, and as curl does. */
const askForEach = (address: string): Promise<Response>[] =>
  ['text/html', 'application/json', '*/*'].map((accept) =>
    send(address, { headers: { accept, 'accept-encoding': 'gzip' } }),
  )

/** Every schema in the document with where it is. */
function* schemasOf(value: unknown, at = ''): Generator<[string, Schema]> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && typeof value.type === 'string') yield [at, value as Schema]
  for (const [key, member] of Object.entries(value)) yield* schemasOf(member, `${at}/${key}`)
}

describe('documented answers', () => {
  test('default: every body and header of a walk over every route is as documented', async () => {
    for (const entry of entries) {
      for (const address of addressesOf(entry)) {
        for (const params of [{}, ...variantsOf(entry)]) {
          for await (const response of walk(address, params)) {
            expect([address, params, response.status]).toEqual([address, params, 200])
            await expectDocumented(document, entry, response)
          }
        }
      }
    }
  })

  test('behavior: every documented header of a success comes with it, and every media type', async () => {
    for (const entry of entries) {
      const answer = entry.responses['200']
      const responses = await Promise.all(addressesOf(entry).flatMap(askForEach))
      const headers = responses.flatMap((response) => [...response.headers.keys()])
      const types = responses.map((each) => each.headers.get('content-type')?.split(';')[0])
      const documented = Object.keys(answer?.headers ?? {}).map((name) => name.toLowerCase())
      expect(headers).toEqual(expect.arrayContaining(documented))
      expect([...new Set(types)].sort()).toEqual(Object.keys(answer?.content ?? {}).sort())
    }
  })

  test('behavior: 304 is as documented wherever it is', async () => {
    const cached = entries.filter(({ responses }) => '304' in responses)
    expect(cached.length).toBeGreaterThan(0)
    for (const entry of cached) {
      for (const address of addressesOf(entry)) {
        const response = await send(address, { headers: { 'if-none-match': '*' } })
        expect(response.status).toBe(304)
        await expectDocumented(document, entry, response)
      }
    }
  })

  test('behavior: HEAD has the headers of GET on every route', async () => {
    const headers = { 'x-request-id': 'same', 'accept-encoding': 'gzip' }
    for (const entry of entries) {
      for (const address of addressesOf(entry)) {
        const get = await send(address, { headers })
        const head = await send(address, { headers, method: 'HEAD' })
        const length = String((await get.arrayBuffer()).byteLength)
        expect([head.status, await head.text()]).toEqual([get.status, ''])
        const expected = { ...Object.fromEntries(get.headers), 'content-length': length }
        expect([address, Object.fromEntries(head.headers)]).toEqual([address, expected])
      }
    }
  })
})

describe('the document', () => {
  test('behavior: an example is what its schema says', () => {
    for (const [at, schema] of schemasOf(document)) {
      if (!('example' in schema)) continue
      expect([at, ...faultsOf(document, schema, schema.example)]).toEqual([at])
    }
    for (const { path, parameters = [] } of entries) {
      for (const { name, example, schema } of parameters) {
        if (example === undefined) continue
        expect([path, name, ...faultsOf(document, schema, example)]).toEqual([path, name])
      }
    }
  })

  // OpenAPI 3.0.3: a nullable enum has null among its values, or null is none of them.
  test('behavior: an enum that may be null says so', () => {
    for (const [at, schema] of schemasOf(document)) {
      if (schema.enum === undefined || schema.nullable !== true) continue
      expect([at, schema.enum]).toEqual([at, expect.arrayContaining([null])])
    }
  })

  test('behavior: path parameters are those of the path, and all are described', () => {
    for (const { path, parameters = [] } of entries) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      expect([path, inPath.map(({ name }) => name)]).toEqual([path, named])
      for (const parameter of parameters) {
        expect([path, parameter]).not.toEqual([path, expect.objectContaining({ description: '' })])
      }
    }
  })
})
