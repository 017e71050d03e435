import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'

import { encodedTag, historyTagOf } from '#src/domain/tag.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Tasks } from '#src/http/tasks.ts'
import { release } from '#src/platform/release.ts'
import type { Progress } from '#src/tables/ndjson.ts'

import { exportTask, type Job } from './pieces.ts'
import type { ExportPlan } from './plan.ts'
import type { ExportReport } from './records.ts'
import type { ExportBody } from './schema.ts'

export type ExportDeps = {
  history: Pick<MarketHistory, 'cursorKey'>
  tasks: Tasks
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  createId: () => string
  /** Called when an export begins, a few times a second, and when it ends. */
  report: (now: ExportReport) => void
}

/** `level` is the service level of the account; `close` returns the slot of the stream. */
type Asked = { accountId: string; level: number; isGzip: boolean; close: () => void }

/** Interval at which the counts of a running export are reported. */
const REPORT_MS = 250
/** Fastest compression level, for text that is compressed while it is sent. */
const GZIP_LEVEL = 1
const NOTHING = new Uint8Array(0)

export function createExportService({
  history,
  tasks,
  clock,
  timer,
  createId,
  report,
}: ExportDeps) {
  async function* piecesOf(
    { format, shape, rows }: ExportPlan,
    progress: Progress,
    { accountId, level, isGzip }: Omit<Asked, 'close'>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const stored = isGzip ? 'gzip' : 'identity'
    const encoding = isStored({ format, shape }) ? stored : undefined
    const by = { owner: accountId, level }
    const job: Job = { format, shape, rows, encoding }
    for await (const { bytes, snapshots } of tasks.stream(by, exportTask, job)) {
      progress.snapshots = snapshots
      yield bytes
    }
  }

  return {
    tagOf: ({ digest }: ExportPlan, isGzip: boolean): string =>
      encodedTag(`export.${historyTagOf(history.cursorKey)}.${digest}`, isGzip),

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
          // The next piece reuses the memory, but compressed pieces may still be read.
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

/** True if rows are sent as they are stored, which is compressed. */
const isStored = ({ format, shape }: Pick<Job, 'format' | 'shape'>): boolean =>
  format === 'ndjson' &&
  shape.kind !== 'changes' &&
  shape.withReceived === undefined &&
  shape.withSource === undefined

/** One gzip member, compressed in the runtime's thread pool. */
export async function* gzipped(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  // Object mode, with at most one piece waiting.
  const source = Readable.from(pieces, { highWaterMark: 1 })
  const gzip = createGzip({ level: GZIP_LEVEL })
  source.on('error', (error) => gzip.destroy(error))
  // Written separately from the last piece: otherwise timing would decide the bytes.
  source.on('end', () => gzip.write(NOTHING, () => gzip.end()))
  try {
    for await (const piece of source.pipe(gzip, { end: false })) yield piece as Uint8Array
  } finally {
    source.destroy()
    gzip.destroy()
  }
}
