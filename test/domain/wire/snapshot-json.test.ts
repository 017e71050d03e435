import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import { parseMillionths } from '#src/domain/decimal.ts'
import { isRecordFault } from '#src/domain/record-fault.ts'
import {
  createSnapshotScanner,
  LINE_BYTES_MAX,
  type ScannedSnapshot,
} from '#src/domain/wire/snapshot-json.ts'
import { createRandom } from '#src/platform/random.ts'

import { aRecord } from '../../support/snapshot-lines.ts'

const encoder = new TextEncoder()

/** Shared by all tests, because lines must not show in the lines after them. */
const scanner = createSnapshotScanner()

const scanText = (text: string): ScannedSnapshot => {
  const bytes = encoder.encode(text)
  return scanner.scan(bytes, 0, bytes.length)
}
const scanRecord = (changes: Record<string, unknown>) => scanText(JSON.stringify(aRecord(changes)))

/** Text of a record in which one member is written exactly as given. */
const withRaw = (field: string, raw: string): string =>
  JSON.stringify(aRecord({ [field]: '@' })).replace(`"${field}":"@"`, `"${field}":${raw}`)

const faultOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (isRecordFault(error)) return error.message
    throw error
  }
  return 'no fault'
}

const expected: ScannedSnapshot = {
  coin: 'btc',
  conditionId: `0x${'1a'.repeat(32)}`,
  timeframe: '5m',
  assetId: '104472376509976988766346716475120511145011517755906344501669377783651998139803',
  outcome: 'down',
  timestampMs: 1_776_153_610_672,
  bids: { prices: [500_000, 490_000], sizes: [2_747_100_000, 309_240_000] },
  asks: { prices: [510_000, 520_000], sizes: [299_430_000, 173_980_000] },
  sourceHash: '52afcae590bdca530ad679b2f4e164ec8e68bedd',
  id: '52afcae590bdca530ad679b2f4e164ec8e68bedd',
}

describe('createSnapshotScanner', () => {
  test('default: reads the recorded form', () => {
    expect(scanRecord({})).toEqual(expected)
  })

  test('default: reads the example of the document', () => {
    const document = readFileSync(new URL('../../../docs/data.md', import.meta.url), 'utf8')
    const [, line = ''] = /^```json\n(\{"id":"\w+","assetId":[^`]*)```$/m.exec(document) ?? []
    expect(scanText(line.trim())).toMatchObject({
      coin: 'btc',
      outcome: 'down',
      timestampMs: expected.timestampMs,
      bids: expected.bids,
      asks: expected.asks,
    })
  })

  test('behavior: reads the served form, bare decimals and best level first', () => {
    const bids = [
      { price: 0.5, size: 2747.1 },
      { price: 0.49, size: 309.24 },
    ]
    const asks = [
      { price: 0.51, size: 299.43 },
      { price: 0.52, size: 173.98 },
    ]
    expect(scanRecord({ bids, asks, symbol: 'BTC', timestamp: 1_776_153_610_672 })).toEqual(
      expected,
    )
  })

  test('behavior: keys may stand in any order, with white space and unknown ones between', () => {
    const reversed = Object.fromEntries(Object.entries(aRecord()).reverse())
    const level = {
      note: { 'a"b': [1, -2.5e3, null, true, { x: [] }] },
      size: '309.24',
      price: '0.49',
    }
    reversed.bids = [level, { price: '0.5', size: '2747.1' }]
    const text = JSON.stringify({ extra: [{}, 'é\u0001\\'], ...reversed }, undefined, '\t')
    expect(scanText(` \r\n${text}\r `)).toEqual(expected)
  })

  test('behavior: takes the id as text, and as the source hash only when it is one', () => {
    expect(scanRecord({ id: 'AB'.repeat(20) }).sourceHash).toBe('ab'.repeat(20))
    expect(scanRecord({ id: 'row 7' })).toMatchObject({ id: 'row 7', sourceHash: undefined })
    expect(scanRecord({ id: 17 })).toMatchObject({ id: '17', sourceHash: undefined })
    expect(scanRecord({ id: `${'ab'.repeat(19)}xy` }).sourceHash).toBeUndefined()
  })

  test('behavior: reads empty sides, one level and a crossed book', () => {
    const bids = [{ price: '0.9', size: '1' }]
    expect(scanRecord({ bids, asks: [] })).toMatchObject({
      bids: { prices: [900_000], sizes: [1_000_000] },
      asks: { prices: [], sizes: [] },
    })
    expect(scanRecord({ bids }).asks.prices).toEqual([510_000, 520_000])
  })

  test('behavior: remembers texts of earlier lines without mixing them up', () => {
    const [good, other, bad] = [
      aRecord(),
      aRecord({ assetId: '7', conditionId: `0x${'F'.repeat(64)}`, symbol: 'eth', outcome: 'up' }),
      aRecord({ assetId: '10x' }),
    ].map((record) => encoder.encode(JSON.stringify(record)))
    const scan = (bytes = new Uint8Array()) => scanner.scan(bytes, 0, bytes.length)
    for (let round = 0; round < 3; round++) {
      expect(scan(good)).toEqual(expected)
      expect(scan(other)).toMatchObject({
        coin: 'eth',
        assetId: '7',
        conditionId: `0x${'f'.repeat(64)}`,
        outcome: 'up',
      })
      expect(() => scan(bad)).toThrow('assetId: not 1 to 78 digits')
    }
  })

  test.each([
    ['"2026-04-14T08:00:10Z"', 1_776_153_610_000],
    ['"2026-04-14T08:00:10.6Z"', 1_776_153_610_600],
    ['"2026-04-14T08:00:10.67Z"', 1_776_153_610_670],
    ['"2026-04-14T08:00:10.672000Z"', 1_776_153_610_672],
    ['"2024-02-29T23:59:59.999Z"', Date.UTC(2024, 1, 29, 23, 59, 59, 999)],
    ['"1970-01-01T00:00:00Z"', 0],
    ['"9999-12-31T23:59:59.999Z"', 253_402_300_799_999],
    ['"1776153610672"', 1_776_153_610_672],
    ['1776153610672', 1_776_153_610_672],
  ])('behavior: timestamp %s is %d', (raw, timestampMs) => {
    expect(scanText(withRaw('timestamp', raw)).timestampMs).toBe(timestampMs)
  })

  test('behavior: counts every day from 1970 to 2100 as the platform does', () => {
    for (let dayMs = 0; dayMs < Date.UTC(2100, 2, 2); dayMs += 86_400_000) {
      const timestamp = new Date(dayMs).toISOString()
      if (scanRecord({ timestamp }).timestampMs !== dayMs) throw new Error(timestamp)
    }
  }, 300_000)

  test.each(['0.1', '.48', '00.5', '0.500000', '0.5000000000', '0.000001', '0.999999', '0.123456'])(
    'behavior: price %s is exact, quoted or bare',
    (text) => {
      const price = parseMillionths(text) ?? Number.NaN
      for (const raw of [text, `"${text}"`]) {
        const bids = scanText(withRaw('bids', `[{"price":${raw},"size":1}]`)).bids
        expect(bids.prices).toEqual([price])
      }
    },
  )

  test('behavior: the largest size is the largest safe integer of millionths', () => {
    const level = (size: string) => withRaw('bids', `[{"price":"0.5","size":"${size}"}]`)
    expect(scanText(level('9007199254.740991')).bids.sizes).toEqual([Number.MAX_SAFE_INTEGER])
    expect(faultOf(() => scanText(level('9007199254.740992')))).toBe('bids[0].size: too large')
    expect(faultOf(() => scanText(level('9'.repeat(400))))).toBe('bids[0].size: too large')
  })
})

const level = (price: string, size = '"1"'): string => `{"price":${price},"size":${size}}`
const goodLevels = `${level('"0.1"')},${level('"0.2"')},${level('"0.3"')}`

describe('record fault', () => {
  test.each([
    [
      'timestamp',
      '"2026-04-14 08:00:10"',
      'not an ISO date-time in UTC, nor Unix milliseconds or seconds',
    ],
    [
      'timestamp',
      '"2026-04-14T08:00:10"',
      'not an ISO date-time in UTC, nor Unix milliseconds or seconds',
    ],
    [
      'timestamp',
      '"2026-04-14T08:00:10.Z"',
      'not an ISO date-time in UTC, nor Unix milliseconds or seconds',
    ],
    ['timestamp', '1776153600.5', 'not an integer'],
    ['timestamp', '1e12', 'not an integer'],
    ['id', '1.5', 'not an integer'],
    ['timestamp', '""', 'not an ISO date-time in UTC, nor Unix milliseconds or seconds'],
    ['timestamp', '"2026-02-29T08:00:10Z"', 'no such day or time of day'],
    ['timestamp', '"2026-13-01T08:00:10Z"', 'no such day or time of day'],
    ['timestamp', '"2026-04-00T08:00:10Z"', 'no such day or time of day'],
    ['timestamp', '"2026-04-14T24:00:00Z"', 'no such day or time of day'],
    ['timestamp', '"2026-04-14T08:00:60Z"', 'no such day or time of day'],
    ['timestamp', '"1969-12-31T23:59:59Z"', 'before 1970 or after 9999'],
    ['timestamp', '253402300800000', 'before 1970 or after 9999'],
    ['timestamp', 'null', 'not a string'],
    ['conditionId', '"0x12"', 'not 0x and 62 or 64 hex digits'],
    ['conditionId', `"0x${'g'.repeat(64)}"`, 'not 0x and 62 or 64 hex digits'],
    ['assetId', `"${'1'.repeat(79)}"`, 'not 1 to 78 digits'],
    ['assetId', '123', 'not a string'],
    ['assetId', '""', 'not 1 to 78 digits'],
    ['assetId', '"\\u0031"', 'not plain ASCII text'],
    ['symbol', '"no coin"', 'not a supported coin'],
    ['outcome', '"yes"', 'neither "up" nor "down"'],
    ['timeframe', '"toString"', 'not a timeframe'],
    ['id', '""', 'not 1 to 100 characters'],
    ['id', '"é"', 'not plain ASCII text'],
    ['bids', '{}', 'no array'],
    ['bids', `[${goodLevels},]`, ''],
    ['bids', `[${goodLevels}}`, 'not valid JSON after 3 levels'],
    ['bids', `[${level('"0.1"')},${level('"0.3"')},${level('"0.2"')}]`, ''],
  ])('error: %s %s', (field, raw, reason) => {
    expect(faultOf(() => scanText(withRaw(field, raw)))).toStartWith(field)
    expect(faultOf(() => scanText(withRaw(field, raw)))).toEndWith(reason)
  })

  test.each([
    [level('"0.1234567"'), '.price: more than six decimals'],
    [level('1e-2'), '.price: not a plain decimal'],
    [level('"-0.1"'), '.price: not a plain decimal'],
    [level('"+0.1"'), '.price: not a plain decimal'],
    [level('"0.1'), '.price: not a plain decimal'],
    [level('"."'), '.price: not a plain decimal'],
    [level('""'), '.price: not a plain decimal'],
    [level('"0.4 "'), '.price: not a plain decimal'],
    [level('null'), '.price: not a plain decimal'],
    [level('"0"'), '.price: not between 0 and 1'],
    [level('"1"'), '.price: not between 0 and 1'],
    [level('1.5'), '.price: not between 0 and 1'],
    [level('"0.4"', '"0.000"'), '.size: zero'],
    [level('"0.3"'), '.price: the same as bids[2].price'],
    [level('"0.25"'), '.price: out of order'],
    ['{"price":"0.4"}', '.size: missing'],
    ['{"size":"0.4"}', '.price: missing'],
    ['{"price":"0.4","price":"0.4","size":"1"}', '.price: repeated'],
    ['{"price":"0.4","size":"1","size":"1"}', '.size: repeated'],
    ['{"price":"0.4","size":"1","x":01}', ': not valid JSON'],
    ['{"price":"0.4","size":"1","x":{"y":tru}}', ': not valid JSON'],
    ['["0.4","1"]', ': no object'],
    ['{}', '.price: missing'],
  ])('error: a level %s', (text, reason) => {
    const line = withRaw('bids', `[${goodLevels},${text}]`)
    expect(faultOf(() => scanText(line))).toBe(`bids[3]${reason}`)
  })

  test.each([
    ['', 'not a JSON object'],
    ['[]', 'not a JSON object'],
    ['{}', 'an empty object'],
    [`${JSON.stringify(aRecord())}x`, 'text after the object'],
    [`${JSON.stringify(aRecord())}\0`, 'text after the object'],
    [JSON.stringify(aRecord()).replace(/}$/, ',}'), 'not valid JSON'],
    [JSON.stringify(aRecord()).replace(/^{/, '{"outcome":"up",'), 'outcome: repeated'],
    [JSON.stringify(aRecord({ x: 0 })).replace('"x":0', '"x":"\n"'), 'not valid JSON'],
    [JSON.stringify(aRecord({ x: 0 })).replace('"x":0', '"x":"\\q"'), 'not valid JSON'],
    [
      JSON.stringify(aRecord({ x: 0 })).replace('"x":0', `"x":${'['.repeat(1e5)}`),
      'not valid JSON',
    ],
    [`{"x":"${'x'.repeat(LINE_BYTES_MAX)}"}`, `longer than ${LINE_BYTES_MAX} bytes`],
    [
      JSON.stringify(aRecord({ bids: Array(2001).fill({ price: '0.5', size: 1 }) })),
      'bids: more than 2000 levels',
    ],
  ])('error: a line as a whole (%#)', (text, reason) => {
    expect(faultOf(() => scanText(text))).toBe(reason)
  })

  test.each(Object.keys(aRecord()))('error: %s is missing', (field) => {
    expect(faultOf(() => scanRecord({ [field]: undefined }))).toBe(`${field}: missing`)
  })
})

describe('scan', () => {
  const line = encoder.encode(JSON.stringify(aRecord({ extra: { a: ['\\', 1.5e3, null] } })))
  /** What a scan of damaged bytes says; the bytes around them are `filler`. */
  const outcomeOf = (bytes: Uint8Array, filler: string): string => {
    const before = encoder.encode(filler)
    const after = encoder.encode(filler.repeat(8))
    const padded = Buffer.concat([before, bytes, after])
    try {
      return JSON.stringify(scanner.scan(padded, before.length, before.length + bytes.length))
    } catch (error) {
      if (isRecordFault(error)) return error.message
      throw error
    }
  }

  test('fuzz: no truncated line is a snapshot, whatever follows it', () => {
    for (let length = 0; length < line.length; length++) {
      const cut = line.subarray(0, length)
      const said = outcomeOf(cut, '"}]}')
      expect(said).not.toStartWith('{')
      expect(outcomeOf(cut, '1","size":"')).toBe(said)
    }
  })

  test('fuzz: damaged bytes are a fault or what JSON.parse finds, alike in any surroundings', () => {
    const random = createRandom('snapshot-json')
    const interesting = encoder.encode('"\\{}[],:.0919eE+- \t\n\0\x7ftfn\xff')
    for (let round = 0; round < 2000; round++) {
      const bytes = line.slice()
      for (let flips = random.integer(3); flips >= 0; flips--) {
        bytes[random.integer(bytes.length)] = random.pick([...interesting, random.integer(256)])
      }
      const said = outcomeOf(bytes, '"}]}')
      expect(outcomeOf(bytes, '\0 5')).toBe(said)
      if (!said.startsWith('{')) continue
      const found = JSON.parse(new TextDecoder().decode(bytes))
      expect(JSON.parse(said).assetId).toBe(found.assetId)
    }
  }, 300_000)
})

const recorded = '../shared/data/polymarket/snapshots-btc-5m-1hz-20260413-14.jsonl.gz'

describe('recorded lines', () => {
  test.skipIf(!existsSync(recorded))(
    `equivalence: reads ${recorded} as JSON.parse does`,
    async () => {
      const bytes = Bun.gunzipSync(await Bun.file(recorded).bytes())
      const decoder = new TextDecoder()
      let count = 0
      for (let start = 0; start < bytes.length;) {
        const end = bytes.indexOf(0x0a, start)
        const row = JSON.parse(decoder.decode(bytes.subarray(start, end)))
        if (!Bun.deepEquals(scanner.scan(bytes, start, end), toExpected(row), true)) {
          expect(scanner.scan(bytes, start, end)).toEqual(toExpected(row))
        }
        start = end + 1
        count++
      }
      expect(count).toBe(16_767)
    },
    300_000,
  )
})

type Level = { price: string; size: string }
type Row = Record<'id' | 'assetId' | 'conditionId' | 'timestamp', string> &
  Pick<ScannedSnapshot, 'outcome' | 'timeframe'> & {
    symbol: ScannedSnapshot['coin']
    bids: Level[]
    asks: Level[]
  }

function toExpected(row: Row): ScannedSnapshot {
  const toLadder = (levels: Level[]) => ({
    prices: levels.toReversed().map(({ price }) => parseMillionths(price) ?? Number.NaN),
    sizes: levels.toReversed().map(({ size }) => parseMillionths(size) ?? Number.NaN),
  })
  return {
    coin: row.symbol,
    conditionId: row.conditionId,
    timeframe: row.timeframe,
    assetId: row.assetId,
    outcome: row.outcome,
    timestampMs: Date.parse(row.timestamp),
    bids: toLadder(row.bids),
    asks: toLadder(row.asks),
    sourceHash: row.id,
    id: row.id,
  }
}
