import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import { createSha1Search } from '#src/platform/sha1-search.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

const three = Array.from({ length: 999 }, (_, at) => String(at + 1).padStart(3, '0'))
const endings = { bytes: encode(three.join('')), length: 3 }

describe('createSha1Search', () => {
  test('default: finds the ending, however long the texts around it are', () => {
    const search = createSha1Search()
    for (let length = 0; length < 200; length++) {
      const text = 'x'.repeat(length * 3)
      const before = 'b'.repeat((length * 7) % 130)
      const after = 'a'.repeat((length * 5) % 70)
      const index = (length * 37) % three.length
      search.begin(encode(text))
      const around = { before: encode(before), after: encode(after) }
      const hash = sha1(`${text}${before}${three[index]}${after}`)
      expect([length, search.find(hash, endings, around, 500)]).toEqual([length, index])
    }
  })

  test('behavior: one text is searched with other texts around its endings', () => {
    const search = createSha1Search()
    const text = 'the text'.repeat(40)
    search.begin(encode(text))
    for (const before of ['', '0.', 'tick 0.01, price 0.']) {
      const around = { before: encode(before), after: encode('"}') }
      for (const first of [-5, 0, 998, 5000])
        expect(search.find(sha1(`${text}${before}999"}`), endings, around, first)).toBe(998)
    }
  })

  test('behavior: -1 for a hash that no ending has, and for one of another text', () => {
    const search = createSha1Search()
    search.begin(encode('text'))
    const around = { before: encode('0.'), after: encode('}') }
    expect(search.find('f'.repeat(40), endings, around)).toBe(-1)
    expect(search.find(sha1('text0.000}'), endings, around)).toBe(-1)
    expect(search.find(sha1('text0.500}'), endings, around)).toBe(499)
    search.begin(encode('other'))
    expect(search.find(sha1('text0.500}'), endings, around)).toBe(-1)
  })

  test('behavior: endings of one byte, and fewer than are tried at once', () => {
    const search = createSha1Search()
    search.begin(encode('text'))
    const around = { before: encode(''), after: encode('') }
    const few = { bytes: encode('abc'), length: 1 }
    expect(search.find(sha1('textc'), few, around)).toBe(2)
    expect(search.find(sha1('text'), few, around)).toBe(-1)
  })
})
