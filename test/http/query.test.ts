import { describe, expect, test } from 'bun:test'

import { Type } from '@sinclair/typebox'

import { AppError } from '#src/domain/errors.ts'
import { assertTextKinds, boolean, integer, moment, oneOf, utcDay } from '#src/http/kinds.ts'
import { openApiParameters } from '#src/http/openapi.ts'

import { readQuery } from './strict-route.ts'

const schema = Type.Object({
  limit: integer({ minimum: 1, maximum: 1000, default: 100, description: 'Rows a page.' }),
  from: Type.Optional(integer({ minimum: 0, examples: [1_700_000_000_000] })),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 50, pattern: '^[A-Za-z0-9_ é-]+$' }),
  ),
  outcome: Type.Optional(Type.Union([Type.Literal('up'), Type.Literal('down')])),
})

async function errorOf(search: string): Promise<AppError> {
  try {
    await readQuery(schema, search)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error(`${search} was accepted`)
}

describe('a query', () => {
  test('default: fills in defaults and leaves out what is absent', async () => {
    expect(await readQuery(schema, '')).toEqual({ limit: 100 })
  })

  test('behavior: reads every kind of parameter, in any order', async () => {
    const search = 'outcome=up&cursor=a%20b+%C3%A9&from=9007199254740991&limit=1'
    const query = await readQuery(schema, search)
    expect(query).toEqual({
      outcome: 'up',
      cursor: 'a b é',
      from: Number.MAX_SAFE_INTEGER,
      limit: 1,
    })
  })

  test('behavior: a boolean is `true` or `false`, and nothing else', async () => {
    const flag = Type.Object({ flag: Type.Optional(boolean({})) })
    expect(await readQuery(flag, 'flag=true')).toEqual({ flag: true })
    expect(await readQuery(flag, 'flag=false')).toEqual({ flag: false })
    for (const text of ['1', 'TRUE', '', 'yes'])
      await expect(readQuery(flag, `flag=${text}`)).rejects.toThrow('true or false')
  })

  test('behavior: a moment is Unix time, RFC 3339 or a date, and a day is a date or a moment in it', async () => {
    const times = Type.Object({ ts: moment({}), day: Type.Optional(utcDay({})) })
    const tsMs = 1_776_153_610_000
    const day = Date.UTC(2026, 3, 14)
    for (const text of ['1776153610000', '1776153610', '2026-04-14T08:00:10Z'])
      expect(await readQuery(times, `ts=${text}`)).toEqual({ ts: tsMs })
    expect(await readQuery(times, 'ts=5')).toEqual({ ts: 5000 })
    expect(await readQuery(times, 'ts=2026-04-14T10:00:10+02:00')).toEqual({ ts: tsMs })
    expect(await readQuery(times, 'ts=2026-04-14')).toEqual({ ts: day })
    for (const text of ['2026-04-14', '1776153610000', '2026-04-14T23:59:59Z'])
      expect(await readQuery(times, `ts=0&day=${text}`)).toEqual({ ts: 0, day })
    for (const text of ['1e3', '', '2026-02-30T00:00:00Z', '2026-02-30', '2026-4-1', '-1', 'now'])
      await expect(readQuery(times, `ts=${text}`)).rejects.toThrow('must be a time: Unix')
    await expect(readQuery(times, 'ts=0&day=2026-02-30')).rejects.toThrow('must be a day in UTC')
  })

  test('error: a kind that Elysia would coerce is a fault of the route', () => {
    const coerced = Type.Object({ limit: Type.Optional(Type.Integer()) })
    expect(() => assertTextKinds(coerced)).toThrow('`limit` in a query')
  })

  test('behavior: empty pairs are nothing, and an encoded name is the name', async () => {
    expect(await readQuery(schema, '&&%6Cimit=5&')).toEqual({ limit: 5 })
  })

  test.each([
    '1e3',
    '5.0',
    '+5',
    '%2B5',
    '0x10',
    ' 5',
    '%205',
    '5%20',
    '',
    '05',
    '-1',
    '0',
    '1001',
    'NaN',
    'Infinity',
    '٣',
    '9007199254740993',
    '99999999999999999999',
    '1_0',
    'null',
  ])('error: limit=%s is refused', async (text) => {
    const error = await errorOf(`limit=${text}`)
    expect(error.code).toBe('invalid_parameter')
    expect(error.extras.param).toBe('limit')
    expect(error.message).toEndWith('must be an integer from 1 to 1000 in plain decimal digits.')
  })

  test('error: 2^53 is refused where no maximum is given', async () => {
    expect((await errorOf('from=9007199254740992')).extras.param).toBe('from')
  })

  test.each([
    'limit',
    'limit=',
    'cursor=',
    'outcome=',
    'outcome=UP',
    'outcome=up,down',
    'cursor=$',
  ])('error: %s is refused', async (search) => {
    expect((await errorOf(search)).code).toBe('invalid_parameter')
  })

  test.each(['limits=5', 'Limit=5', '__proto__=1', 'constructor=1', 'limit[]=5', '=5'])(
    'error: %s is unknown, and the known ones are listed',
    async (search) => {
      const error = await errorOf(search)
      expect(error.message).toContain('Known are `limit`, `from`, `cursor`, `outcome`.')
    },
  )

  test('error: a repeated parameter is refused, also with the same value', async () => {
    expect((await errorOf('limit=5&limit=5')).message).toBe('`limit` is repeated. Send it once.')
  })

  test.each(['cursor=%', 'cursor=%zz', 'cursor=%C3', '%zz=1', 'cursor=%ED%A0%80'])(
    'error: %s is malformed percent-encoding',
    async (search) => {
      expect((await errorOf(search)).message).toContain('percent-encoding')
    },
  )

  test('error: a required parameter must be there', async () => {
    const required = Type.Object({ ts: integer({ minimum: 0 }) })
    const hint = 'Send an integer from 0 to 9007199254740991 in plain decimal digits.'
    await expect(readQuery(required, '')).rejects.toThrow(`\`ts\` is missing. ${hint}`)
  })

  test('error: of several literals the last follows on "or"', async () => {
    const query = Type.Object({ by: oneOf(['a', 'b', 'c'], {}) })
    await expect(readQuery(query, 'by=d')).rejects.toThrow('must be `a`, `b` or `c`.')
  })

  test('error: at most 40 characters of what was sent come back', async () => {
    for (const search of [`cursor=${'x'.repeat(60_000)}`, `${'y'.repeat(60_000)}=1`]) {
      const { message, extras } = await errorOf(search)
      expect(message).not.toMatch(/x{41}|y{41}/)
      expect(extras.param?.length).toBeLessThanOrEqual(40)
    }
  })
})

describe('openApiParameters', () => {
  test('default: says what a route accepts', () => {
    expect(openApiParameters(schema)).toEqual([
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'Rows a page.',
        schema: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
      },
      {
        name: 'from',
        in: 'query',
        required: false,
        description: '',
        example: 1_700_000_000_000,
        schema: { type: 'integer', minimum: 0 },
      },
      {
        name: 'cursor',
        in: 'query',
        required: false,
        description: '',
        schema: { type: 'string', minLength: 1, maxLength: 50, pattern: '^[A-Za-z0-9_ é-]+$' },
      },
      {
        name: 'outcome',
        in: 'query',
        required: false,
        description: '',
        schema: { type: 'string', enum: ['up', 'down'] },
      },
    ])
  })
})
