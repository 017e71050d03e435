import { describe, expect, test } from 'bun:test'

import { snapshotFields } from '#src/domain/snapshot.ts'
import { createRowCut, cutText, DEPTH_MAX, isUncut } from '#src/domain/wire/row-cut.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, createBookMaker } from '../../history/books.ts'
import { toText } from '../../support/market-history.ts'
import { toCutText } from '../../support/snapshot-views.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const ownFields = snapshotFields

describe('createRowCut', () => {
  test('default: a row of which all is wanted is the very same', () => {
    const row = encoder.encode(toText(aSnapshot(), '1'))
    const cut = { depth: undefined, fields: undefined }
    expect(isUncut(cut)).toBe(true)
    expect(createRowCut(cut)(row)).toBe(row)
  })

  test('property: any fields and depth of any book are the bytes that a shorter book has', () => {
    const random = createRandom('cuts')
    const makeBook = createBookMaker(random)
    for (let round = 0; round < 300; round++) {
      const drawn = ownFields.filter(() => random.integer(3) === 0)
      const fields = random.integer(3) > 0 && drawn.length > 0 ? drawn : undefined
      const depths = [undefined, 1, 2, 5, 1 + random.integer(DEPTH_MAX), DEPTH_MAX]
      const depth = random.pick(depths)
      const cut = createRowCut({ depth, fields: fields && new Set(fields) })
      for (let rows = 0; rows < 4; rows++) {
        const row = aSnapshot(makeBook())
        const text = decoder.decode(cut(encoder.encode(toText(row, '1234'))))
        expect(text).toBe(toCutText({ ...row, id: 1234 }, { depth, fields }))
      }
    }
  })

  test('behavior: a depth is exact at the number of levels, one less and one more', () => {
    for (const depth of [1, 2, 3]) {
      const fields = ['bids', 'asks'] as const
      const cut = createRowCut({ depth, fields: new Set(fields) })
      const text = decoder.decode(cut(encoder.encode(toText(aSnapshot(), '1234'))))
      expect(text).toBe(toCutText({ ...aSnapshot(), id: 1234 }, { depth, fields }))
    }
  })

  test('behavior: an empty side stays empty', () => {
    const none = { prices: [], sizes: [] }
    const row = encoder.encode(toText(aSnapshot({ bids: none, asks: none }), '1'))
    const cut = createRowCut({ depth: 1, fields: new Set(['asks', 'bids']) })
    expect(decoder.decode(cut(row))).toBe('{"bids":[],"asks":[]}')
  })
})

describe('cutText', () => {
  test('default: tells cuts apart, and not the order in which fields were named', () => {
    const one = cutText({ depth: 5, fields: new Set(['bids', 'id']) })
    expect(cutText({ depth: 5, fields: new Set(['id', 'bids']) })).toBe(one)
    const others = [
      cutText({ depth: 5, fields: undefined }),
      cutText({ depth: undefined, fields: new Set(['id', 'bids']) }),
      cutText({ depth: 5, fields: new Set(['id']) }),
      cutText({ depth: undefined, fields: undefined }),
    ]
    expect(new Set([one, ...others]).size).toBe(5)
  })
})
