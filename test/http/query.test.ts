import { describe, expect, test } from 'bun:test'

import { Type } from '@sinclair/typebox'

import { AppError } from '#src/domain/errors.ts'
import { openApiParameters } from '#src/http/openapi-operation.ts'
import { literals, parseQuery } from '#src/http/schema-reader.ts'

const schema = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Rows a page.' }),
  from: Type.Optional(Type.Integer({ minimum: 0, examples: [1_700_000_000_000] })),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 50, pattern: '^[A-Za-z0-9_ é-]+$' }),
  ),
  outcome: Type.Optional(Type.Union([Type.Literal('up'), Type.Literal('down')])),
})

function errorOf(search: string): AppError {
  try {
    parseQuery(schema, search)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error(`${search} was accepted`)
}

describe('parseQuery', () => {
  test('default: fills in defaults and leaves out what is absent', () => {
    expect(parseQuery(schema, '')).toEqual({ limit: 100 })
  })

  test('behavior: reads every kind of parameter, in any order', () => {
    const search = 'outcome=up&cursor=a%20b+%C3%A9&from=9007199254740991&limit=1'
    const query = parseQuery(schema, search)
    expect(query).toEqual({
      outcome: 'up',
      cursor: 'a b é',
      from: Number.MAX_SAFE_INTEGER,
      limit: 1,
    })
  })

  test('behavior: a boolean is `true` or `false`, and nothing else', () => {
    const flag = Type.Object({ flag: Type.Optional(Type.Boolean()) })
    expect(['true', 'false'].map((text) => parseQuery(flag, `flag=${text}`))).toEqual([
      { flag: true },
      { flag: false },
    ])
    for (const text of ['1', 'TRUE', '', 'yes'])
      expect(() => parseQuery(flag, `flag=${text}`)).toThrow('true or false')
  })

  test('error: a schema that no text can be read by is a fault of the route', () => {
    const schema = Type.Object({ list: Type.Array(Type.String()) })
    expect(() => parseQuery(schema, 'list=a')).toThrow('A query has')
  })

  test('behavior: empty pairs are nothing, and an encoded name is the name', () => {
    expect(parseQuery(schema, '&&%6Cimit=5&')).toEqual({ limit: 5 })
  })

  test.each([
    '1e3',
    '5.0',
    '+5',
    '%2B5',
    '0x10',
    ' 5',
    '%205',
    '5 ',
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
  ])('error: limit=%s is refused', (text) => {
    const error = errorOf(`limit=${text}`)
    expect(error.code).toBe('invalid_parameter')
    expect(error.extras.param).toBe('limit')
    expect(error.message).toEndWith('must be an integer from 1 to 1000 in plain decimal digits.')
  })

  test('error: 2^53 is refused where no maximum is given', () => {
    expect(errorOf('from=9007199254740992').extras.param).toBe('from')
  })

  test.each([
    'limit',
    'limit=',
    'cursor=',
    'outcome=',
    'outcome=UP',
    'outcome=up,down',
    'cursor=$',
  ])('error: %s is refused', (search) => {
    expect(errorOf(search).code).toBe('invalid_parameter')
  })

  test.each(['limits=5', 'Limit=5', '__proto__=1', 'constructor=1', 'limit[]=5', '=5'])(
    'error: %s is unknown, and the known ones are listed',
    (search) => {
      const error = errorOf(search)
      expect(error.message).toContain('Known are `limit`, `from`, `cursor`, `outcome`.')
    },
  )

  test('error: a repeated parameter is refused, also with the same value', () => {
    expect(errorOf('limit=5&limit=5').message).toBe('`limit` is repeated. Send it once.')
  })

  test.each(['cursor=%', 'cursor=%zz', 'cursor=%C3', '%zz=1', 'cursor=%ED%A0%80'])(
    'error: %s is malformed percent-encoding',
    (search) => {
      expect(errorOf(search).message).toContain('percent-encoding')
    },
  )

  test('error: a required parameter must be there', () => {
    const required = Type.Object({ ts: Type.Integer({ minimum: 0 }) })
    const hint = 'Send an integer from 0 to 9007199254740991 in plain decimal digits.'
    expect(() => parseQuery(required, '')).toThrow(`\`ts\` is missing. ${hint}`)
  })

  test('error: of several literals the last follows on "or"', () => {
    const query = Type.Object({ by: literals(['a', 'b', 'c'], {}) })
    expect(() => parseQuery(query, 'by=d')).toThrow('must be `a`, `b` or `c`.')
  })

  test('error: at most 40 characters of what was sent come back', () => {
    for (const search of [`cursor=${'x'.repeat(60_000)}`, `${'y'.repeat(60_000)}=1`]) {
      const { message, extras } = errorOf(search)
      expect(message).not.toMatch(/x{41}|y{41}/)
      expect(extras.param?.length).toBeLessThanOrEqual(40)
    }
  })
})

describe('openApiParameters', () => {
  test('default: says what parseQuery does', () => {
    expect(openApiParameters(schema, 'query')).toEqual([
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
