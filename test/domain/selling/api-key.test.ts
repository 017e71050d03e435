import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import fc from 'fast-check'

import {
  createApiKey,
  digestOf,
  hintOf,
  isWellFormedKey,
  KEY_LENGTH,
  KEY_PREFIX,
  redactKeys,
} from '#src/domain/selling/api-key.ts'

const keys = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => createApiKey(() => bytes))
const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-. é']

/** The key with every other character in one place. */
const typosAt = (key: string, at: number): string[] =>
  characters
    .filter((character) => character !== key[at])
    .map((character) => key.slice(0, at) + character + key.slice(at + 1))

describe('createApiKey', () => {
  test('default: takes 20 random bytes and gives a well-formed key of one length', () => {
    const asked: number[] = []
    createApiKey((length) => {
      asked.push(length)
      return new Uint8Array(length)
    })
    expect(asked).toEqual([20])
    fc.assert(
      fc.property(keys, (key) => {
        expect(key).toMatch(/^bf_live_[0-9A-Za-z]{33}$/)
        expect(isWellFormedKey(key)).toBe(true)
      }),
    )
    expect(KEY_LENGTH).toBe(41)
  })

  test('behavior: a form that never changes: keys that were given out stay well-formed', () => {
    expect(createApiKey(() => new Uint8Array(20))).toBe('bf_live_00000000000000000000000000009Q8xn')
    expect(createApiKey(() => new Uint8Array(20).fill(255))).toBe(
      'bf_live_aWgEPTl1tmebfsQzFP4bxwgy80V0Unu5m',
    )
  })

  test('behavior: other bytes give another key', () => {
    const bytes = fc.uint8Array({ minLength: 20, maxLength: 20 })
    fc.assert(
      fc.property(bytes, fc.nat(159), (one, bit) => {
        const other = one.slice()
        other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(createApiKey(() => one)).not.toBe(createApiKey(() => other))
      }),
    )
  })
})

describe('isWellFormedKey', () => {
  test('error: refuses every single changed character', () => {
    fc.assert(
      fc.property(keys, (key) => {
        for (let at = 0; at < key.length; at++)
          expect(typosAt(key, at).filter(isWellFormedKey)).toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  test('error: refuses two neighbours exchanged, a part, and anything more', () => {
    fc.assert(
      fc.property(keys, fc.nat(KEY_LENGTH - 2), (key, at) => {
        const [a = '', b = ''] = [key[at], key[at + 1]]
        const swapped = key.slice(0, at) + b + a + key.slice(at + 2)
        expect(isWellFormedKey(swapped)).toBe(a === b)
        const others = [key.slice(0, at), `${key}0`, ` ${key}`, `${key}\n`, key.slice(1), '']
        for (const other of others) expect(isWellFormedKey(other)).toBe(false)
      }),
    )
  })

  test('error: refuses any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => expect(isWellFormedKey(text)).toBe(false)))
    expect(isWellFormedKey(KEY_PREFIX.padEnd(KEY_LENGTH, '0'))).toBe(false)
  })
})

describe('digestOf', () => {
  test('default: is the SHA-256 of the whole key', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const digest = createHash('sha256').update(key).digest('hex')
        expect(digestOf(key).toHex()).toBe(digest)
      }),
    )
  })
})

describe('hintOf', () => {
  test('default: is the last four characters', () => {
    expect(hintOf(`${KEY_PREFIX}abcdefgh`)).toBe('efgh')
  })
})

describe('redactKeys', () => {
  test('default: hides every key, and leaves the text around', () => {
    fc.assert(
      fc.property(keys, keys, (one, two) => {
        const text = `GET /v1?key=${one}&x=1 "${two}", ${one}.`
        expect(redactKeys(text)).toBe('GET /v1?key=bf_live_…&x=1 "bf_live_…", bf_live_….')
      }),
    )
  })

  test('behavior: hides most of a key and a key that is run together with letters', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 33 }), (key, length) => {
        const part = key.slice(0, KEY_PREFIX.length + length)
        expect(redactKeys(`a${part} ${key}x`)).toBe('abf_live_… bf_live_…')
      }),
    )
  })

  test('behavior: of a text that hides a key in percent-encodings nothing is left', () => {
    const [key = ''] = fc.sample(keys, 1)
    const odd = [
      `%62f_live_${key.slice(8)}`,
      `bf%5Flive%5F${key.slice(8)}`,
      `bf%255Flive%255F${key.slice(8)}`,
    ]
    for (const text of odd) expect(redactKeys(`/v1?k=${text}&x=%zz`)).toBe('bf_live_…')
    expect(redactKeys('/v1/%zz?x=100%25')).toBe('/v1/%zz?x=100%25')
  })

  test('behavior: a text without a key is the same text', () => {
    for (const text of ['', 'GET /v1/markets', 'bf_live', 'bf_live_', 'BF_LIVE_abc'])
      expect(redactKeys(text)).toBe(text)
  })
})
