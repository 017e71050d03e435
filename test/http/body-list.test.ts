import { describe, expect, test } from 'bun:test'

import { Type } from '@sinclair/typebox'

import { AppError } from '#src/domain/errors.ts'
import { createComponents } from '#src/http/openapi.ts'

import { readBody } from './strict-route.ts'

const Entry = Type.Object(
  {
    name: Type.String({ minLength: 1, pattern: '^[a-z]+$', examples: ['abc'] }),
    count: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
  },
  { additionalProperties: false },
)
const schema = Type.Object({
  entries: Type.Array(Entry, { minItems: 1, maxItems: 3, examples: [[{ name: 'abc' }]] }),
})

const read = (body: string) =>
  readBody(
    schema,
    new Request('http://localhost/', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    }),
  )

async function errorOf(body: string): Promise<AppError> {
  try {
    await read(body)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error(`${body} was accepted`)
}

describe('readBody of a list of objects', () => {
  test('default: reads each entry by its schema, in order', async () => {
    const entries = [{ name: 'a', count: 0 }, { name: 'b' }, { name: 'a', count: 9 }]
    expect(await read(JSON.stringify({ entries }))).toEqual({ entries })
  })

  test.each([
    '[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]',
    '[]',
    '{"0":{"name":"a"}}',
    '"abc"',
    'null',
    '1',
  ])('error: %s is not one to three objects', async (entries) => {
    const { code, message, extras } = await errorOf(`{"entries":${entries}}`)
    expect([code, extras.param]).toEqual(['invalid_parameter', 'entries'])
    expect(message).toBe('`entries` must be a list of 1 to 3 objects.')
  })

  test.each([
    ['{}', 'entries[1].name', 'is missing. Send a string that is not empty matching ^[a-z]+$.'],
    ['{"name":""}', 'entries[1].name', 'must be a string'],
    ['{"name":"A"}', 'entries[1].name', 'must be a string'],
    ['{"name":1}', 'entries[1].name', 'must be a string'],
    ['{"name":"a","count":10}', 'entries[1].count', 'must be an integer from 0 to 9'],
    ['{"name":"a","count":null}', 'entries[1].count', 'must be an integer from 0 to 9'],
    ['{"name":"a","x":1}', 'entries[1].x', 'is not a member of `entries[1]`. Known are `name`'],
    ['{"name":"a","__proto__":1}', 'entries[1].__proto__', 'is not a member'],
    ['[]', 'entries[1]', 'must be a JSON object'],
    ['null', 'entries[1]', 'must be a JSON object'],
    ['"a"', 'entries[1]', 'must be a JSON object'],
  ])('error: %s as the second entry is refused by its place', async (entry, param, why) => {
    const { code, message, extras } = await errorOf(`{"entries":[{"name":"a"},${entry}]}`)
    expect([code, extras.param]).toEqual(['invalid_parameter', param])
    expect(message).toStartWith(`\`${param}\` ${why}`)
  })

  test('behavior: the document says the same', () => {
    expect(createComponents().body(schema)).toMatchObject({
      required: true,
      content: {
        'application/json': {
          schema: {
            properties: {
              entries: {
                type: 'array',
                minItems: 1,
                maxItems: 3,
                items: { required: ['name'], additionalProperties: false },
              },
            },
          },
          example: { entries: [{ name: 'abc' }] },
        },
      },
    })
  })
})
