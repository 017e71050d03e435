import { describe, expect, test } from 'bun:test'

import { formatMillionths } from '#src/domain/decimal.ts'
import { type BestLevels, formatMid, imbalanceOf } from '#src/domain/quote.ts'
import {
  createTimePut,
  piecesOf,
  putHalfMillionths,
  putInteger,
  putMid,
  putMillionths,
  putNull,
  putPiece,
  putPlace,
  putQuote,
  putSigned,
  putText,
} from '#src/domain/wire/row-bytes.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

type Put<Value> = (bytes: Uint8Array, start: number, value: Value) => number

/** What is written behind something else, which must stay as it was. */
function written<Value>(put: Put<Value>, value: Value): string {
  const bytes = new Uint8Array(600).fill(0x23)
  const end = put(bytes, 3, value)
  const text = new TextDecoder().decode(bytes.subarray(0, end))
  expect(text.slice(0, 3)).toBe('###')
  return text.slice(3)
}

/** By the digits alone. */
function plainDecimal(millionths: number): string {
  const digits = String(millionths).padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  return digits.slice(0, -6) + (fraction === '' ? '' : `.${fraction}`)
}

const MAX = Number.MAX_SAFE_INTEGER
const edges = [0, 1, 9, 10, 99, 100, 999, 1000, 1001, 10_000, 999_999, 1_000_000, 1_000_001]
const large = [999_999_999, 12_480_060_000, 2 ** 31, 2 ** 32, MAX - 1, MAX, 9_007_199_253_999_999]

function drawMillionths(random: Random): number {
  const size = 10 ** random.integer(17)
  return Math.min(MAX, Math.floor(random.uniform() * size) + random.integer(1000))
}

describe('numbers', () => {
  const random = createRandom('numbers')
  const drawn = Array.from({ length: 3_000 }, () => drawMillionths(random))

  test('default: a decimal is its digits, as bytes and as text', () => {
    for (const millionths of [...edges, ...large, ...drawn]) {
      const text = plainDecimal(millionths)
      expect([written(putMillionths, millionths), formatMillionths(millionths)]).toEqual([
        text,
        text,
      ])
    }
  })

  test('default: an integer is its digits', () => {
    for (const value of [...edges, ...large, ...drawn]) {
      expect(written(putInteger, value)).toBe(String(value))
    }
  })

  test('behavior: half a sum of prices has seven decimals where it must', () => {
    const sums = Array.from({ length: 2_000 }, () => random.integer(2_000_001))
    for (const sum of [0, 1, 2, 1_999_999, 2_000_000, 1_000_001, ...sums]) {
      expect(written(putHalfMillionths, sum)).toBe(formatMid(sum, 0))
    }
    expect(written(putHalfMillionths, 1)).toBe('0.0000005')
  })

  test('behavior: what is below zero has a minus sign, and zero has none', () => {
    for (const millionths of [-1, -530_000, -1_000_000, 0, 1, -MAX]) {
      expect(written(putSigned, millionths)).toBe(formatSigned(millionths))
    }
  })
})

describe('createTimePut', () => {
  test('default: times near and far, forwards and backwards, are ISO times', () => {
    const random = createRandom('times')
    const put = createTimePut()
    let timeMs = Date.UTC(2026, 3, 14)
    for (let round = 0; round < 2_000; round++) {
      timeMs += random.integer(4_000) - 2_000
      if (random.integer(50) === 0) timeMs = random.integer(2 ** 32) * 1_000 + random.integer(999)
      timeMs = Math.abs(timeMs)
      expect(written(put, timeMs)).toBe(new Date(timeMs).toISOString())
    }
    for (const edge of [0, 999, 1_000, 253_402_300_799_999]) {
      expect(written(put, edge)).toBe(new Date(edge).toISOString())
    }
  })
})

describe('pieces', () => {
  test('default: pieces short and long are copied whole', () => {
    const texts = { short: '"bid":', none: '', long: '","outcome":"up","timestamp":"' }
    const pieces = piecesOf(texts)
    for (const name of ['short', 'none', 'long'] as const) {
      expect(written(putPiece, pieces[name])).toBe(texts[name])
      expect(written(putText, texts[name])).toBe(texts[name])
    }
    expect(written((bytes, start) => putNull(bytes, start), undefined)).toBe('null')
  })
})

const formatSigned = (millionths: number): string =>
  millionths < 0 ? `-${formatMillionths(-millionths)}` : formatMillionths(millionths)

/** A quote from strings, as slow as it is plain. */
function plainQuote({ bidPrice, bidSize, askPrice, askSize }: BestLevels): string {
  const hasBoth = bidSize > 0 && askSize > 0
  const members = {
    bid: bidSize > 0 && formatMillionths(bidPrice),
    bidSize: bidSize > 0 && formatMillionths(bidSize),
    ask: askSize > 0 && formatMillionths(askPrice),
    askSize: askSize > 0 && formatMillionths(askSize),
    mid: hasBoth && formatMid(bidPrice, askPrice),
    spread: hasBoth && formatSigned(askPrice - bidPrice),
    imbalance: hasBoth && formatSigned(imbalanceOf(bidSize, askSize)),
  }
  return Object.entries(members)
    .map(([name, text]) => `"${name}":${text || null}`)
    .join(',')
}

describe('quotes', () => {
  const random = createRandom('quotes')
  const drawSide = (): [price: number, size: number] =>
    random.integer(4) === 0 ? [0, 0] : [1 + random.integer(999_999), drawMillionths(random) + 1]
  const levels = Array.from({ length: 2_000 }, (): BestLevels => {
    const [[bidPrice, bidSize], [askPrice, askSize]] = [drawSide(), drawSide()]
    return { bidPrice, bidSize, askPrice, askSize }
  })

  test('default: bytes and text of a quote are the same', () => {
    for (const each of levels) expect(written(putQuote, each)).toBe(plainQuote(each))
  })

  test('behavior: bid, ask and mid are those of the quote', () => {
    for (const each of levels) {
      const quote = JSON.parse(`{${plainQuote(each)}}`) as Record<string, number | null>
      const { bid, ask, mid } = quote
      expect(JSON.parse(`{${written(putMid, each)}}`)).toEqual({ bid, ask, mid })
    }
  })

  test('behavior: a place names the snapshot and the outcome', () => {
    expect(written(putPlace, { id: 1482734, outcome: 'down' })).toBe(
      '"id":"1482734","outcome":"down"',
    )
  })
})
