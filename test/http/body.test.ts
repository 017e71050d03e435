import { describe, expect, spyOn, test } from 'bun:test'

import { Type } from '@sinclair/typebox'

import { AppError } from '#src/domain/errors.ts'
import { parseBody } from '#src/http/body.ts'
import { opaqueObject } from '#src/http/kinds.ts'
import { createComponents } from '#src/http/openapi.ts'

import { readBody } from './strict-route.ts'

const schema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 5, pattern: '^[a-z]+$', examples: ['abc'] }),
  count: Type.Integer({ minimum: 0, maximum: 9, default: 3, examples: [4] }),
  side: Type.Optional(Type.Union([Type.Literal('buy'), Type.Literal('sell')])),
})
const optional = Type.Object({ count: schema.properties.count, side: schema.properties.side })
const key = 'bf_live_0kT9rWq2mZs5YvC8xHd4Bn7LgJ1a3fPuEo6R'

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

const requestOf = (body: Body, type: string | undefined = 'application/json') =>
  new Request('http://localhost/', { method: 'POST', body, headers: { 'content-type': type } })

const read = (body: Body, type?: string) => readBody(schema, requestOf(body, type))

async function errorOf(body: Body, type?: string): Promise<AppError> {
  try {
    await read(body, type)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error(`${body} was accepted`)
}

describe('readBody', () => {
  test('default: reads members, fills in defaults, leaves out what is absent', async () => {
    expect(await read('{"name":"abc"}')).toEqual({ name: 'abc', count: 3 })
    const all = { name: 'abc', count: 0, side: 'sell' } as const
    expect(await read(JSON.stringify(all))).toEqual(all)
  })

  test('behavior: equal bodies print alike, however they were written', async () => {
    const one = await read('{"name":"abc","count":3}')
    const other = await read(' { "count" : 3 , "n\\u0061me" : "abc" } ')
    expect(JSON.stringify(one)).toBe(JSON.stringify(other))
  })

  test('behavior: no body is an empty object where nothing is required', async () => {
    const request = new Request('http://localhost/', { method: 'POST' })
    expect(await readBody(optional, request)).toEqual({ count: 3 })
    expect((await errorOf('')).code).toBe('invalid_request')
  })

  test.each([
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'Application/JSON',
  ])('behavior: %s is JSON', async (type) => {
    expect(await read('{"name":"a"}', type)).toEqual({ name: 'a', count: 3 })
  })

  test.each([
    'text/plain',
    'text/plain;charset=utf-8',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; x=y',
    'application/jsonp',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'text/html, application/json',
  ])('error: %s is another media type', async (type) => {
    expect((await errorOf('{"name":"a"}', type)).code).toBe('unsupported_media_type')
  })

  test('error: a body without a media type is refused', async () => {
    const body = new TextEncoder().encode('{"name":"a"}')
    const request = new Request('http://localhost/', { method: 'POST', body })
    await expect(readBody(schema, request)).rejects.toMatchObject({
      code: 'unsupported_media_type',
    })
  })

  test.each([
    '{',
    '{"name":"a",}',
    "{'name':'a'}",
    '{"name":"a"} x',
    '{"name":"a"}{}',
    'null',
    '"name"',
    '[]',
    '[{"name":"a"}]',
    '1',
    'undefined',
  ])('error: %s is no JSON object', async (body) => {
    expect((await errorOf(body)).code).toBe('invalid_request')
  })

  test('error: bytes that are not UTF-8 are refused', async () => {
    const bytes = new TextEncoder().encode('{"name":"?"}')
    bytes[9] = 0xff
    expect((await errorOf(bytes)).code).toBe('invalid_request')
  })

  test('error: a body that breaks off is the caller’s fault', async () => {
    const stream = new ReadableStream({
      pull(controller) {
        controller.error(new Error('gone'))
      },
    })
    expect((await errorOf(stream)).code).toBe('invalid_request')
  })

  test('behavior: a text with quotes and colons is a text', async () => {
    const loose = Type.Object({ text: Type.String(), more: Type.Optional(Type.String()) })
    for (const text of ['"text":', '\\"text\\":', '","text":"', '{"text":1}', '\\', '\\\\":"']) {
      const body = { text, more: text }
      expect(await readBody(loose, requestOf(JSON.stringify(body)))).toEqual(body)
    }
  })

  test.each(['nam', 'Name', '__proto__', 'constructor', 'toString', ''])(
    'error: %p is unknown, and the known ones are listed',
    async (name) => {
      const { code, message, extras } = await errorOf(`{"name":"a",${JSON.stringify(name)}:1}`)
      expect([code, extras.param]).toEqual(['invalid_parameter', name])
      expect(message).toEndWith('Known are `name`, `count`, `side`.')
    },
  )

  test.each([
    ['name', '1'],
    ['name', 'null'],
    ['name', '""'],
    ['name', '"abcdef"'],
    ['name', '"ABC"'],
    ['name', '["a"]'],
    ['name', '{"a":"b"}'],
    ['count', '"3"'],
    ['count', '3.5'],
    ['count', '-1'],
    ['count', '10'],
    ['count', '1e400'],
    ['count', 'null'],
    ['count', 'true'],
    ['side', '"BUY"'],
    ['side', 'null'],
  ] as const)('error: %s cannot be %s', async (name, value) => {
    const others = name === 'name' ? '' : '"name":"a",'
    const { code, message, extras } = await errorOf(`{${others}"${name}":${value}}`)
    expect([code, extras.param]).toEqual(['invalid_parameter', name])
    const expected = { name: 'a string of 1 to 5', count: 'an integer from 0', side: '`buy` or' }
    expect(message).toStartWith(`\`${name}\` must be ${expected[name]}`)
  })

  test.each(['{"name":{"toString":"93"}}', '{"name":{"valueOf":1,"\\u0074oString":2}}'])(
    'error: %s, which JavaScript cannot print, is refused like any other value',
    async (body) => {
      const { code, message } = await errorOf(body)
      expect([code, message]).toEqual([
        'invalid_parameter',
        expect.stringContaining('`name` must be'),
      ])
    },
  )

  test('error: half a character is refused, whatever the schema allows', async () => {
    const loose = Type.Object({ text: Type.String() })
    const reading = readBody(loose, requestOf('{"text":"\\ud800"}'))
    await expect(reading).rejects.toMatchObject({ code: 'invalid_parameter' })
  })

  test('error: a required member must be there', async () => {
    const { message, extras } = await errorOf('{}')
    const hint = 'Send a string of 1 to 5 characters matching ^[a-z]+$.'
    expect([message, extras.param]).toEqual([`\`name\` is missing. ${hint}`, 'name'])
  })

  test('error: neither a key nor more than 40 characters of what was sent come back', async () => {
    const long = 'x'.repeat(10_000)
    for (const text of [key, `${'y'.repeat(20)}${key}`, `a ${key}!`, long]) {
      for (const body of [{ name: text }, { name: 'a', [text]: 1 }, { name: [text] }]) {
        const { message, extras } = await errorOf(JSON.stringify(body))
        const shown = message + extras.param
        expect(shown).not.toContain(key.slice(0, 12))
        expect(shown).not.toMatch(/x{41}/)
      }
    }
    expect((await errorOf(key)).message).not.toContain(key.slice(0, 12))
  })

  test('behavior: an object of any shape is passed on as it is, within its bound', async () => {
    const opaque = Type.Object({ inside: opaqueObject(40, {}) })
    const readOpaque = (body: string) => readBody(opaque, requestOf(body))
    const sent = '{"inside":{"a":{"a":[{"a":1},{"a":2}]},"b":null}}'
    expect(await readOpaque(sent)).toEqual(JSON.parse(sent))
    const full = `{"inside":{"a":"${'x'.repeat(32)}"}}`
    expect(await readOpaque(full)).toEqual(JSON.parse(full))
    for (const inside of [`{"a":"${'x'.repeat(33)}"}`, '[]', 'null', '"secret"', '1']) {
      const refusal = expect(readOpaque(`{"inside":${inside}}`)).rejects
      await refusal.toMatchObject({
        code: 'invalid_parameter',
        message: '`inside` must be an object of at most 40 bytes of JSON.',
      })
    }
  })

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])(
    'error: %s nested deeper than 16 levels are refused before they are read',
    async (_, open, close) => {
      const opaque = Type.Object({ inside: opaqueObject(100_000, {}) })
      const nested = (levels: number) =>
        `{"inside":{"a":${open.repeat(levels)}${open.endsWith(':') ? '1' : ''}${close.repeat(levels)}}}`
      // Two levels are those around them.
      expect(await readBody(opaque, requestOf(nested(14)))).toEqual(JSON.parse(nested(14)))
      for (const levels of [15, 1000, 32_700 / open.length]) {
        // Neither is needed to tell, so what makes them slow cannot be asked for.
        const spies = [spyOn(JSON, 'parse'), spyOn(JSON, 'stringify')]
        const reading = parseBody(opaque, requestOf(nested(levels)))
        await expect(reading).rejects.toMatchObject({
          code: 'invalid_request',
          message: 'The body is nested more than 16 levels deep.',
        })
        for (const spy of spies) {
          expect(spy).not.toHaveBeenCalled()
          spy.mockRestore()
        }
      }
    },
  )

  test('error: a member that is repeated, at any level and however it is written', async () => {
    const opaque = Type.Object({ inside: opaqueObject(100, {}) })
    const sound = '{"inside":{"a":{"a":1},"b":[{"a":1},{"a":"\\"a\\":{"}],":":1}}'
    expect(await readBody(opaque, requestOf(sound))).toEqual(JSON.parse(sound))
    for (const [sent, param] of [
      ['{"inside":{},"inside":{}}', 'inside'],
      ['{"inside":{},"insid\\u0065":{}}', 'inside'],
      ['{"inside":{"b":[{"a":1,"c":{},"a":1}]}}', 'a'],
    ]) {
      await expect(readBody(opaque, requestOf(sent ?? ''))).rejects.toMatchObject({
        code: 'invalid_parameter',
        extras: { param },
        message: `\`${param}\` is repeated. Send it once.`,
      })
    }
  })

  test('error: more members than any body has are refused before they are read', async () => {
    const opaque = Type.Object({ inside: opaqueObject(100_000, {}) })
    const withMembers = (count: number) =>
      `{"inside":{${Array.from({ length: count - 1 }, (_, index) => `"${index}":1`).join()}}}`
    expect(Object.keys((await readBody(opaque, requestOf(withMembers(2000)))).inside)).toHaveLength(
      1999,
    )
    await expect(readBody(opaque, requestOf(withMembers(2001)))).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'The body has more than 2000 members.',
    })
  })

  test('error: more than 4000 values are refused before they are read', async () => {
    const opaque = Type.Object({ inside: opaqueObject(100_000, {}) })
    const withValues = (count: number) => `{"inside":{"list":[${Array(count).fill('{}').join()}]}}`
    expect(await readBody(opaque, requestOf(withValues(4000)))).toHaveProperty('inside.list')
    await expect(readBody(opaque, requestOf(withValues(4001)))).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'The body has more than 4000 values.',
    })
  })

  test('behavior: brackets in texts are no levels', async () => {
    const body = { name: 'a', side: 'sell' }
    const loose = Type.Object({ name: Type.String(), side: Type.String() })
    const sent = { ...body, side: `${'['.repeat(40)}\\"{"` }
    expect(await readBody(loose, requestOf(JSON.stringify(sent)))).toEqual(sent)
  })
})

describe('openApiBody', () => {
  test('default: says what readBody does', () => {
    expect(createComponents().body(schema)).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            additionalProperties: false,
            required: ['name'],
            properties: {
              name: {
                type: 'string',
                minLength: 1,
                maxLength: 5,
                pattern: '^[a-z]+$',
                example: 'abc',
              },
              count: { type: 'integer', minimum: 0, maximum: 9, default: 3, example: 4 },
              side: { type: 'string', enum: ['buy', 'sell'] },
            },
          },
          example: { name: 'abc', count: 4 },
        },
      },
    })
  })

  test('behavior: a body may be absent where nothing in it is required', () => {
    const { required, content } = createComponents().body(optional)
    expect(required).toBe(false)
    expect(content['application/json']?.schema).not.toHaveProperty('required')
  })
})
