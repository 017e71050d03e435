/** Re-reads one run of rows, sealed or not, and finds whatever does not agree with itself. */
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/core/snapshot.ts'
import { crc32 } from '#src/lib/crc32.ts'
import { venues } from '#src/venue/venues.ts'

import { ChunkDecoder } from './codec/chunk-decoder.ts'
import { type Chunk, outcomeCodes } from './codec/chunk.ts'
import { decodeTops, TOP_FIELDS, topOf, type TopOfBook } from './codec/tops.ts'
import type { ChunkRef, ReadBeside } from './tables/chunk-table.ts'
import type { Tables } from './tables/tables.ts'
import { newOutcomeTallies, type OutcomeTally } from './writes/tallies.ts'

/** A run as it is stored. */
export type StoredRun = { chunk: Chunk; tops: Float64Array; beside: ReadBeside }

/** What has been read of a market so far. */
export type Tally = {
  counts: [number, number]
  last: Position
  firstMs: number | undefined
  greatestId: number
  outcomes: Record<Outcome, OutcomeTally>
}

export const newTally = (quietMs: number): Tally => ({
  counts: [0, 0],
  last: { timestampMs: -1, id: 0 },
  firstMs: undefined,
  greatestId: 0,
  outcomes: newOutcomeTallies(quietMs),
})

const COMMA = Uint8Array.of(0x2c)
const verifier = venues.polymarket.createBookVerifier()
const texts = { sequential: new ChunkDecoder(), single: new ChunkDecoder() }

type Check = { run: StoredRun; market: Market; tally: Tally } & Pick<Tables, 'snapshots'>

/** Returns the faults of a run, each a sentence; adds what it holds to `tally`. */
export function verifyRun({ run, market, tally, snapshots }: Check): string[] {
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
      'best bid and ask columns agree': isSameTop(topOf(snapshot), run.tops, row),
      'row belongs to its market': belongsTo(snapshot, market),
      'its verdict is that of its hash':
        isVerified === undefined || isVerified === verifier.verify(snapshot),
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
    const { row } = chunk.checkpoint(index)
    const text = texts.single.textWithComma(chunk, row)
    const isSame = crc32(text, row === 0 ? 0 : chunk.crc(row - 1)) === chunk.crc(row)
    if (!isSame) faults.push(`row ${row}: its checkpoint leads to another text`)
  }
  return faults
}

/** Returns the function that does so for a sealed chunk, as it is in the file. Throws `Damage`. */
export function createChunkVerify({ chunks, snapshots }: Tables) {
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

const isSameTop = (top: TopOfBook, stored: Float64Array, row: number): boolean =>
  top.every((value, at) => value === stored[row * TOP_FIELDS + at])

const belongsTo = (snapshot: StoredSnapshot, market: Market): boolean =>
  snapshot.conditionId === market.conditionId &&
  snapshot.coin === market.coin &&
  snapshot.timeframe === market.timeframe &&
  snapshot.assetId === market.assetIds[snapshot.outcome]
