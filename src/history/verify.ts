/** Re-reads a whole history and finds whatever does not agree with itself. */
import { silenceMs } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import { messageOf } from '#src/lib/message.ts'
import { listPageFaults, readConsistently } from '#src/sqlite/database.ts'

import { checkCoinTotals } from './tables/coin-totals.ts'
import { ownerOf } from './tables/gap-table.ts'
import { orderOf, type StoredMarket } from './tables/market-row.ts'
import type { Tables } from './tables/tables.ts'
import { createChunkVerify, newTally, type Tally, verifyRun } from './verify-run.ts'

type Progress = (done: number, total: number) => void

/** Returns the function that yields one sentence a fault; none means that the history is sound. */
export function createVerify(tables: Tables) {
  const { db, meta, markets, chunks, tails, gaps, trades, snapshots } = tables
  const verifyChunk = createChunkVerify(tables)

  function verifyTail(market: Market, tally: Tally): string[] {
    const run = tails.read(market.id)
    if (run === undefined) return []
    const faults = verifyRun({ run, market, tally, snapshots })
    return market.isClosed ? [...faults, 'its market is closed'] : faults
  }

  function verifyGaps(market: StoredMarket, tally: Tally): string[] {
    gaps.list(market)
    return outcomes.flatMap((outcome) => {
      const { times, verdicts } = tally.outcomes[outcome]
      const isSame = Object.entries({ time: times.gaps, verdict: verdicts.gaps }).every(
        ([kind, found]) => {
          const owner = ownerOf(market, outcome, kind === 'time' ? 'time' : 'verdict')
          const kept = gaps.derived(owner).map(({ fromMs, toMs }) => ({ fromMs, toMs }))
          return Bun.deepEquals(kept, found)
        },
      )
      return isSame ? [] : [`its gaps of ${outcome} differ from its rows`]
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
      for (const fault of attempt(() => verifyChunk(ref, market, tally)))
        yield `${name}, chunk ${ref.id}: ${fault}`
    }
    for (const fault of attempt(() => verifyTail(market, tally)))
      yield `${name}, unfinished run: ${fault}`
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
    yield* attempt(() => listPageFaults(db))
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
  const claims = {
    'its facts contradict each other':
      (market.winner === undefined) === (market.winnerSource === undefined) &&
      outcomes.every(
        (each) => verifiedCounts[each] === tally.outcomes[each].verdicts.verifiedCount,
      ),
    'its counts or times differ from its rows':
      tally.counts[0] === snapshotCounts.up &&
      tally.counts[1] === snapshotCounts.down &&
      tally.firstMs === firstSnapshotMs &&
      tally.last.timestampMs === lastSnapshotMs,
    'its spans or pauses differ from its rows': outcomes.every((outcome) =>
      areTimesSame(market, tally, outcome),
    ),
    'it is listed at another time than its own': market.orderMs === orderOf(market),
    'an id of it would be given again': tally.greatestId < nextId,
  }
  return Object.entries(claims).flatMap(([fault, holds]) => (holds ? [] : [fault]))
}

function areTimesSame(market: Market, tally: Tally, outcome: Outcome): boolean {
  const { times } = tally.outcomes[outcome]
  return (
    Bun.deepEquals(market.spans[outcome], times.span) &&
    market.longestSilenceMs[outcome] === times.longest
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
