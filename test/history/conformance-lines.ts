/** The conformance suite's part on reading very much: streams of lines, and runs. */
import { describe, expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import {
  comparePositions,
  type Position,
  type Snapshot,
  type StoredSnapshot,
} from '#src/domain/snapshot.ts'
import type {
  Batch,
  Encoding,
  LineStream,
  MarketHistory,
  StreamQuery,
} from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import {
  assetIdOf,
  conditionIdOf,
  createBookMaker,
  getMarket,
  randomHash,
  simulatedSnapshots,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'
import { HistoryModel, rowsText } from './history-model.ts'

const encodings = ['identity', 'gzip'] as const
const MARKETS = 3
/** Rows that fill several pieces of either encoding. */
const MANY_ROWS = 1500

export function conformLines(use: Use): void {
  describe('lines', () => {
    for (const encoding of encodings) {
      conformStreams(use, encoding)
      conformInterruptions(use, encoding)
    }
  })
  describe('runs', () => {
    conformRuns(use)
  })
}

function conformStreams(use: Use, encoding: Encoding): void {
  test(
    `default: every row of a market is a line, in pieces of bounded size, ${encoding}`,
    use(async (history) => {
      const { model, conditionId } = await appendMany(history)
      const query = { market: getMarket(history, conditionId) }
      const { text, pieces } = readStream(history, encoding, [query])
      expect(text === linesOf(model.rows(conditionId))).toBe(true)
      expect(pieces.length).toBeGreaterThan(1)
      const sizeMax = encoding === 'gzip' ? 65_536 : 300_000
      expect(Math.max(...pieces.map(({ bytes }) => bytes.length))).toBeLessThanOrEqual(sizeMax)
    }),
  )

  test(
    `behavior: any filter of any markets, one after the other, is one stream, ${encoding}`,
    use(async (history) => {
      const random = createRandom(`streams-${encoding}`)
      const model = new HistoryModel()
      for (let batch = 0; batch < 25; batch++) {
        await appendBoth(history, model, randomBatch(random, batch))
        if (batch % 8 === 7) await history.close(conditionIdOf(1 + random.integer(MARKETS)))
        if (batch % 3 > 0) continue
        const queries = Array.from({ length: 1 + random.integer(4) }, () =>
          randomQuery({ random, model, history }),
        )
        const { text } = readStream(history, encoding, queries)
        const expected = linesOf(queries.flatMap((query) => rowsOf(model, query)))
        expect([batch, text === expected]).toEqual([batch, true])
      }
    }),
  )

  test(
    `behavior: a stream without rows is whole, ${encoding}`,
    use(async (history) => {
      const conditionId = conditionIdOf(9)
      await history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' })
      const market = getMarket(history, conditionId)
      expect(readStream(history, encoding, [{ market }])).toEqual({ text: '', pieces: [] })
      expect(readStream(history, encoding, [])).toEqual({ text: '', pieces: [] })
    }),
  )
}

function conformInterruptions(use: Use, encoding: Encoding): void {
  for (const outcome of [undefined, 'down'] as const) {
    test(
      `behavior: skips and repeats nothing while a writer appends, inserts late and closes: ${encoding}, ${outcome ?? 'both'}`,
      use(async (history) => {
        const random = createRandom(`interrupted-${encoding}`)
        const { model, conditionId } = await appendMany(history)
        const atStart = rowsOf(model, { market: getMarket(history, conditionId), outcome })
        const stream = history.lines(encoding)
        const bytes: Buffer[] = []
        const places: Position[] = []
        let batch = 0
        for (const piece of stream.rows({ market: getMarket(history, conditionId), outcome })) {
          bytes.push(Buffer.from(piece.bytes))
          places.push(piece.last)
          // The writer is not quicker than the reader for ever.
          if (batch < 40)
            await appendBoth(history, model, randomBatch(random, ++batch, conditionId))
          if (batch % 5 === 0) await history.close(conditionId)
        }
        bytes.push(Buffer.from(stream.end()))
        const text = unpack(encoding, bytes)
        const ids = new Set(idsOf(text))
        const seen = model.rows(conditionId).filter(({ id }) => ids.has(id))
        expect(text === linesOf(seen)).toBe(true)
        expect(atStart.filter(({ id }) => !ids.has(id))).toEqual([])
        expect(places).toEqual(places.toSorted(comparePositions))
        expect(seen.at(-1)).toMatchObject(places.at(-1) ?? {})
        expectSums(stream, text)
      }),
    )
  }

  test(
    `behavior: goes on behind the place of any piece, ${encoding}`,
    use(async (history) => {
      const { model, conditionId } = await appendMany(history)
      const market = getMarket(history, conditionId)
      const { pieces } = readStream(history, encoding, [{ market }])
      for (const { last, rows } of [...pieces.slice(0, 2), ...pieces.slice(-2)]) {
        const { text } = readStream(history, encoding, [{ market, after: last }])
        expect(text === linesOf(rowsOf(model, { market, after: last }))).toBe(true)
        expect(rows).toBeGreaterThan(0)
      }
    }),
  )

  test(
    `behavior: streams and pages do not disturb each other, ${encoding}`,
    use(async (history) => {
      const { model, conditionId } = await appendMany(history)
      const market = getMarket(history, conditionId)
      const texts = outcomes.map((): Buffer[] => [])
      const streams = outcomes.map((outcome) => {
        const stream = history.lines(encoding)
        return { stream, pieces: stream.rows({ market, outcome })[Symbol.iterator]() }
      })
      for (let open = streams.length; open > 0;) {
        open = 0
        streams.forEach(({ stream, pieces }, at) => {
          const { done, value } = pieces.next()
          if (!done) open++
          if (!done) texts[at]?.push(Buffer.from(value.bytes))
          if (!done) history.page({ market, order: 'desc', limit: 7 }).encode(encoding, '[', ']')
          expect(stream.textBytes).toBeGreaterThan(0)
        })
      }
      streams.forEach(({ stream }, at) => {
        const text = unpack(encoding, [...(texts[at] ?? []), Buffer.from(stream.end())])
        const outcome = outcomes[at]
        expect(text === linesOf(rowsOf(model, { market, outcome }))).toBe(true)
      })
    }),
  )
}

function conformRuns(use: Use): void {
  test(
    'behavior: gives the snapshots of any filter with their hashes, 100 at most at a time',
    use(async (history) => {
      const random = createRandom('runs')
      const model = new HistoryModel()
      for (let batch = 0; batch < 25; batch++) {
        await appendBoth(history, model, randomBatch(random, batch))
        if (batch % 8 === 7) await history.close(conditionIdOf(1 + random.integer(MARKETS)))
        const query = randomQuery({ random, model, history })
        const runs = [...snapshotRuns(history, query)]
        expect(runs.flat()).toEqual(rowsOf(model, query))
        expect(runs.every(({ length }) => length > 0 && length <= 100)).toBe(true)
      }
    }),
  )

  test(
    'behavior: each run is read when it is asked for',
    use(async (history) => {
      const { model, conditionId } = await appendMany(history)
      const random = createRandom('interrupted-runs')
      const seen: StoredSnapshot[] = []
      let batch = 0
      for (const run of snapshotRuns(history, { market: getMarket(history, conditionId) })) {
        seen.push(...run)
        if (batch < 10) await appendBoth(history, model, randomBatch(random, ++batch, conditionId))
      }
      const ids = new Set(seen.map(({ id }) => id))
      expect(seen).toEqual(model.rows(conditionId).filter(({ id }) => ids.has(id)))
      expect(ids.size).toBeGreaterThan(MANY_ROWS)
    }),
  )
}

/** Rows that fill several pieces, made when they are first needed. */
const makeMany = (() => {
  let made: readonly Snapshot[] | undefined
  return (): readonly Snapshot[] => {
    made ??= simulatedSnapshots('lines', MANY_ROWS + 1).map((snapshot) => ({
      ...snapshot,
      assetId: assetIdOf(snapshot.conditionId, snapshot.outcome),
    }))
    return made
  }
})()

/**
 * A market with many rows of both outcomes, the last of them unfinished,
 * in the history and in a model.
 */
async function appendMany(history: MarketHistory) {
  const model = new HistoryModel()
  const snapshots = makeMany()
  const [{ conditionId } = { conditionId: '' }] = snapshots
  await appendBoth(history, model, { id: 'many', source: 'simulated', snapshots })
  return { model, conditionId }
}

async function appendBoth(
  history: MarketHistory,
  model: HistoryModel,
  batch: Batch,
): Promise<void> {
  const result = await history.append(batch)
  expect(result).toEqual({ kind: 'appended', ...model.append(batch) })
}

/** Rows of some markets, or of one; some are late. */
function randomBatch(random: Random, number: number, only?: string): Batch {
  const makers = { up: createBookMaker(random), down: createBookMaker(random) }
  const snapshots = Array.from({ length: 1 + random.integer(120) }, (_, at) => {
    const conditionId = only ?? conditionIdOf(1 + random.integer(MARKETS))
    const outcome = random.pick(outcomes)
    const isLate = random.integer(12) === 0
    const second = isLate ? random.integer(number * 60 + 1) : number * 60
    return {
      ...({ coin: 'btc', timeframe: '5m', conditionId, outcome } as const),
      assetId: assetIdOf(conditionId, outcome),
      timestampMs: START_MS + second * 1000 + at,
      sourceHash: random.integer(2) === 0 ? randomHash(random) : undefined,
      ...makers[outcome](),
    }
  })
  return { id: `random-${only ?? ''}-${number}`, source: 'simulated', snapshots }
}

type World = { random: Random; model: HistoryModel; history: MarketHistory }

function randomQuery({ random, model, history }: World): StreamQuery {
  const known = Array.from({ length: MARKETS }, (_, at) => conditionIdOf(at + 1)).filter(
    (id) => model.rows(id).length > 0,
  )
  const conditionId = random.pick(known)
  const rows = model.rows(conditionId)
  const bound = (): number | undefined =>
    random.integer(3) > 0 ? undefined : random.pick(rows).timestampMs + random.integer(3) - 1
  const { timestampMs, id } = random.pick(rows)
  return {
    market: getMarket(history, conditionId),
    outcome: random.pick([undefined, undefined, ...outcomes]),
    fromMs: bound(),
    toMs: bound(),
    after: random.integer(3) > 0 ? undefined : { timestampMs, id: id + random.integer(3) - 1 },
  }
}

const rowsOf = (model: HistoryModel, { market, ...query }: StreamQuery): StoredSnapshot[] =>
  model.page(market.conditionId, { ...query, order: 'asc', limit: Number.MAX_SAFE_INTEGER }).rows

const linesOf = (rows: readonly StoredSnapshot[]): string =>
  rows.map((row) => `${rowsText([row])}\n`).join('')

const idsOf = (text: string): number[] =>
  [...text.matchAll(/^\{"id":"(\d+)"/gm)].map(([, id]) => Number(id))

/** Reads a stream of queries to its end, and checks what it says of itself. */
function readStream(history: MarketHistory, encoding: Encoding, queries: readonly StreamQuery[]) {
  const stream = history.lines(encoding)
  const pieces = queries.flatMap((query) =>
    Array.from(stream.rows(query), ({ bytes, ...piece }) => ({
      ...piece,
      bytes: Buffer.from(bytes),
    })),
  )
  const text = unpack(encoding, [...pieces.map(({ bytes }) => bytes), Buffer.from(stream.end())])
  expectSums(stream, text)
  expect(pieces.reduce((sum, { rows }) => sum + rows, 0)).toBe(text.split('\n').length - 1)
  return { text, pieces }
}

function expectSums(stream: LineStream, text: string): void {
  const { textBytes, textCrc } = stream
  expect({ textBytes, textCrc }).toEqual({
    textBytes: text.length,
    textCrc: Bun.hash.crc32(text),
  })
}

function unpack(encoding: Encoding, pieces: readonly Buffer[]): string {
  const bytes = Buffer.concat(pieces)
  return Buffer.from(encoding === 'gzip' ? Bun.gunzipSync(bytes) : bytes).toString('latin1')
}
