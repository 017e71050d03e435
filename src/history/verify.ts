/** Re-reads a whole history and finds whatever does not agree with itself. */
import { silenceMs, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import { messageOf } from '#src/lib/message.ts'
import { type Database, readConsistently } from '#src/sqlite/database.ts'

import { outcomeCodes } from './codec/chunk.ts'
import type { SnapshotReader } from './reads/snapshot-reader.ts'
import type { ChunkTable } from './tables/chunk-table.ts'
import { gapKinds, type GapOwner, type GapTable } from './tables/gap-table.ts'
import type { StoredMarket } from './tables/market-row.ts'
import { type MarketTable, orderOf } from './tables/market-table.ts'
import type { MetaTable } from './tables/meta-table.ts'
import type { TailTable } from './tables/tail-table.ts'
import type { TradeTable } from './tables/trade-table.ts'
import { checkCoinTotals, checkPages } from './verify-file.ts'
import { createChunkVerify, newTally, type Tally, verifyRun } from './verify-run.ts'

type Tables = {
  db: Database
  meta: MetaTable
  markets: MarketTable
  chunks: ChunkTable
  tails: TailTable
  gaps: GapTable
  trades: TradeTable
  reader: SnapshotReader
}

type Progress = (done: number, total: number) => void

/** Returns the function that yields one sentence a fault; none means that the history is sound. */
export function createVerify({ db, meta, markets, chunks, tails, reader, ...tables }: Tables) {
  const { gaps, trades } = tables
  const verifyChunk = createChunkVerify({ chunks, reader })

  function verifyTail(market: Market, tally: Tally): string[] {
    const run = tails.read(market.id)
    if (run === undefined) return []
    const faults = verifyRun({ run, market, tally, reader })
    return market.isClosed ? [...faults, 'its market is closed'] : faults
  }

  function verifyGaps(market: StoredMarket, tally: Tally): string[] {
    gaps.list(market)
    return outcomes.flatMap((outcome) => {
      const { silences, verdicts } = tally.outcomes[outcome]
      const isSame = (kind: GapOwner['kind'], found: readonly Span[]): boolean => {
        const owner = { marketId: market.id, outcome: outcomeCodes[outcome], kind }
        const kept = gaps.derived(owner).map(({ fromMs, toMs }) => ({ fromMs, toMs }))
        return Bun.deepEquals(kept, found)
      }
      return isSame(gapKinds.silence, silences.gaps) &&
        isSame(gapKinds.contradiction, verdicts.gaps)
        ? []
        : [`its gaps of ${outcome} differ from its rows`]
    })
  }

  function verifyTrades(market: StoredMarket): string[] {
    trades.list({ market })
    return trades.sum(market.id) === market.tradeSum ? [] : ['its trades are not all there']
  }

  function* verifyMarket(market: StoredMarket): Generator<string> {
    const tally = newTally(silenceMs(market.timeframe))
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
    for (const fault of attempt(() => verifyGaps(market, tally))) yield `${name}: ${fault}`
    for (const fault of attempt(() => verifyTrades(market))) yield `${name}: ${fault}`
  }

  /** One state of the file, so that a market that is being written agrees with itself. */
  const verifyById = (id: number): string[] =>
    readConsistently(db, () => {
      const market = markets.findById(id)
      return market === undefined ? [] : [...verifyMarket(market)]
    })

  return function* (onProgress: Progress = () => {}): Generator<string> {
    yield* attempt(() => checkPages(db))
    yield* attempt(() => checkCoinTotals(db))
    yield* attempt(() => readConsistently(db, meta.verify))
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
  const { snapshotCounts, verifiedCounts, firstSnapshotMs, lastSnapshotMs = -1 } = market
  const isCounted =
    tally.counts[0] === snapshotCounts.up &&
    tally.counts[1] === snapshotCounts.down &&
    tally.firstMs === firstSnapshotMs &&
    tally.last.timestampMs === lastSnapshotMs
  const isListed = market.orderMs === orderOf(market)
  const areFactsWhole =
    (market.winner === undefined) === (market.winnerSource === undefined) &&
    outcomes.every(
      (outcome) => verifiedCounts[outcome] === tally.outcomes[outcome].verdicts.verifiedCount,
    )
  return [
    areFactsWhole ? '' : 'its facts contradict each other',
    isCounted ? '' : 'its counts or times differ from its rows',
    outcomes.every((outcome) => areTimesSame(market, tally, outcome))
      ? ''
      : 'its spans or silences differ from its rows',
    isListed ? '' : 'it is listed at another time than its own',
    tally.greatestId < nextId ? '' : 'an id of it would be given again',
  ].filter((fault) => fault !== '')
}

function areTimesSame(market: Market, tally: Tally, outcome: Outcome): boolean {
  const span = market.spans[outcome]
  const { firstMs, lastMs, longestMs } = tally.outcomes[outcome].silences
  return (
    (span?.firstMs ?? -1) === firstMs &&
    (span?.lastMs ?? -1) === lastMs &&
    (market.longestSilenceMs[outcome] ?? -1) === longestMs
  )
}

/** Faults of a part, or the one that its bytes cannot be read at all. */
function attempt(check: () => string[]): string[] {
  try {
    return check()
  } catch (error) {
    return [`cannot be read: ${messageOf(error)}`]
  }
}
