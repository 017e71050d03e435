import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

import { encodedTag, historyTagOf, tagOf } from '#src/domain/tag.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { release } from '#src/platform/release.ts'
import { type Pieces, type Progress, storedLines } from '#src/tables/ndjson.ts'

import type { Job } from './pieces.ts'
import type { ExportPlan } from './plan.ts'
import type { ExportReport } from './records.ts'
import { queriesOf } from './rows.ts'
import type { ExportBody } from './schema.ts'
import type { ExportThread } from './thread.ts'

export type ExportDeps = {
  history: MarketHistory
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  createId: () => string
  /** Makes files of columns; undefined for a history in memory. */
  thread: ExportThread | undefined
  /** Takes what is known of an export: when it begins, a few times a second, and when it ends. */
  report: (now: ExportReport) => void
  /** Waits for the turn of an account's next piece. */
  work: { turn: (accountId: string, level: number) => Promise<void> }
}

/** `level` is that of the account; `close` gives back the place of a stream. */
type Asked = { accountId: string; level: number; isGzip: boolean; close: () => void }

/** How often the counts of an export that runs are reported. */
const REPORT_MS = 250
/** For text that is compressed while it is sent: the level that costs least. */
const GZIP_LEVEL = 1
const NOTHING = new Uint8Array(0)

export function createExportService({
  history,
  thread,
  clock,
  timer,
  createId,
  report,
  work,
}: ExportDeps) {
  /** What is sent as it is stored is made here, the rest on a thread. */
  function piecesOf(
    { format, shape, rows }: ExportPlan,
    progress: Progress,
    { accountId, level, isGzip }: Omit<Asked, 'close'>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const turn = () => work.turn(accountId, level)
    const encoding = isGzip ? 'gzip' : 'identity'
    if (isStored({ format, shape }))
      return inTurns(storedLines(history, queriesOf(history, rows), progress, encoding), turn)
    const job: Job = { format, shape, rows }
    return (
      thread?.pieces(job, progress, { owner: accountId, level }) ??
      inTurns(madeHere(history, job, progress), turn)
    )
  }

  return {
    /** Names everything that decides the bytes; fit for an `ETag`. */
    tagOf({ format, shape, markets, rows }: ExportPlan, isGzip: boolean): string {
      const { outcome, fromMs, toMs, after } = rows
      const parts = [format, shape, outcome, fromMs, toMs, after]
      const revisions = markets.map(({ conditionId, revision }) => [conditionId, revision])
      const digest = tagOf(JSON.stringify([...parts, revisions]))
      return encodedTag(`export.${historyTagOf(history.cursorKey)}.${digest}`, isGzip)
    },

    /** True when nothing but a backfill can change it. */
    isClosed: ({ markets, windows }: ExportPlan): boolean =>
      clock() >= (windows?.toMs ?? 0) && markets.every((market) => market.isClosed),

    begin(plan: ExportPlan, { accountId, level, isGzip, close }: Asked) {
      const record: ExportBody = {
        exportId: `exp_${createId()}`,
        name: plan.name,
        state: 'running',
        format: plan.format,
        contentEncoding: isGzip ? 'gzip' : null,
        snapshots: 0,
        bytes: 0,
        sha256: null,
        startedAt: toIso(clock()),
        endedAt: null,
      }
      const made = piecesOf(plan, record, { accountId, level, isGzip })
      const pieces = isGzip && !isStored(plan) ? gzipped(made) : made
      const hasher = new Bun.CryptoHasher('sha256')

      async function* tracked(): typeof pieces {
        report({ accountId, record })
        let reportedMs = timer()
        for await (const piece of pieces) {
          hasher.update(piece)
          record.bytes += piece.length
          if (timer() - reportedMs >= REPORT_MS) {
            report({ accountId, record })
            reportedMs = timer()
          }
          yield piece
          // A piece is gone at the next; what is compressed may still be read.
          if (pieces === made) release(piece)
        }
      }

      function onEnd({ isWhole }: { isWhole: boolean }): void {
        close()
        record.state = isWhole ? 'complete' : 'broken_off'
        record.sha256 = isWhole ? hasher.digest('hex') : null
        record.endedAt = toIso(clock())
        report({ accountId, record })
      }

      return { exportId: record.exportId, pieces: tracked(), onEnd }
    },
  }
}

/** Of a history without a file; what makes it is loaded then. */
async function madeHere(history: MarketHistory, job: Job, progress: Progress) {
  const { makePieces } = await import('./pieces.ts')
  return makePieces(history, job, progress)
}

/** Sent as it is stored, which is compressed. */
const isStored = ({ format, shape }: Pick<Job, 'format' | 'shape'>): boolean =>
  format === 'ndjson' && shape.withReceived === undefined && shape.withSource === undefined

async function* inTurns(
  made: Pieces | Promise<Pieces>,
  turn: () => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pieces = await made
  try {
    for (;;) {
      await turn()
      const { done, value } = pieces.next()
      if (done) return
      if (value instanceof Promise) await value
      else if (value !== undefined && value.length > 0) yield value
    }
  } finally {
    pieces.return(undefined)
  }
}

/** One gzip member, compressed in the runtime's thread pool. */
export async function* gzipped(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  // Objects: a piece is taken as it is, and no more than one is waiting.
  const source = Readable.from(pieces, { highWaterMark: 1 })
  const gzip = createGzip({ level: GZIP_LEVEL })
  source.on('error', (error) => gzip.destroy(error))
  // Apart from the last piece, or the bytes would depend on whether both are there at once.
  source.on('end', () => gzip.write(NOTHING, () => gzip.end()))
  try {
    for await (const piece of source.pipe(gzip, { end: false })) yield piece as Uint8Array
  } finally {
    source.destroy()
    gzip.destroy()
  }
}
