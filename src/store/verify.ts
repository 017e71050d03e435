import type { Market } from '#src/core/market.ts'
/** Re-reads a whole history and finds whatever does not agree with itself. */
import { messageOf } from '#src/lib/message.ts'

import type { ChunkRef, ChunkTable } from './chunk-table.ts'
import { areHashesSound } from './codec/hashes.ts'
import { decodeTops } from './codec/tops.ts'
import { type Database, readConsistently } from './database.ts'
import type { MarketTable } from './market-table.ts'
import type { MetaTable } from './meta-table.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import type { TailTable } from './tail-table.ts'
import { type Tally, verifyRun } from './verify-run.ts'

type Tables = {
  db: Database
  meta: MetaTable
  markets: MarketTable
  chunks: ChunkTable
  tails: TailTable
  reader: SnapshotReader
}
type Progress = (done: number, total: number) => void

/** Returns the function that yields one sentence a fault; none means that the history is sound. */
export function createVerify({ db, meta, markets, chunks, tails, reader }: Tables) {
  function verifyFile(): string[] {
    const answers = db.prepare<unknown, []>('PRAGMA quick_check').values().flat()
    return answers.filter((answer) => answer !== 'ok').map((answer) => `SQLite: ${answer}`)
  }

  function findOrphans(): string[] {
    return ['chunk', 'tail'].flatMap((table) => {
      const sql = `SELECT DISTINCT market_id FROM ${table} WHERE market_id NOT IN (SELECT id FROM market)`
      const ids = db.prepare<unknown, []>(sql).values().flat()
      return ids.map((id) => `${table} table: rows of a market ${id} that is not there`)
    })
  }

  function verifyChunk(ref: ChunkRef, market: Market, tally: Tally): string[] {
    const chunk = chunks.read(ref.id)
    const [ups, downs] = tally.counts
    const outcomes = Array.from({ length: chunk.count }, (_, row) => chunk.outcome(row))
    const tops = decodeTops(chunks.loadTops(ref.id), outcomes)
    const faults = verifyRun({ run: { chunk, tops }, market, tally, reader })
    const isIndexed =
      ref.firstMs === chunk.timeMs(0) &&
      ref.firstId === chunk.id(0) &&
      ref.lastMs === tally.last.timestampMs &&
      ref.lastId === tally.last.id &&
      ref.counts[0] === tally.counts[0] - ups &&
      ref.counts[1] === tally.counts[1] - downs
    if (!isIndexed) faults.push('its index columns differ from its rows')
    if (!areHashesSound(chunks.loadHashes(ref.id), chunk.count)) {
      faults.push('its source hashes are damaged')
    }
    return faults
  }

  function verifyTail(market: Market, tally: Tally): string[] {
    const run = tails.read(market.id)
    if (run === undefined) return []
    const faults = verifyRun({ run, market, tally, reader })
    return market.isClosed ? [...faults, 'its market is closed'] : faults
  }

  function* verifyMarket(market: Market): Generator<string> {
    const last = { timestampMs: -1, id: 0 }
    const tally: Tally = { counts: [0, 0], last, firstMs: undefined, greatestId: 0 }
    const name = `market ${market.conditionId}`
    for (const ref of chunks.listRefs(market.id)) {
      for (const fault of attempt(() => verifyChunk(ref, market, tally))) {
        yield `${name}, chunk ${ref.id}: ${fault}`
      }
    }
    for (const fault of attempt(() => verifyTail(market, tally))) {
      yield `${name}, unfinished run: ${fault}`
    }
    for (const fault of verifyRow(market, tally, meta.nextId())) yield `${name}: ${fault}`
  }

  /** One state of the file, so that a market that is being written agrees with itself. */
  const verifyById = (id: number): string[] =>
    readConsistently(db, () => {
      const market = markets.findById(id)
      return market === undefined ? [] : [...verifyMarket(market)]
    })

  return function* (onProgress: Progress = () => {}): Generator<string> {
    yield* attempt(verifyFile)
    yield* attempt(findOrphans)
    let ids: number[] = []
    yield* attempt(() => {
      ids = markets.ids()
      return []
    })
    for (const [done, id] of ids.entries()) {
      for (const fault of attempt(() => verifyById(id))) yield fault
      onProgress(done + 1, ids.length)
    }
  }
}

/** Compares a market's row with what was read of the market. */
function verifyRow(market: Market, tally: Tally, nextId: number): string[] {
  const { snapshotCounts, firstSnapshotMs, lastSnapshotMs = -1, windowStartMs } = market
  const isCounted =
    tally.counts[0] === snapshotCounts.up &&
    tally.counts[1] === snapshotCounts.down &&
    tally.firstMs === firstSnapshotMs &&
    tally.last.timestampMs === lastSnapshotMs
  const isListed = market.orderMs === (windowStartMs ?? firstSnapshotMs ?? 0)
  return [
    isCounted ? '' : 'its counts or times differ from its rows',
    isListed ? '' : 'it is listed at another time than its own',
    tally.greatestId < nextId ? '' : 'an id of it would be given again',
  ].filter((fault) => fault !== '')
}

/** Faults of a part, or the one that its bytes cannot be read at all. */
function attempt(check: () => string[]): string[] {
  try {
    return check()
  } catch (error) {
    return [`cannot be read: ${messageOf(error)}`]
  }
}
