/** Verifies that the parts of a history agree. */

import { isStorageError, readConsistently } from '#src/database/database.ts'
import { listFaults } from '#src/database/sqlite/database.ts'
import { silenceMs } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { messageOf } from '#src/platform/message.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { decodeTops, TOP_FIELDS, topOf } from './codec/beside.ts'
import { ChunkDecoder } from './codec/chunk-decoder.ts'
import { type Chunk, outcomeCodes } from './codec/chunk.ts'
import type { ChunkRef, ReadBeside } from './tables/chunk-table.ts'
import { ownerOf } from './tables/gap-table.ts'
import { checkCoinTotals } from './tables/market-list.ts'
import { orderOf, type StoredMarket } from './tables/market-table.ts'
import type { Tables } from './tables/tables.ts'
import { newOutcomeTallies, type OutcomeTally } from './writes/coverage.ts'

/**
 * Creates the verification, which yields one sentence per fault; none means that the history is
 * sound.
 */
export function createVerify(tables: Tables) {
  const { db, meta, markets, chunks, tails, gaps, trades, snapshots } = tables
  const { spot, revisions, manifests, segments, evidence, windowOutcomes, recorders } = tables
  const { tradeChain } = tables
  const verifyChunk = createChunkVerify(tables)

  function verifyTail(market: Market, tally: Tally): string[] {
    const run = tails.read(market.id)
    if (run === undefined) return []
    const faults = verifyRun({ run, market, tally, snapshots })
    return market.isClosed ? [...faults, 'its market is closed'] : faults
  }

  function verifyGaps(market: StoredMarket, tally: Tally): string[] {
    gaps.list(market)
    const spansOf = (outcome: Outcome, kind: 'time' | 'verdict') =>
      gaps.derived(ownerOf(market, outcome, kind)).map(({ fromMs, toMs }) => ({ fromMs, toMs }))
    return outcomes.flatMap((outcome) => {
      const { times, verdicts } = tally.outcomes[outcome]
      const kept = [spansOf(outcome, 'time'), spansOf(outcome, 'verdict')]
      const isSame = Bun.deepEquals(kept, [times.gaps, verdicts.gaps])
      return isSame ? [] : [`its gaps of ${outcome} differ from its rows`]
    })
  }

  function verifyTrades(market: StoredMarket): string[] {
    trades.assertAll(market.id)
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

  /** Reads one state of the file, so that concurrent writes cause no false faults. */
  const verifyById = (id: number): string[] =>
    readConsistently(db, () => {
      const market = markets.findById(id)
      return market === undefined ? [] : [...verifyMarket(market)]
    })

  return function* (onProgress = (_done: number, _total: number): void => {}): Generator<string> {
    yield* attempt(() => listFaults(db))
    yield* attempt(() => checkCoinTotals(db))
    const parts = [
      meta,
      spot,
      revisions,
      manifests,
      segments,
      evidence,
      windowOutcomes,
      recorders,
      tradeChain,
    ]
    for (const each of parts) yield* attempt(() => readConsistently(db, each.verify))
    let ids: number[] = []
    yield* attempt(() => {
      ids = markets.ids()
      return []
    })
    for (const [done, id] of ids.entries()) {
      yield* attempt(() => verifyById(id))
      onProgress(done + 1, ids.length)
    }
  }
}

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
    'its spans or pauses differ from its rows': outcomes.every((outcome) => {
      const { span, longest } = tally.outcomes[outcome].times
      return (
        Bun.deepEquals(market.spans[outcome], span) && market.longestSilenceMs[outcome] === longest
      )
    }),
    'it is listed at another time than its own': market.orderMs === orderOf(market),
    'an id of it would be given again': tally.greatestId < nextId,
  }
  return Object.entries(claims).flatMap(([fault, holds]) => (holds ? [] : [fault]))
}

/** The faults of a part, or one fault if its bytes cannot be read at all. */
function attempt(check: () => string[]): string[] {
  try {
    return check()
  } catch (error) {
    // A storage error reveals nothing about the stored data.
    if (isStorageError(error)) throw error
    return [`cannot be read: ${messageOf(error)}`]
  }
}

type Tally = {
  counts: [number, number]
  last: Position
  firstMs: number | undefined
  greatestId: number
  outcomes: Record<Outcome, OutcomeTally>
}

const newTally = (quietMs: number): Tally => ({
  counts: [0, 0],
  last: { timestampMs: -1, id: 0 },
  firstMs: undefined,
  greatestId: 0,
  outcomes: newOutcomeTallies(quietMs),
})

const COMMA = Uint8Array.of(0x2c)
const verifier = homeVenue.createBookVerifier()

/** Checks a negative verdict quickly: proving again that no recipe matches is slow. */
function isVerdictSound(snapshot: StoredSnapshot): boolean {
  const { isVerified } = snapshot
  if (isVerified === undefined) return true
  return isVerified === (verifier.verify(snapshot, { isQuick: !isVerified }) ?? false)
}

const texts = { sequential: new ChunkDecoder(), single: new ChunkDecoder() }

type Check = Pick<Tables, 'snapshots'> & {
  run: { chunk: Chunk; tops: Float64Array; beside: ReadBeside }
  market: Market
  tally: Tally
}

/** Returns the faults of a run, each a sentence; adds its rows to `tally`. */
function verifyRun({ run, market, tally, snapshots }: Check): string[] {
  const { chunk } = run
  const faults: string[] = []
  let crc = 0
  const ownCrcs: [number, number] = [0, 0]
  texts.sequential.forEach(chunk, (text, row) => {
    const outcome = chunk.outcome(row) === outcomeCodes.down ? 1 : 0
    crc = crc32(text, crc32(COMMA, crc))
    ownCrcs[outcome] = crc32(text, crc32(COMMA, ownCrcs[outcome]))
    const snapshot = snapshots.scan(text, run.beside(row, chunk.timeMs(row)))
    const { isVerified } = snapshot
    const claims = {
      'CRC column agrees': crc === chunk.crc(row),
      'own CRC column agrees': !chunk.hasBoth || ownCrcs[outcome] === chunk.ownCrc(row),
      'length column agrees': text.length + 1 === chunk.textEnd(row) - chunk.textStart(row),
      'time column agrees': snapshot.timestampMs === chunk.timeMs(row),
      'id column agrees': snapshot.id === chunk.id(row),
      'outcome column agrees': (snapshot.outcome === 'down') === (outcome === 1),
      'row comes after the one before': comparePositions(snapshot, tally.last) > 0,
      'best bid and ask columns agree': topOf(snapshot).every(
        (value, at) => value === run.tops[row * TOP_FIELDS + at],
      ),
      'row belongs to its market': belongsTo(snapshot, market),
      'its verdict is that of its hash': isVerdictSound(snapshot),
    }
    for (const [claim, holds] of Object.entries(claims))
      if (!holds) faults.push(`row ${row}: not so: ${claim}`)
    tally.last = { timestampMs: snapshot.timestampMs, id: snapshot.id }
    tally.firstMs ??= snapshot.timestampMs
    tally.greatestId = Math.max(tally.greatestId, snapshot.id)
    tally.counts[outcome]++
    const { times, verdicts } = tally.outcomes[outcomes[outcome]]
    times.add(snapshot.timestampMs)
    verdicts.add(snapshot.timestampMs, isVerified)
  })
  for (let index = 0; index < chunk.checkpointCount; index++) {
    // Throws if the checkpoint does not give the text of its row.
    texts.single.textWithComma(chunk, chunk.checkpoint(index).row)
  }
  return faults
}

/** Creates the same check for a sealed chunk in the file. Throws a `damage` fault. */
function createChunkVerify({ chunks, snapshots }: Tables) {
  return (ref: ChunkRef, market: Market, tally: Tally): string[] => {
    const chunk = chunks.read(ref)
    const [ups, downs] = tally.counts
    const tops = decodeTops(chunks.readBlob('tops', ref), chunk.outcomes())
    const beside = chunks.loadBeside(ref, chunk)
    const faults = verifyRun({ run: { chunk, tops, beside }, market, tally, snapshots })
    const isIndexed =
      ref.firstMs === chunk.timeMs(0) &&
      ref.firstId === chunk.id(0) &&
      ref.lastMs === tally.last.timestampMs &&
      ref.lastId === tally.last.id &&
      ref.counts[0] === tally.counts[0] - ups &&
      ref.counts[1] === tally.counts[1] - downs
    if (!isIndexed) faults.push('its index columns differ from its rows')
    return faults
  }
}

const belongsTo = (snapshot: StoredSnapshot, market: Market): boolean =>
  snapshot.conditionId === market.conditionId &&
  snapshot.coin === market.coin &&
  snapshot.timeframe === market.timeframe &&
  snapshot.assetId === market.assetIds[snapshot.outcome]
