import { describe, expect, test } from 'bun:test'

import { storageError } from '#src/database/database.ts'
import { ENDLESS_MS } from '#src/domain/coverage.ts'
import { AppError, SOON_SECONDS } from '#src/domain/errors.ts'
import type { Recording } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { createSink, type SinkOptions } from '#src/recorder/sink.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createWorld } from './fake-world.ts'

function start(options: Partial<SinkOptions> = {}) {
  const world = createWorld(START_MS)
  const written: Recording[] = []
  const lines: string[] = []
  const sink = createSink({
    history: {
      async record(recording) {
        written.push(recording)
        return { accepted: recording.snapshots.length, duplicates: 0 }
      },
      findMarket: () => undefined,
    },
    clock: world.clock,
    reporter: createReporter((line) => lines.push(line)),
    batchMs: 50,
    freeBytes: () => undefined,
    freeBytesMin: 1000,
    onOverflow: () => lines.push('overflow'),
    ...options,
  })
  world.every(5, sink.tick)
  return { ...world, sink, written, lines }
}

const state = (number = 1) =>
  ({
    kind: 'state',
    snapshot: aSnapshot({ conditionId: conditionIdOf(number) }),
  }) as const

describe('createSink', () => {
  test('default: a row is written at the next tick, and nothing without rows', async () => {
    const { sink, written, advance } = start()
    await advance(200)
    sink.add(state())
    sink.add(state(2))
    await advance(5)
    expect(written.map(({ snapshots }) => snapshots.length)).toEqual([2])
    await advance(200)
    expect(written.length).toBe(1)
    // The state is of the start, and was received 200 ms later.
    expect(sink.counts.lagMs).toBe(205)
  })

  test.each([
    ['as long as the commit took', 20, 20],
    ['50 ms at most', 200, 50],
  ])('behavior: after a commit on a slow disk, rows wait %s', async (_, commitMs, pauseMs) => {
    let nowMs = START_MS
    const endedMs: number[] = []
    const { sink } = start({
      clock: () => nowMs,
      history: {
        findMarket: () => undefined,
        async record({ snapshots }) {
          nowMs += commitMs
          endedMs.push(nowMs)
          return { accepted: snapshots.length, duplicates: 0 }
        },
      },
    })
    for (let step = 0; step < 1000; step++) {
      sink.add(state())
      sink.tick()
      await Bun.sleep(0)
      nowMs++
    }
    const pauses = endedMs.slice(1).map((ms, at) => ms - commitMs - (endedMs[at] ?? 0))
    expect(endedMs.length).toBeGreaterThan(4)
    expect(new Set(pauses)).toEqual(new Set([pauseMs]))
  })

  test('behavior: a gap of dropped rows lasts until the next state of the token', async () => {
    const disk = { free: 0 }
    const { sink, written, advance } = start({ freeBytes: () => disk.free })
    const { snapshot } = state()
    for (let row = 0; row < 20_001; row++) sink.add(state())
    const timestampMs = snapshot.timestampMs + 3
    sink.add({ kind: 'state', snapshot: { ...snapshot, timestampMs } })
    disk.free = 5000
    await advance(2500)
    const { outcome } = snapshot
    expect(written.flatMap(({ gaps }) => gaps)).toContainEqual({
      kind: 'unknown',
      conditionId: snapshot.conditionId,
      gap: {
        outcome,
        fromMs: snapshot.timestampMs + 1,
        toMs: timestampMs,
        reason: 'recorder_down',
      },
    })
  })

  test('behavior: many rows do not wait', async () => {
    const { sink, written, advance } = start()
    for (let row = 0; row < 1200; row++) sink.add(state())
    await advance(5)
    expect(written.map(({ snapshots }) => snapshots.length)).toEqual([500, 500, 200])
  })

  test('behavior: a history that takes nothing gets all of it later, and it is said once', async () => {
    let isAway = true
    const kept: number[] = []
    const { sink, lines, advance } = start({
      history: {
        findMarket: () => undefined,
        async record({ snapshots }) {
          if (isAway) throw new Error('disk I/O error.')
          kept.push(snapshots.length)
          return { accepted: snapshots.length, duplicates: 0 }
        },
      },
    })
    sink.add(state())
    await advance(3000)
    // What another than us says is not for everybody.
    expect(sink.fault()).toBe('The history takes nothing that is recorded.')
    sink.add(state())
    isAway = false
    await advance(1100)
    expect(kept).toEqual([2])
    expect(sink.fault()).toBeUndefined()
    expect(lines).toEqual([
      'The recorder cannot write: disk I/O error. It tries again.',
      'The recorder can write again.',
    ])
  })

  test('error: a refusal that does not pass by itself is reported beside one that may', async () => {
    let refusal: Error | undefined = storageError('The lock is taken.', {
      retryAfterSeconds: SOON_SECONDS,
    })
    const { sink, lines, advance } = start({
      history: {
        async record({ snapshots }) {
          if (refusal !== undefined) throw refusal
          return { accepted: snapshots.length, duplicates: 0 }
        },
        findMarket: () => undefined,
      },
    })
    sink.add(state())
    await advance(3000)
    refusal = storageError('Another version has changed the tables.')
    await advance(3000)
    expect(sink.fault()).toBe(
      'The history takes nothing that is recorded. Another version has changed the tables.',
    )
    refusal = undefined
    await advance(3000)
    expect(lines).toEqual([
      'The recorder cannot write: The lock is taken. It tries again.',
      'The recorder cannot write: Another version has changed the tables. It tries again.',
      'The recorder can write again.',
      'The recorder can write again.',
    ])
  })

  test('behavior: what waits is bounded: rows go, changes of gaps stay, and the books begin again', async () => {
    const { sink, lines, written, advance } = start({ freeBytes: () => 0 })
    const gap = { outcome: 'up', fromMs: 1, toMs: 2, reason: 'venue_silent' } as const
    sink.add({ kind: 'opened', conditionId: conditionIdOf(1), gap })
    for (let row = 0; row < 20_000; row++) sink.add(state())
    await advance(50)
    // Another one is of what was dropped.
    expect(sink.waiting).toBe(2)
    expect(lines).toContain('overflow')
    expect(lines).toContain(
      'The recorder drops rows. The disk is nearly full: nothing is recorded.',
    )
    expect(sink.counts.dropped).toBe(20_000)
    expect(written.flatMap(({ snapshots }) => snapshots)).toEqual([])
  })

  test('behavior: nothing is written to a disk that is nearly full, until there is room', async () => {
    const disk = { free: 999 }
    const { sink, lines, written, advance } = start({ freeBytes: () => disk.free })
    sink.add(state())
    await advance(1500)
    const fault = 'The disk is nearly full: nothing is recorded.'
    expect([written.flatMap(({ snapshots }) => snapshots), sink.fault()]).toEqual([[], fault])
    disk.free = 5000
    await advance(2500)
    expect([written.at(-1)?.snapshots.length, sink.fault()]).toEqual([1, undefined])
    expect(lines.length).toBe(2)
  })

  test('behavior: what a nearly full disk holds back is a gap at once, and none once it is written', async () => {
    const disk = { free: 999, isFull: true }
    const history = openHistory(':memory:')
    const { snapshot } = state()
    const { conditionId, timestampMs } = snapshot
    await history.putMarket({ ...snapshot, source: 'recorded' })
    const unknown = { outcome: 'down', fromMs: timestampMs, toMs: ENDLESS_MS } as const
    await history.putGaps(conditionId, [{ ...unknown, reason: 'hash_mismatch' }])
    const gaps = () => {
      const market = history.findMarket(conditionId)
      return market && history.gaps(market)
    }
    const before = gaps()
    const { sink, advance } = start({
      freeBytes: () => disk.free,
      history: {
        findMarket: history.findMarket,
        async record(recording) {
          if (disk.isFull) throw new AppError('storage_unavailable', 'No room is left.')
          return history.record(recording)
        },
      },
    })
    sink.add({ kind: 'state', snapshot: { ...snapshot, outcome: 'up' } })
    await advance(1500)
    expect(gaps()).toEqual(before)
    disk.isFull = false
    await advance(1500)
    const held = { outcome: 'up', fromMs: timestampMs, toMs: ENDLESS_MS } as const
    expect(gaps()).toContainEqual({ ...held, reason: 'recorder_down' })
    disk.free = 5000
    await advance(1500)
    expect([gaps(), history.totals().snapshots]).toEqual([before, 1])
  })

  test.each([2, 20_001])(
    'behavior: the gap of a full disk, of %s states, begins after the last that is stored',
    async (count) => {
      const disk = { free: 5000 }
      const history = openHistory(':memory:')
      const { snapshot } = state()
      await history.putMarket({ ...snapshot, source: 'recorded' })
      const { sink, advance } = start({ freeBytes: () => disk.free, history })
      const at = (ms: number) =>
        ({ kind: 'state', snapshot: { ...snapshot, timestampMs: START_MS + ms } }) as const
      sink.add(at(0))
      await advance(1500)
      disk.free = 0
      await advance(1500)
      // The outcome is silent for longer than is usual, and then heard.
      for (let each = 0; each < count; each++) sink.add(at(8000 + each))
      await advance(1500)
      if (count > 2) disk.free = 5000
      await advance(1500)
      const market = history.findMarket(snapshot.conditionId)
      const [gap] = market ? history.gaps(market) : []
      expect(gap).toMatchObject({ fromMs: START_MS + 1, reason: 'recorder_down' })
    },
  )

  test('behavior: no more is written at once than there is room for', async () => {
    // In MiB, each time that it is looked at.
    const free = [23, 20, 17]
    const { sink, lines, written, advance } = start({
      freeBytes: () => (free.shift() ?? 0) * 2 ** 20,
      freeBytesMin: 20 * 2 ** 20,
    })
    for (let row = 0; row < 2000; row++) sink.add(state())
    await advance(5)
    const rows = written.flatMap(({ snapshots }) => snapshots).length
    expect([rows, sink.waiting]).toEqual([500, 1500])
    expect(lines).toEqual(['Nothing is recorded: less than 20 MiB are free on the disk.'])
  })

  test('error: a market that the history refuses keeps no other out', async () => {
    const bad = conditionIdOf(2)
    const kept: string[] = []
    const { sink, lines, advance } = start({
      history: {
        findMarket: () => undefined,
        async record({ snapshots }) {
          const ids = snapshots.map(({ conditionId }) => conditionId)
          if (ids.includes(bad)) throw new AppError('market_conflict', `Market ${bad} is odd.`)
          kept.push(...ids)
          return { accepted: ids.length, duplicates: 0 }
        },
      },
    })
    for (const number of [1, 2, 3, 2]) sink.add(state(number))
    await advance(60)
    expect(kept).toEqual([conditionIdOf(1), conditionIdOf(3)])
    expect(lines).toEqual([`Market ${bad} is odd.`])
    expect(sink.counts.dropped).toBe(2)
  })
})
