/**
 * Makes pieces of exports on a thread of its own, with its own connection to the file: a piece when
 * it is asked for, those of several accounts in turns. Its thread gives way to the one that serves.
 */
import { setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'

import { AppError, type ErrorCode, type ErrorExtras } from '#src/domain/errors.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { messageOf } from '#src/platform/message.ts'
import { createScheduler } from '#src/platform/scheduler.ts'

import type { Job } from './pieces.ts'
import type { Progress } from './rows.ts'

type Start = { exportsOf: string }
/** Whose an export is, and the level of the caller. */
type By = { owner: string; level: number }
/** The next piece of an export, with what it is at the first; or nothing more of it. */
type Ask = By & { id: number; job?: Job | undefined; isOver?: boolean }
type Answer = {
  id: number
  /** Undefined at the end. */
  piece?: Uint8Array | undefined
  snapshots: number
  fault?: Fault | undefined
}
/** A copy of an error would lose what it is and its causes. */
type Fault = { message: string; code: ErrorCode; extras: ErrorExtras; cause: string }

/** On Linux of one thread, elsewhere of the whole process. */
const LOW_PRIORITY = 10

const ENDED = 'The thread that makes exports has ended.'

/** Pieces of exports from a history in a file. The thread begins with the first. */
export function createExportThread(path: string) {
  const asked = new Map<number, PromiseWithResolvers<Answer>>()
  let worker: Worker | undefined
  let lastId = 0

  function start(): Worker {
    const started = new Worker(import.meta.filename, {
      workerData: { exportsOf: path } satisfies Start,
    })
    started.unref()
    started.on('message', (answer: Answer) => asked.get(answer.id)?.resolve(answer))
    const fail = (error: unknown): void => {
      if (worker === started) worker = undefined
      for (const { reject } of asked.values()) reject(error)
    }
    started.on('error', fail)
    started.on('exit', () => fail(new Error(ENDED)))
    return started
  }

  async function ask(to: Worker, message: Ask): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>()
    asked.set(message.id, answer)
    try {
      to.postMessage(message)
      return await answer.promise
    } finally {
      asked.delete(message.id)
    }
  }

  return async function* pieces(
    job: Job,
    progress: Progress,
    by: By,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const id = ++lastId
    worker ??= start()
    const own = worker
    try {
      for (let first: Job | undefined = job; ; first = undefined) {
        if (worker !== own) throw new Error(ENDED)
        const { piece, snapshots, fault } = await ask(own, { ...by, id, job: first })
        if (fault !== undefined) {
          const cause = new Error(fault.cause)
          throw new AppError(fault.code, fault.message, { ...fault.extras, cause })
        }
        progress.snapshots = snapshots
        if (piece === undefined) return
        yield piece
      }
    } finally {
      own.postMessage({ ...by, id, isOver: true } satisfies Ask)
    }
  }
}

function toFault(error: unknown): Fault {
  const { code = 'internal', extras = {} } = error instanceof AppError ? error : {}
  const cause = error instanceof AppError ? error.cause : error
  return { message: messageOf(error), code, extras, cause: messageOf(cause) }
}

async function run({ exportsOf }: Start): Promise<void> {
  // Not where the thread is only asked: a start is spared the writer of Parquet.
  const { makePieces } = await import('./pieces.ts')
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  let history: MarketHistory | undefined
  const scheduler = createScheduler()
  const running = new Map<number, { pieces: Generator<Uint8Array>; progress: Progress }>()

  function begin(job: Job) {
    const progress = { snapshots: 0 }
    history ??= openHistory(exportsOf, { isReadOnly: true, chunkCacheBytes: 0 })
    return { pieces: makePieces(history, job, progress), progress }
  }

  function next({ id, job }: Ask): Answer {
    const work = running.get(id) ?? (job && begin(job))
    if (work === undefined) throw new Error('An export goes on that was never begun.')
    running.set(id, work)
    let piece: Uint8Array | undefined
    do piece = work.pieces.next().value ?? undefined
    while (piece?.length === 0)
    return { id, piece, snapshots: work.progress.snapshots }
  }

  function end(id: number): void {
    running.get(id)?.pieces.return(undefined)
    running.delete(id)
    if (running.size > 0) return
    history?.dispose()
    history = undefined
    // Statements keep the file open until they are collected, and this turn still holds some.
    setTimeout(() => Bun.gc(true), 0)
  }

  async function answer(message: Ask): Promise<void> {
    if (message.isOver) {
      end(message.id)
      return
    }
    await scheduler.take(message.owner, message.level)
    const found = attempt(message)
    const { piece } = found
    parentPort?.postMessage(found, piece === undefined ? [] : [piece.buffer as ArrayBuffer])
  }

  function attempt(message: Ask): Answer {
    try {
      return next(message)
    } catch (error) {
      return { id: message.id, snapshots: 0, fault: toFault(error) }
    }
  }

  parentPort?.on('message', (message: Ask) => void answer(message))
}

if ((workerData as Start | null)?.exportsOf !== undefined) void run(workerData as Start)
