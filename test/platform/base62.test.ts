import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { fromBase62, integerToBase62, toBase62 } from '#src/platform/base62.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Reads back, one digit after the other. */
const numberOf = (text: string): bigint =>
  [...text].reduce((value, digit) => value * 62n + BigInt(ALPHABET.indexOf(digit)), 0n)

describe('toBase62', () => {
  test('default: prints digits, upper case, lower case, the most significant first', () => {
    const texts = [0, 9, 10, 35, 36, 61].map((value) => toBase62(Uint8Array.of(value), 1))
    expect(texts.join('')).toBe('09AZaz')
    expect(toBase62(Uint8Array.of(62), 2)).toBe('10')
    expect(toBase62(Uint8Array.of(1, 0), 3)).toBe('048')
    expect(toBase62(new Uint8Array(0), 3)).toBe('000')
  })

  test('behavior: the text is as long as asked, reads back as the number, and sorts like it', () => {
    const bytes = fc.uint8Array({ minLength: 20, maxLength: 20 })
    const read = (value: Uint8Array) => BigInt(`0x${value.toHex()}`)
    fc.assert(
      fc.property(bytes, bytes, (one, two) => {
        const a = toBase62(one, 27)
        const b = toBase62(two, 27)
        expect([a.length, numberOf(a)]).toEqual([27, read(one)])
        expect(a < b).toBe(read(one) < read(two))
      }),
    )
  })

  test('error: refuses what does not fit, and takes what just does', () => {
    expect(toBase62(Uint8Array.of(61), 1)).toBe('z')
    expect(() => toBase62(Uint8Array.of(62), 1)).toThrow(RangeError)
    expect(toBase62(new Uint8Array(20).fill(255), 27)).toHaveLength(27)
    expect(() => toBase62(new Uint8Array(20).fill(255), 26)).toThrow(RangeError)
  })
})

describe('integerToBase62', () => {
  test('behavior: prints as toBase62 prints the same number', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (integer) => {
        const bytes = new Uint8Array(4)
        new DataView(bytes.buffer).setUint32(0, integer)
        expect(integerToBase62(integer, 6)).toBe(toBase62(bytes, 6))
        expect(fromBase62(integerToBase62(integer, 6))).toBe(integer)
      }),
    )
    expect([integerToBase62(0, 2), integerToBase62(3843, 2)]).toEqual(['00', 'zz'])
  })

  test('error: a number that needs more room is refused', () => {
    expect(() => integerToBase62(3844, 2)).toThrow(RangeError)
  })
})
