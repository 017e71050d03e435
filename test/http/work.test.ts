import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createLimits } from '#src/access/limits.ts'
import { AppError } from '#src/domain/errors.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { bindVisit, type Visit } from '#src/http/visit.ts'
import { ACCOUNT_JOBS_MAX, createWork } from '#src/http/work.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Steps } from '#src/platform/scheduler.ts'

/** Every look at the timer is a millisecond, so a slice has a handful of steps. */
function createWatched({ streamsMax = 100, lookMs = 1 } = {}) {
  let nowMs = 0
  const timer = () => (nowMs += lookMs)
  return createWork({ timer, limits: createLimits(streamsMax) })
}

/** A request of an account, and for how long its connection is kept. */
function requestOf(
  accountId: string,
  { tierId = 'pro', signal = null as AbortSignal | null, isLong = false } = {},
) {
  const request = new Request('http://localhost/', { signal })
  const terms = defaultTiers.find((tier) => tier.tierId === tierId)
  if (terms === undefined) throw new Error(`No tier ${tierId}.`)
  const kept: number[] = []
  const visit: Visit = {
    caller: {
      accountId,
      keyId: accountId,
      familyId: accountId,
      isBlocked: false,
      standing: { terms, subscription: undefined, untilMs: Infinity },
    },
    rate: { limit: 1, remaining: 1, leftMs: 1 },
    isCounted: true,
    enteredMs: 0,
    refusal: undefined,
    route: '',
    isLong,
    keepOpen: (seconds) => void kept.push(seconds),
  }
  bindVisit(request, visit)
  return { request, visit, kept }
}

function* stepsOf(count: number, onStep: () => void = () => {}): Steps<number> {
  for (let step = 0; step < count; step++) {
    onStep()
    yield
  }
  return count
}

/** The code and the seconds to wait with which something is refused. */
async function refusalOf(body: () => unknown): Promise<[string, number | undefined]> {
  try {
    await body()
  } catch (error) {
    if (error instanceof AppError) return [error.code, error.extras.retryAfterSeconds]
    throw error
  }
  throw new Error('It was not refused.')
}

describe('run', () => {
  test('default: short work is done at once, and its connection is let alone', () => {
    const { request, kept } = requestOf('a')
    expect(createWatched().run(request, stepsOf(2))).toBe(2)
    expect(kept).toEqual([])
  })

  test('behavior: short work does not queue behind the long work of others', async () => {
    const work = createWatched()
    const long = Array.from({ length: 3 }, () => work.run(requestOf('a').request, stepsOf(50)))
    expect(work.waiting()).toBeGreaterThan(0)
    expect(work.run(requestOf('b').request, stepsOf(2))).toBe(2)
    expect(await Promise.all(long)).toEqual([50, 50, 50])
  })

  test('behavior: long work is done in turns, and its connection is kept meanwhile', async () => {
    const { request, kept } = requestOf('a')
    let steps = 0
    let most = 0
    const done = createWatched().run(
      request,
      stepsOf(100, () => steps++),
    )
    expect(done).toBeInstanceOf(Promise)
    for (let before = steps; steps < 100; before = steps) {
      await setImmediate()
      most = Math.max(most, steps - before)
    }
    expect(await done).toBe(100)
    expect(most).toBeLessThanOrEqual(5)
    expect(kept).toEqual([120])
  })

  test('behavior: who does much waits for himself', async () => {
    const work = createWatched()
    let greedy = 0
    let own = 0
    const many = Array.from({ length: ACCOUNT_JOBS_MAX }, () =>
      work.run(
        requestOf('greedy').request,
        stepsOf(500, () => greedy++),
      ),
    )
    const before = greedy
    await work.run(
      requestOf('other').request,
      stepsOf(100, () => own++),
    )
    // One slice of theirs for each of its own, whoever many they are.
    expect(own).toBe(100)
    expect(greedy - before).toBeLessThan(200)
    await Promise.all(many)
  })

  test('error: an account has as many at a time as there are places, others are let in', async () => {
    const work = createWatched()
    const begin = (account: string) => work.run(requestOf(account).request, stepsOf(50))
    const running = Array.from({ length: ACCOUNT_JOBS_MAX }, () => begin('a'))
    expect(await refusalOf(() => begin('a'))).toEqual(['unavailable', 5])
    expect(await begin('b')).toBe(50)
    await Promise.all(running)
    expect(await begin('a')).toBe(50)
  })

  test('error: a request that is long is refused before anything of it is done', async () => {
    const work = createWatched()
    let steps = 0
    const begin = (isLong: boolean, count = 50) =>
      work.run(
        requestOf('a', { isLong }).request,
        stepsOf(count, () => steps++),
      )
    const running = Array.from({ length: ACCOUNT_JOBS_MAX }, () => begin(true))
    steps = 0
    expect(await refusalOf(() => begin(true))).toEqual(['unavailable', 5])
    expect(steps).toBe(0)
    // What is not known to be long is, after the first millisecond.
    expect(await refusalOf(() => begin(false))).toEqual(['unavailable', 5])
    expect(steps).toBe(1)
    expect(begin(false, 0)).toBe(0)
    await Promise.all(running)
    expect(await begin(true)).toBe(50)
  })

  test('behavior: a long request that is done at once, or fails, gives its place back', async () => {
    const work = createWatched()
    const { request } = requestOf('a', { isLong: true })
    // biome-ignore lint/correctness/useYield: it fails before
    function* failing(): Steps<void> {
      throw new RangeError('away')
    }
    for (let count = 0; count <= ACCOUNT_JOBS_MAX; count++) {
      expect(work.run(request, stepsOf(2))).toBe(2)
      expect(() => work.run(request, failing())).toThrow('away')
    }
    expect(await work.run(request, stepsOf(50))).toBe(50)
  })

  test('error: all accounts together have a bound, and few of them cannot shut out the others', async () => {
    const work = createWatched()
    const begin = (account: string) => work.run(requestOf(account).request, stepsOf(20))
    const few = Array.from({ length: 64 }, (_, index) => begin(`a${index % 8}`))
    expect(await refusalOf(() => begin('a0'))).toEqual(['unavailable', 5])
    const others = Array.from({ length: 64 }, (_, index) => begin(`b${index}`))
    expect(await refusalOf(() => begin('b0'))).toEqual(['unavailable', 5])
    expect(await refusalOf(() => begin('late'))).toEqual(['unavailable', 5])
    await Promise.all([...few, ...others])
    expect(await begin('late')).toBe(20)
  })

  test('behavior: work that waits for data goes on once it is there, and takes no place meanwhile', async () => {
    const work = createWatched()
    const { promise, resolve } = Promise.withResolvers<string>()
    function* waiting(): Steps<string> {
      yield promise
      yield
      return 'there'
    }
    const many = Array.from({ length: 2 * ACCOUNT_JOBS_MAX }, () =>
      work.run(requestOf('a').request, waiting()),
    )
    expect(await work.run(requestOf('a').request, stepsOf(50))).toBe(50)
    resolve('data')
    expect(new Set(await Promise.all(many))).toEqual(new Set(['there']))
  })

  test('error: what data cannot be had for is thrown into the work', async () => {
    const work = createWatched()
    const seen: unknown[] = []
    function* failing(): Steps<void> {
      try {
        yield Promise.reject(new RangeError('away'))
      } catch (error) {
        seen.push(error)
        throw error
      }
    }
    const running = async () => await work.run(requestOf('a').request, failing())
    expect(running()).rejects.toThrow('away')
    await setImmediate()
    await setImmediate()
    expect(seen).toEqual([new RangeError('away')])
    const begun = async () => await work.begin(failing())
    expect(begun()).rejects.toThrow('away')
  })

  test('error: what fails is over, and its place free', async () => {
    const work = createWatched()
    function* broken(): Steps<void> {
      yield* stepsOf(20)
      throw new TypeError('broken')
    }
    for (let time = 0; time <= ACCOUNT_JOBS_MAX; time++) {
      const failing = Promise.try(() => work.run(requestOf('a').request, broken()))
      expect(await failing.catch(messageOf)).toBe('broken')
    }
  })

  test('case gone: the work of a caller who hung up is not gone on with', async () => {
    const hangUp = new AbortController()
    const { request } = requestOf('a', { signal: hangUp.signal })
    let steps = 0
    const done = createWatched().run(
      request,
      stepsOf(1000, () => steps++),
    )
    hangUp.abort()
    expect((await refusalOf(() => done))[0]).toBe('unavailable')
    expect(steps).toBeLessThan(20)
  })
})

describe('openStream', () => {
  test.each([
    ['free', 1],
    ['starter', 2],
    ['pro', 4],
    ['enterprise', 16],
  ])('default: the %s tier has %d at a time', async (tierId, count) => {
    const work = createWatched()
    const open = (account = 'a') => work.openStream(requestOf(account, { tierId }).request)
    const closes = Array.from({ length: count }, () => open())
    expect(await refusalOf(() => open())).toEqual(['too_many_streams', 5])
    open('b')
    closes[0]?.()
    // Closed twice is closed once.
    closes[0]?.()
    open()
    expect(await refusalOf(() => open())).toEqual(['too_many_streams', 5])
  })

  test.each([
    ['free', 1, '1 stream of this account is running, which is what the Free tier includes.'],
    ['pro', 4, '4 streams of this account are running, which is what the Pro tier includes.'],
  ])('error: the %s tier is told how many run, in words', (tierId, most, text) => {
    const work = createWatched()
    const open = () => work.openStream(requestOf('a', { tierId }).request)
    for (let times = 0; times < most; times++) open()
    expect(open).toThrow(`${text} Wait for one to end.`)
  })

  test('error: all accounts together have a bound, too', async () => {
    const work = createWatched({ streamsMax: 3 })
    const [close] = ['a', 'b', 'c'].map((account) => work.openStream(requestOf(account).request))
    const late = () => work.openStream(requestOf('d').request)
    expect(await refusalOf(late)).toEqual(['unavailable', 5])
    close?.()
    expect(late()).toBeFunction()
  })
})

describe('enter', () => {
  test('default: requests are answered at once', () => {
    expect(createWatched().enter(requestOf('a').visit)).toBeUndefined()
  })

  test('behavior: after three milliseconds of them in a round the others wait for their turns', async () => {
    const work = createWatched({ lookMs: 0.75 })
    const { visit, kept } = requestOf('a')
    work.spend(1)
    // All time counts, not that of handlers alone.
    for (let passed = 0; passed < 3; passed++) expect(work.enter(visit)).toBeUndefined()
    const wait = work.enter(visit)
    expect(wait).toBeInstanceOf(Promise)
    expect(kept).toEqual([120])
    await wait
    expect(work.enter(visit)).toBeUndefined()
  })

  test('behavior: short requests of many rounds are not added up', async () => {
    const work = createWatched()
    for (let round = 0; round < 20; round++) {
      expect(work.enter(requestOf('a').visit)).toBeUndefined()
      work.spend(3)
      await setImmediate()
    }
  })

  test('error: the line has an end, and what is urgent does not wait in it', async () => {
    const work = createWatched({ lookMs: 0.75 })
    work.spend(10)
    const waits = Array.from({ length: 1003 }, () => work.enter(requestOf('a').visit))
    expect(await refusalOf(() => work.enter(requestOf('b').visit))).toEqual(['unavailable', 1])
    expect(work.enter(requestOf('b').visit, true)).toBeUndefined()
    await Promise.all(waits)
  })
})
