/** The small inputs of ../shared/cases/turn4: forms in which people keep books and trades. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import type { StoredSnapshot } from '#src/domain/snapshot.ts'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

const folder = '../shared/cases/turn4'
const isAbsent = !existsSync(folder)
const reason = isAbsent ? ' (skipped: ../shared/cases is not here)' : ''

const conditionId = '0xf2d4aa1b2968704df49b4bf260c223579d828698ee482ae304d4d7ff655285e1'
const fromMs = Date.UTC(2026, 3, 13, 12, 0, 10)

/** Six seconds of both outcomes, which all files of books contain. */
const seconds = [0, 1, 2, 3, 4, 5].map((second) => fromMs + second * 1000)
const received = seconds.map((ms) => ms + 40)
const unreceived = seconds.map(() => undefined)

type Expected = {
  /** Times of receipt of the six states of each outcome. */
  receivedMs: readonly (number | undefined)[]
  verified: number
  /** Files that name the market; by default its entry of the catalogue. */
  first?: string[]
  /** Lines of the capture that are no messages. */
  passedOver?: number
}

/** The messages as they came, each beside its time of receipt. */
const plain = 'in/g6-recv_time-z.jsonl'

const books: Record<string, Expected> = {
  [plain]: { receivedMs: received, verified: 12 },
  'in/f19-wide-pandas-time.csv': { receivedMs: unreceived, verified: 0 },
  'in/f19b-wide-iso-offset.csv': { receivedMs: unreceived, verified: 0 },
  'pq/p1d-wide-string-iso-offset.parquet': { receivedMs: unreceived, verified: 0 },
  'in/f02-t-dir-data.jsonl': { receivedMs: received, verified: 12, passedOver: 4 },
  'in/f03-payloadUtf8.jsonl': { receivedMs: received, verified: 12 },
  'in/f04-outer-event-type.jsonl': { receivedMs: received, verified: 12 },
  'in/f06-flat-logger.jsonl': { receivedMs: received, verified: 12 },
  'in/f10-snapshots-assetId.json': { receivedMs: unreceived, verified: 12 },
  'in/f11-snapshots-market_id.json': { receivedMs: unreceived, verified: 0 },
  'in/f13-p-s.json': { receivedMs: unreceived, verified: 0 },
  'in/f14-results-json-text.json': { receivedMs: unreceived, verified: 0 },
  'in/f27-new-market.jsonl': { receivedMs: unreceived, verified: 12, first: [] },
  'in/f28b-payload-levels-only.jsonl': { receivedMs: received, verified: 0 },
  'in/f18-row-a-level.csv': { receivedMs: unreceived, verified: 12 },
  'pq/p3-row-a-level.parquet': { receivedMs: unreceived, verified: 12 },
  'in/f19d-wide-collected.csv': { receivedMs: unreceived, verified: 0 },
  'in/f21-json-columns.csv': { receivedMs: received, verified: 12 },
  'pq/p2-json-columns.parquet': { receivedMs: received, verified: 12 },
  'pq/p6-raw-text-rows.parquet': { receivedMs: received, verified: 12 },
  'in/g3-array-first.jsonl': { receivedMs: [undefined, ...received.slice(1)], verified: 12 },
  'in/g4-receivedAt-offset.jsonl': { receivedMs: received, verified: 12 },
  'in/g5-recv_time-offset.jsonl': { receivedMs: received, verified: 12 },
}

const tradeFiles = [
  'in/f22-data-api-trades.csv',
  'pq/p4-data-api-trades.parquet',
  'in/f23-data-v2-trades-page.json',
  'in/f23b-data-v2-trades-pages.jsonl',
]

async function importCase(name: string, first = ['in/m1.gamma.json']) {
  const history = aHistory()
  const files = [...first, name].map((each) => `${folder}/${each}`)
  const result = await run(files, { history, clock: () => Date.UTC(2026, 10, 28) })
  const market = history.findMarket(conditionId)
  const rows = market === undefined ? [] : [...snapshotRuns(history, { market })].flat()
  const up = rows.filter(({ outcome }) => outcome === 'up')
  const down = rows.filter(({ outcome }) => outcome === 'down')
  return { ...result, history, market, rows, up, down }
}

type Book = Pick<StoredSnapshot, 'bids' | 'asks'>

const sidesOf = (book: Book | undefined) =>
  (['bids', 'asks'] as const).map((side) => {
    const { prices = [], sizes = [] } = book?.[side] ?? {}
    const levels = Array.from(prices, (price, at) => [price / 1e6, (sizes[at] ?? 0) / 1e6] as const)
    return [side, levels] as const
  })

const toLevelCells = (outcome: string, book: Book | undefined): Record<string, string> =>
  Object.fromEntries(
    sidesOf(book).flatMap(([side, levels]) =>
      levels.flatMap(([price, size], at) => [
        [`${outcome}_${side.slice(0, 3)}_price_${at + 1}`, String(price)],
        [`${outcome}_${side.slice(0, 3)}_size_${at + 1}`, String(size)],
      ]),
    ),
  )

const toJsonCells = (outcome: string, book: Book | undefined): Record<string, string> =>
  Object.fromEntries(
    sidesOf(book).map(([side, levels]) => [
      `${outcome}_${side}`,
      book === undefined ? '' : `"${JSON.stringify(levels).replaceAll('"', '""')}"`,
    ]),
  )

describe('importFiles of forms that people keep', () => {
  for (const [name, { receivedMs, verified, passedOver = 0, first }] of Object.entries(books)) {
    test.skipIf(isAbsent)(`default: books in ${name}${reason}`, async () => {
      const { report, faults, rows, up, down } = await importCase(name, first)
      expect(faults).toEqual([])
      expect(report).toMatchObject({ accepted: 12, invalid: 0, filesFailed: 0, filesRefused: [] })
      const passed = [...report.passedOver.values()].reduce((sum, each) => sum + each, 0)
      expect(passed).toBe(passedOver)
      const expected = await importCase(plain)
      const levelsOf = (states: typeof up) =>
        states.map(({ timestampMs, bids, asks }) => ({ timestampMs, bids, asks }))
      expect(levelsOf(up)).toEqual(levelsOf(expected.up))
      expect(levelsOf(down)).toEqual(levelsOf(expected.down))
      expect(up.map((row) => row.timestampMs)).toEqual(seconds)
      for (const own of [up, down])
        expect(own.map((row) => row.receivedMs)).toEqual([...receivedMs])
      expect(rows.filter(({ isVerified }) => isVerified === true)).toHaveLength(verified)
    })
  }

  test.skipIf(isAbsent)(`default: a snapshot whose time has an offset${reason}`, async () => {
    const { faults, rows } = await importCase('in/g7-snapshot-line-offset.jsonl')
    expect(faults).toEqual([])
    expect(rows.map(({ timestampMs, outcome }) => [timestampMs, outcome])).toEqual([[fromMs, 'up']])
  })

  test.skipIf(isAbsent)(`default: prices of the venue's older socket${reason}`, async () => {
    const { report, faults, history } = await importCase('in/f30-rtds.jsonl', [])
    expect(faults).toEqual([])
    expect(report).toMatchObject({ prices: { accepted: 6 }, filesRefused: [] })
    const ticks = await history.spot({ coin: 'btc', order: 'asc', limit: 10 })
    const shown = ticks.map(({ timestampMs, price, receivedMs }) => [
      timestampMs,
      price,
      receivedMs,
    ])
    expect(shown).toEqual(seconds.map((ms, at) => [ms, `${71_000 + at}.25`, undefined]))
  })

  for (const name of tradeFiles) {
    test.skipIf(isAbsent)(`default: trades in ${name}${reason}`, async () => {
      const { report, faults, history, market } = await importCase(name)
      expect(faults).toEqual([])
      expect(report).toMatchObject({ trades: { accepted: 5 }, filesFailed: 0, filesRefused: [] })
      const trades = market === undefined ? [] : await history.trades({ market })
      expect(
        trades.map(({ timestampMs, price, size, outcome, side }) => [
          timestampMs - fromMs,
          price,
          size,
          outcome,
          side,
        ]),
      ).toEqual(
        [0, 1, 2, 3, 4].map((each) => [
          (10 + each) * 1000,
          500_000,
          (10 + each) * 1_000_000,
          'up',
          'buy',
        ]),
      )
    })
  }

  test.skipIf(isAbsent)(
    `default: facts of a market that is named by its id alone${reason}`,
    async () => {
      const catalogue = 'in/m1.gamma.json'
      for (const [name, facts] of [
        ['in/f24-clob-markets-short.json', { tickSize: 10_000, winner: undefined }],
        ['in/f25-data-v2-resolutions.json', { winner: 'down', winnerSource: 'venue' }],
      ] as const) {
        // In either order.
        for (const [first, last] of [
          [catalogue, name],
          [name, catalogue],
        ] as const) {
          const { report, faults, market } = await importCase(last, [first])
          expect(faults).toEqual([])
          expect(report).toMatchObject({ invalid: 0, filesRefused: [] })
          expect(market).toMatchObject(facts)
        }
        const alone = await importCase(name, [])
        expect(alone.faults.map((fault) => fault.reason)).toEqual([
          `market ${conditionId} is not known; import its entry of the catalogue or its tokens too`,
        ])
      }
    },
  )

  for (const [columns, toCells] of Object.entries({ levels: toLevelCells, JSON: toJsonCells })) {
    test.skipIf(isAbsent)(`default: both outcomes a row, as ${columns}${reason}`, async () => {
      const expected = await importCase(plain)
      const { slug } = expected.market ?? {}
      const rows = expected.up.map((up, at) => ({
        ts: new Date(up.timestampMs).toISOString().replace('T', ' ').replace('Z', '000+00:00'),
        slug,
        ...toCells('up', up),
        // The last row has a book of one outcome.
        ...toCells('down', at === 5 ? undefined : expected.down[at]),
      }))
      const names = [...new Set(rows.flatMap(Object.keys))]
      const lines = rows.map((row) => names.map((name) => row[name as keyof typeof row] ?? ''))
      const text = [names, ...lines].map((cells) => cells.join(',')).join('\n')
      const history = aHistory()
      const read: string[] = []
      const files = [`${folder}/in/m1.gamma.json`, await write(`pair-${columns}.csv`, text)]
      const { report, faults } = await run(files, {
        history,
        clock: () => Date.UTC(2026, 10, 28),
        onFile: (_, kind) => read.push(kind),
      })
      expect(faults).toEqual([])
      expect(report).toMatchObject({ accepted: 11, filesRefused: [] })
      expect([...report.leftOutReasons]).toEqual([['rows without a book of down', 1]])
      expect(read.at(-1)).toEndWith(', both outcomes a row')
      const market = history.findMarket(conditionId) ?? expect.unreachable()
      const found = [...snapshotRuns(history, { market })].flat()
      const levelsOf = (states: readonly StoredSnapshot[]) =>
        states.map(({ timestampMs, outcome, bids, asks }) => ({ timestampMs, outcome, bids, asks }))
      const last = expected.down.at(-1)
      expect(levelsOf(found)).toEqual(levelsOf(expected.rows.filter((row) => row !== last)))
    })
  }

  test.skipIf(isAbsent)(`default: both outcomes a line${reason}`, async () => {
    const expected = await importCase(plain)
    const lines = expected.up.map((up, at) => {
      const books = [...sidesOf(up), ...sidesOf(expected.down[at])].map(([side, levels], index) => [
        `${index < 2 ? 'up' : 'down'}_${side}`,
        levels.map(([price, size]) => ({ price: String(price), size: String(size) })),
      ])
      const names = {
        ts: up.timestampMs,
        slug: expected.market?.slug,
        recv_ms: up.timestampMs + 40,
      }
      return JSON.stringify({ ...names, ...Object.fromEntries(books) })
    })
    const history = aHistory()
    const files = [`${folder}/in/m1.gamma.json`, await write('pair.jsonl', lines.join('\n'))]
    const { report, faults } = await run(files, { history, clock: () => Date.UTC(2026, 10, 28) })
    expect(faults).toEqual([])
    expect(report).toMatchObject({ accepted: 12, filesRefused: [] })
    const market = history.findMarket(conditionId) ?? expect.unreachable()
    const found = [...snapshotRuns(history, { market })].flat()
    expect(found.map((row) => row.receivedMs)).toEqual([...received, ...received].toSorted())
    const booksOf = (states: readonly StoredSnapshot[]) =>
      states.map(({ outcome, bids, asks }) => ({ outcome, bids, asks }))
    expect(booksOf(found)).toEqual(booksOf(expected.rows))
  })

  test.skipIf(isAbsent).each([
    ['in/f26-v2-frames.jsonl', ['in/m2.gamma-v2.json'], 12],
    ['in/f35-v1-and-v2.jsonl', ['in/m1.gamma.json', 'in/m2.gamma-v2.json'], 24],
  ])(`default: every book of %s is verified${reason}`, async (name, first, books) => {
    const { report, faults, history } = await importCase(name, first)
    expect(faults).toEqual([])
    expect(report.hashes).toEqual({
      held: books,
      verified: books,
      gaps: 0,
      mismatched: 0,
      unknown: 0,
    })
    expect([...history.verify()]).toEqual([])
  })
})
