import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/domain/wire/snapshot-json.ts'
import { batchLines, openText } from '#src/ingest/line-source.ts'
import { simulate } from '#src/simulator/simulator.ts'

/** Where recorded books are, beside a checkout; see SOURCES.md there for licence and credit. */
const recordedFolder = new URL('../../../shared/data/polymarket/', import.meta.url).pathname

/** Every state of two days: 220,487 snapshots of 85 markets. */
export const recordedFiles = [
  'snapshots-btc-5m-20260413.jsonl.gz',
  'snapshots-btc-5m-20260414.jsonl.gz',
].map((name) => join(recordedFolder, name))

export const hasRecordedFiles = recordedFiles.every((file) => existsSync(file))

const LINES_MAX = 1000
const BATCH_BYTES_MAX = 8 * 1024 * 1024
/** One hex digit distinguishes the copies of a market. */
const COPIES_MAX = 16
/** From the asset of one outcome to a name for the other's: beyond those of all copies. */
const MIRROR_STEP = 50

/** A simulated 5-minute market has about 7,500: more of them than five million take. */
const SIMULATED_MARKETS = 700
const SIMULATED_START_MS = 1_776_000_000_000

/**
 * Yields exactly `count` snapshots, both outcomes of every market: recorded ones where the
 * recordings are, else simulated ones.
 */
export function readSnapshots(count: number): AsyncGenerator<readonly Snapshot[]> {
  return take(count, hasRecordedFiles ? readRecorded() : readSimulated())
}

async function* take(
  count: number,
  batches: AsyncIterable<readonly Snapshot[]>,
): AsyncGenerator<readonly Snapshot[]> {
  let left = count
  for await (const batch of batches) {
    yield batch.slice(0, left)
    left -= Math.min(left, batch.length)
    if (left === 0) return
  }
  throw new Error(`There are fewer than ${count} snapshots`)
}

async function* readSimulated(): AsyncGenerator<readonly Snapshot[]> {
  const batches = simulate({
    seed: 1,
    coins: ['btc'],
    timeframes: ['5m'],
    markets: SIMULATED_MARKETS,
    startMs: SIMULATED_START_MS,
  })
  for (const { snapshots } of batches) yield snapshots
}

/**
 * Yields the recorded days, and the same again under other names for as long as it is asked to.
 * Nothing is stored, so that a million costs no memory.
 */
async function* readRecorded(): AsyncGenerator<readonly Snapshot[]> {
  for (let copy = 0; copy < COPIES_MAX; copy++) {
    for (const file of recordedFiles) {
      for await (const batch of scanFile(file)) {
        yield batch.flatMap((snapshot) => mirror(rename(snapshot, copy)))
      }
    }
  }
}

async function* scanFile(file: string): AsyncGenerator<ScannedSnapshot[]> {
  const scanner = createSnapshotScanner()
  const { signal } = new AbortController()
  const limits = { linesMax: LINES_MAX, bytesMax: BATCH_BYTES_MAX }
  for await (const item of batchLines(await openText(file, signal), limits)) {
    if (item.kind !== 'lines') throw new Error(`${file}:${item.line} is too long`)
    yield scanLines(scanner, item.bytes)
  }
}

function scanLines(scanner: ReturnType<typeof createSnapshotScanner>, bytes: Uint8Array) {
  const snapshots: ScannedSnapshot[] = []
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline === -1 ? bytes.length : newline
    if (end > start) snapshots.push(scanner.scan(bytes, start, end))
    start = end + 1
  }
  return snapshots
}

/** Of every market the days have the down outcome, of few some minutes of the other too. */
function mirror(down: Snapshot): Snapshot[] {
  if (down.outcome === 'up') return []
  const { sourceHash: _, assetId, bids, asks, ...rest } = down
  const other = { ...rest, assetId: otherAsset(assetId, MIRROR_STEP) }
  return [{ ...other, outcome: 'up', bids: turn(asks), asks: turn(bids) }, down]
}

const turn = ({ prices, sizes }: Ladder): Ladder => ({
  prices: prices.map((price) => MILLIONTHS_PER_UNIT - price),
  sizes,
})

/** Copy 0 keeps its names. Others are other markets and assets, at the same times. */
function rename({ id: _, ...snapshot }: ScannedSnapshot, copy: number): Snapshot {
  if (copy === 0) return snapshot
  const { conditionId, assetId } = snapshot
  // Counted on from what is there, so that no copy meets its original again.
  const conditionEnd = (Number.parseInt(conditionId.slice(-1), 16) + copy) % COPIES_MAX
  return {
    ...snapshot,
    conditionId: conditionId.slice(0, -1) + conditionEnd.toString(16),
    assetId: otherAsset(assetId, copy),
  }
}

const otherAsset = (assetId: string, step: number) =>
  assetId.slice(0, -2) + String((Number(assetId.slice(-2)) + step) % 100).padStart(2, '0')
