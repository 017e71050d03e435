/**
 * Makes pieces of exports on a thread of its own, with its own connection to the file: a piece when
 * it is asked for, those of several accounts in turns. Its thread gives way to the one that serves.
 */

import { AppError, type ErrorCode, type ErrorExtras } from '#src/domain/errors.ts'
import { addCounts, type MarketHistory, nothingAsked } from '#src/history/history.ts'
import { openHistory, prepareHistory } from '#src/history/open.ts'
import { messageOf } from '#src/platform/message.ts'
import { createScheduler } from '#src/platform/scheduler.ts'
import { defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'
import type { Pieces, Progress } from '#src/tables/ndjson.ts'

import type { Job } from './pieces.ts'

/** Where the history is, and what keeps chunks that are fetched from the archive. */
type Store = Pick<MarketHistory, 'chunkCache'> & { path: string }

/** Whose an export is, and the level of the caller. */
type By = { owner: string; level: number }
/** The next piece of an export, with what it is at the first; or nothing more of it. */
type Ask = By & { id: number; job?: Job | undefined; isOver?: boolean }
type Answer = {
  /** Undefined at the end. */
  piece?: Uint8Array | undefined
  snapshots: number
  /** What this thread has asked of the bucket since it began. */
  bucket: typeof nothingAsked
  fault?: SentError | undefined
}
/** An error that is copied between threads would lose what it is and its causes. */
type SentError = { message: string; code: ErrorCode; extras: ErrorExtras; cause: string }

/** Pieces of exports from a history in a file. The thread begins with the first. */
export function createExportThread(store: Store) {
  let thread: Thread<never, Ask> | undefined
  let lastId = 0
  /** Of threads that have ended, and of the one that runs. */
  let before = nothingAsked
  let now = nothingAsked

  function start(): Thread<never, Ask> {
    before = addCounts(before, now)
    now = nothingAsked
    return exportWorker.start(store)
  }

  async function* pieces(
    job: Job,
    progress: Progress,
    by: By,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const id = ++lastId
    if (thread === undefined || thread.hasEnded()) thread = start()
    const own = thread
    try {
      for (let first: Job | undefined = job; ; first = undefined) {
        const request = { ...by, id, job: first }
        const { piece, snapshots, bucket, fault } = await own.ask<Answer>(request)
        if (own === thread) now = bucket
        if (fault !== undefined) {
          const cause = new Error(fault.cause)
          throw new AppError(fault.code, fault.message, { ...fault.extras, cause })
        }
        progress.snapshots = snapshots
        if (piece === undefined) return
        yield piece
      }
    } finally {
      own.send({ ...by, id, isOver: true })
    }
  }

  return {
    pieces,
    /** What was asked of the bucket for exports. */
    archiveCounts: () => addCounts(before, now),
  }
}

export type ExportThread = ReturnType<typeof createExportThread>

function toFault(error: unknown): SentError {
  const { code = 'internal', extras = {} } = error instanceof AppError ? error : {}
  const cause = error instanceof AppError ? error.cause : error
  return { message: messageOf(error), code, extras, cause: messageOf(cause) }
}

async function makeExports(
  { path, chunkCache }: Store,
  parent: Parent<never, Ask>,
): Promise<never> {
  // Not where the thread is only asked: a start is spared the writer of Parquet.
  const { makePieces } = await import('./pieces.ts')
  await prepareHistory(path)
  let history: MarketHistory | undefined
  /** Of histories that were closed. */
  let bucketBefore = nothingAsked
  const bucketNow = () => addCounts(bucketBefore, history?.archiveCounts() ?? nothingAsked)
  const scheduler = createScheduler()
  const running = new Map<number, { pieces: Pieces; progress: Progress }>()

  function begin(job: Job) {
    const progress = { snapshots: 0 }
    history ??= openHistory(path, {
      chunkCacheBytes: 0,
      isReadOnly: true,
      isServing: true,
      chunkCache,
    })
    return { pieces: makePieces(history, job, progress), progress }
  }

  async function next({ id, job }: Ask): Promise<Answer> {
    const work = running.get(id) ?? (job && begin(job))
    if (work === undefined) throw new Error('An export goes on that was never begun.')
    running.set(id, work)
    for (;;) {
      const { done, value } = work.pieces.next()
      if (value instanceof Promise) await value
      else if (done || (value !== undefined && value.length > 0))
        return {
          piece: value ?? undefined,
          snapshots: work.progress.snapshots,
          bucket: bucketNow(),
        }
    }
  }

  function end(id: number): void {
    running.get(id)?.pieces.return(undefined)
    running.delete(id)
    if (running.size > 0) return
    bucketBefore = bucketNow()
    history?.dispose()
    history = undefined
    // Statements keep the file open until they are collected, and this turn still holds some.
    setTimeout(() => Bun.gc(true), 0)
  }

  async function attempt(message: Ask): Promise<Answer> {
    try {
      return await next(message)
    } catch (error) {
      return { snapshots: 0, bucket: bucketNow(), fault: toFault(error) }
    }
  }

  return parent.receive(async (message, moved) => {
    if (message.isOver) {
      end(message.id)
      return undefined
    }
    await scheduler.take(message.owner, message.level)
    const answer = await attempt(message)
    if (answer.piece !== undefined) moved.push(answer.piece.buffer as ArrayBuffer)
    return answer
  })
}

const exportWorker = defineWorker(
  { name: 'exports', purpose: 'makes exports', isLowPriority: true },
  makeExports,
)
