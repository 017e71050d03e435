import { describe, expect, test } from 'bun:test'

import { createLimits } from '#src/access/limits.ts'
import { AppError } from '#src/domain/errors.ts'
import { bindCall } from '#src/http/call.ts'
import { ACCOUNT_JOBS_MAX, createTasks, type Task, type TaskPorts } from '#src/http/tasks.ts'
import { Fault } from '#src/platform/fault.ts'

import { callerOf, callFrom } from '../support/calls.ts'

type Call = (given: unknown, signal?: AbortSignal) => Promise<unknown>

const CAPACITY = 'The server is at its capacity. Try again in a moment.'

/** Tasks whose pool answers as `call` does. */
function openTasks(call: Call = (given) => Promise.resolve(given)) {
  return createTasks({
    pool: {
      run: (_, { given }, signal) => call(given, signal),
      async *stream() {
        yield* []
      },
      waiting: () => 0,
    },
    ports: {} as TaskPorts,
    moment: () => ({ nowMs: 0, silences: [] }),
    jobs: createLimits(100).jobs,
  })
}

const task: Task<string, string> = { name: 'task', run: (_, given) => given }

/** A request of an account, and for how long its connection is kept. */
function requestOf(accountId: string, tierId = 'pro', signal: AbortSignal | null = null) {
  const request = new Request('http://localhost/', { signal })
  const kept: number[] = []
  const call = callFrom({ caller: callerOf(accountId, tierId) }, kept)
  bindCall(request, call)
  return { request, call, kept }
}

/** The code, the seconds to wait and the text with which something is refused. */
async function refusalOf(made: Promise<unknown>) {
  const error = await made.then(
    () => undefined,
    (cause: unknown) => cause,
  )
  if (!(error instanceof AppError)) throw new Error('It was not refused.')
  return [error.code, error.extras.retryAfterSeconds, error.message] as const
}

/** A pool that answers nothing until it is let go on. */
function openHeld() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let begun = 0
  const tasks = openTasks(async (given) => {
    begun++
    await promise
    return given
  })
  const begin = (account: string, tierId?: string) =>
    tasks.run(requestOf(account, tierId).request, task, account)
  return { tasks, begin, goOn: resolve, begun: () => begun }
}

describe('run', () => {
  test('default: answers, and keeps the connection meanwhile', async () => {
    const { request, kept } = requestOf('a')
    expect(await openTasks().run(request, task, 'given')).toBe('given')
    expect(kept).toEqual([120])
  })

  test('error: an account has as many at a time as there are places, others are let in', async () => {
    const { begin, goOn, begun } = openHeld()
    const running = Array.from({ length: ACCOUNT_JOBS_MAX }, () => begin('a'))
    const text = '16 long requests of this account are being answered.'
    const refused = await refusalOf(begin('a'))
    expect(refused).toEqual(['unavailable', 5, expect.stringContaining(text)])
    // Nothing of it was begun.
    expect(begun()).toBe(ACCOUNT_JOBS_MAX)
    const other = begin('b')
    goOn()
    expect(await other).toBe('b')
    await Promise.all(running)
    expect(await begin('a')).toBe('a')
  })

  test('error: all accounts together have a bound, and few of them cannot shut out the others', async () => {
    const { begin, goOn } = openHeld()
    const few = Array.from({ length: 64 }, (_, index) => begin(`a${index % 8}`))
    expect(await refusalOf(begin('a0'))).toEqual(['unavailable', 5, CAPACITY])
    const others = Array.from({ length: 64 }, (_, index) => begin(`b${index}`))
    for (const account of ['b0', 'late'])
      expect(await refusalOf(begin(account))).toEqual(['unavailable', 5, CAPACITY])
    goOn()
    await Promise.all([...few, ...others])
    expect(await begin('late')).toBe('late')
  })

  test('error: where free accounts fill their part, paying ones are let in', async () => {
    const { begin, goOn } = openHeld()
    const free = Array.from({ length: 48 }, (_, index) => begin(`free${index}`, 'free'))
    expect(await refusalOf(begin('free', 'free'))).toEqual(['unavailable', 5, CAPACITY])
    const paying = Array.from({ length: ACCOUNT_JOBS_MAX }, () => begin('a'))
    goOn()
    await Promise.all([...free, ...paying])
  })

  test('error: in a flood, guests are refused first, then free accounts, and paying ones last', async () => {
    const { tasks, goOn, begin } = openHeld()
    const asGuest = (at: number) => {
      const { request, call } = requestOf(`guest ${at}`, 'free')
      const guest = { ...callerOf(`guest ${at}`, 'free'), isGuest: true } as const
      bindCall(request, { ...call, caller: undefined, guest })
      return tasks.run(request, task, 'guest')
    }
    const settled = Promise.allSettled([
      ...Array.from({ length: 150 }, (_, at) => asGuest(at)),
      ...Array.from({ length: 150 }, (_, at) => begin(`free${at}`, 'free')),
      ...Array.from({ length: 150 }, (_, at) => begin(`paying${at}`)),
    ])
    goOn()
    const answers = await settled
    const answeredOf = (level: number) => {
      const own = answers.slice(150 * level, 150 * (level + 1))
      const refused = own.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
      for (const error of refused)
        expect(error).toMatchObject({ code: 'unavailable', extras: { retryAfterSeconds: 5 } })
      return own.length - refused.length
    }
    expect([answeredOf(0), answeredOf(1), answeredOf(2)]).toEqual([24, 24, 80])
  })

  test('error: what fails gives its place back', async () => {
    const tasks = openTasks(() => Promise.reject(new TypeError('broken')))
    for (let time = 0; time <= ACCOUNT_JOBS_MAX; time++)
      expect(await tasks.run(requestOf('a').request, task, '').catch(String)).toBe(
        'TypeError: broken',
      )
  })

  test('error: a thread that dies leaves a request that may be sent again', async () => {
    const died = new Fault('The thread has ended.', { kind: 'thread_ended' })
    const made = openTasks(() => Promise.reject(died)).run(requestOf('a').request, task, '')
    expect((await refusalOf(made)).slice(0, 2)).toEqual(['unavailable', 1])
  })

  test('case gone: the pool is told that the caller has left', async () => {
    const left = new AbortController()
    const { promise, reject } = Promise.withResolvers()
    const tasks = openTasks((_, signal) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
      return promise
    })
    const made = tasks.run(requestOf('a', 'pro', left.signal).request, task, '')
    left.abort()
    expect((await refusalOf(made))[0]).toBe('unavailable')
  })

  test('behavior: what was rehearsed is made once, and sent when it is paid for', async () => {
    let made = 0
    const tasks = openTasks(async () => ++made)
    const { request, call } = requestOf('a')
    const rehearsed = new Map<string, unknown>()
    bindCall(request, { ...call, rehearsed, rehearsedFor: call.caller })
    await tasks.run(request, task, '')
    bindCall(request, { ...call, rehearsed })
    expect(String(await tasks.run(request, task, ''))).toBe('1')
    expect(String(await tasks.run(request, task, ''))).toBe('2')
  })
})
