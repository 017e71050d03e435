/**
 * Long work of a request, as a named function that runs on a thread of the pool. A history in memory
 * has no pool: the same function runs on this thread.
 */
import type { CursorCodec } from '#src/domain/cursor.ts'
import { AppError, type ErrorCode, type ErrorExtras } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Silence } from '#src/history/reads/with-downtime.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import { count } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Pool } from '#src/platform/pool/pool.ts'
import type { By } from '#src/platform/pool/queue.ts'
import type * as thread from '#src/platform/pool/thread.ts'

import { type DataAnswer, pack, type PackedAnswer } from './answer.ts'
import { callOf, holderOf, keepOpen } from './call.ts'
import { busyError } from './capacity.ts'
import { acceptsGzip } from './negotiation.ts'
import { ClientGoneError } from './problem.ts'

/** The history that a task reads, its cursors and its time. */
export type TaskPorts = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
}

export type Task<Given, Made> = thread.Task<TaskPorts, Given, Made>
export type StreamTask<Given, Piece> = thread.StreamTask<TaskPorts, Given, Piece>
export type AnyTask = thread.AnyTask<TaskPorts>

/** Makes data, and codes it where it is made. `make` alone is for short work. */
export type DataTask<Given> = Task<
  { given: Given; isGzip: boolean; isPage: boolean },
  PackedAnswer
> & {
  make: (ports: TaskPorts, given: Given) => DataAnswer | Promise<DataAnswer>
}

export const dataTask = <Given>(
  name: string,
  make: (ports: TaskPorts, given: Given) => DataAnswer | Promise<DataAnswer>,
): DataTask<Given> => ({
  name,
  make,
  run: async (ports, { given, isGzip, isPage }) => pack(await make(ports, given), isGzip, isPage),
})

/** The market of a request, as it is now. Throws `unknown_market` where it was deleted since. */
export function marketIn({ history }: Pick<TaskPorts, 'history'>, conditionId: string): Market {
  const market = history.findMarket(conditionId)
  if (market !== undefined) return market
  throw new AppError('unknown_market', `Market ${conditionId} was deleted because of its age.`)
}

/** The time and the silences that the answering thread knows, so that a pool thread sees the same gaps. */
export type Moment = { nowMs: number; silences: readonly Silence[] }

/** Long requests of one account, by level: paying, free, guests. */
const JOBS_MAX = [16, 4, 4] as const
export const [ACCOUNT_JOBS_MAX] = JOBS_MAX
const RETRY_SECONDS = 5
/** Seconds for which a connection that waits for its response is kept; Bun's default is ten. */
const WAIT_SECONDS_MAX = 120
/** The server takes turns with accounts that pay. */
const SERVER = { owner: 'server', level: 0 }
/** A thread of the pool is replaced at once. */
const REPLACED_SECONDS = 1

/** Short work runs in the thread that answers, and long work in the pool: the route decides. */
export type Lane = 'short' | 'long'

export type Tasks = ReturnType<typeof createTasks>

type TasksOptions = {
  /** Undefined for a history in memory. */
  pool: Pick<Pool, 'run' | 'stream' | 'waiting'> | undefined
  ports: TaskPorts
  moment: () => Moment
  jobs: ConcurrencyLimit
}

export function createTasks({ pool, ports, moment, jobs }: TasksOptions) {
  async function runOrThrow<Given, Made>(
    request: Request,
    task: Task<Given, Made>,
    given: Given,
  ): Promise<Made> {
    const by = holderOf(callOf(request))
    const ownMax = JOBS_MAX[by.level] ?? 1
    const close = jobs.open({ ...by, ownMax })
    if (close === 'account') throw tooManyError(ownMax)
    if (typeof close === 'string') throw busyError()
    try {
      if (pool === undefined) return await task.run(ports, given)
      const call = { name: task.name, given, moment: moment() }
      return (await pool.run(by, call, request.signal)) as Made
    } catch (error) {
      throw request.signal.aborted ? new ClientGoneError() : toAnswerable(error)
    } finally {
      close()
    }
  }

  async function run<Given, Made>(
    request: Request,
    task: Task<Given, Made>,
    given: Given,
  ): Promise<Made> {
    const { rehearsed, rehearsedFor } = callOf(request)
    keepOpen(request, WAIT_SECONDS_MAX)
    const known = rehearsed?.get(task.name)
    if (rehearsed?.delete(task.name)) return known as Made
    const made = await runOrThrow(request, task, given)
    if (rehearsedFor !== undefined) rehearsed?.set(task.name, made)
    return made
  }

  return {
    /** Throws `unavailable` where there is no room, and what the task throws. */
    run,

    /** Makes data. The pool also compresses it. */
    async data<Given>(
      request: Request,
      task: DataTask<Given>,
      given: Given,
      lane: Lane,
    ): Promise<DataAnswer | PackedAnswer> {
      if (lane === 'short') return task.make(ports, given)
      const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
      return run(request, task, { given, isGzip, isPage: false })
    },

    /** Makes a page as it is sent. */
    async page<Given>(
      request: Request,
      task: DataTask<Given>,
      given: Given,
      lane: Lane,
    ): Promise<PackedAnswer> {
      const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
      const asked = { given, isGzip, isPage: true }
      return lane === 'short' ? task.run(ports, asked) : run(request, task, asked)
    },

    /** Runs a task of the server itself. */
    async own<Given, Made>(task: Task<Given, Made>, given: Given): Promise<Made> {
      if (pool === undefined) return task.run(ports, given)
      try {
        return (await pool.run(SERVER, { name: task.name, given, moment: moment() })) as Made
      } catch (error) {
        throw toAnswerable(error)
      }
    },

    /** Runs a stream, whose place its caller has taken. */
    async *stream<Given, Piece>(
      by: By,
      task: StreamTask<Given, Piece>,
      given: Given,
    ): AsyncGenerator<Piece, void, undefined> {
      if (pool === undefined) {
        yield* task.stream(ports, given)
        return
      }
      try {
        const call = { name: task.name, given, moment: moment() }
        yield* pool.stream(by, call) as AsyncGenerator<Piece, void, undefined>
      } catch (error) {
        throw toAnswerable(error)
      }
    },

    /** Turns that wait for a thread. */
    waiting: (): number => pool?.waiting() ?? 0,
  }
}

const tooManyError = (ownMax: number): AppError =>
  new AppError(
    'unavailable',
    `${count(ownMax, 'long request')} of this account ${ownMax === 1 ? 'is' : 'are'} being answered. Send the next one when ${ownMax === 1 ? 'it' : 'one'} has ended.`,
    { retryAfterSeconds: RETRY_SECONDS },
  )

/** A thread that ended may have met what no other request meets. */
const toAnswerable = (error: unknown): unknown =>
  isFault(error, 'thread', 'thread_ended')
    ? new AppError('unavailable', 'The response could not be made. Send the request again.', {
        cause: error,
        retryAfterSeconds: REPLACED_SECONDS,
      })
    : error

/** An error that is copied between threads would lose what it is and its causes. */
type SentError = { message: string; code: ErrorCode; extras: ErrorExtras; cause: string }

export function toFault(error: unknown): SentError {
  const sent = toAnswerable(error)
  const { code = 'internal', extras = {} } = sent instanceof AppError ? sent : {}
  const cause = sent instanceof AppError ? sent.cause : sent
  return { message: messageOf(sent), code, extras, cause: messageOf(cause) }
}

export function toError(fault: unknown): AppError {
  const { message, code, extras, cause } = fault as SentError
  return new AppError(code, message, { ...extras, cause: new Error(cause) })
}
