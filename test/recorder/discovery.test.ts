import { describe, expect, test } from 'bun:test'

import { AppError } from '#src/domain/errors.ts'
import { openHistory } from '#src/history/open.ts'
import { Fault } from '#src/platform/fault.ts'
import { createDiscovery } from '#src/recorder/discovery.ts'
import { createReporter } from '#src/recorder/ports.ts'
import type { Catalogue, KnownFacts } from '#src/venue/catalogue.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { createWorld } from './fake-world.ts'

const START_MS = Date.UTC(2026, 10, 22, 10)
const FIVE_MS = 300_000

/** A market whose number is that of its window since the start. */
function factsOf(startMs: number): KnownFacts {
  const number = (startMs - START_MS) / FIVE_MS + 1
  return {
    conditionId: conditionIdOf(number),
    coin: 'btc',
    timeframe: '5m',
    slug: `btc-updown-5m-${startMs / 1000}`,
    windowStartMs: startMs,
    windowEndMs: startMs + FIVE_MS,
    assetIds: { up: `${number}1`, down: `${number}2` },
  }
}

function start(verbs: Partial<Catalogue> = {}, storedMs = 0) {
  const world = createWorld(START_MS + 1000)
  const asked: string[] = []
  const lines: string[] = []
  const disk = { isFull: false }
  const apart = { fault: undefined as string | undefined }
  const sound = openHistory(':memory:', { chunkCacheBytes: 0, lagMs: 0 })
  const whenRoom =
    <Given extends unknown[], T>(write: (...given: Given) => T) =>
    (...given: Given): T => {
      if (disk.isFull) throw new AppError('storage_unavailable', 'No room is left on the disk.')
      return write(...given)
    }
  const history = {
    ...sound,
    putMarket: whenRoom(sound.putMarket),
    close: whenRoom(sound.close),
  }
  const discovery = createDiscovery({
    history,
    clock: world.clock,
    clockFault: () => apart.fault,
    random: world.random,
    venue: polymarket,
    coins: ['btc'],
    timeframes: ['5m'],
    isStored: () => world.clock() >= storedMs,
    reporter: createReporter((line) => lines.push(line)),
    catalogue: {
      find: async ({ startMs }) => {
        asked.push(`find ${(startMs - START_MS) / FIVE_MS}`)
        return factsOf(startMs)
      },
      read: async (slug) => {
        asked.push(`read ${slug}`)
        return { ...factsOf(START_MS), winner: 'up', winnerSource: 'venue', finalPrice: '7' }
      },
      ...verbs,
    },
  })
  world.every(1000, discovery.tick)
  return { ...world, discovery, history, asked, lines, disk, apart }
}

describe('createDiscovery', () => {
  test('default: finds the open window and two ahead, and puts their markets', async () => {
    const { advance, discovery, history, asked } = start()
    await advance(1000)
    expect(asked).toEqual(['find 0', 'find 1', 'find 2'])
    expect(discovery.live().map(({ conditionId }) => conditionId)).toEqual(
      [1, 2, 3].map(conditionIdOf),
    )
    expect(history.findMarket(conditionIdOf(3))).toMatchObject({
      source: 'recorded',
      windowStartMs: START_MS + 2 * FIVE_MS,
      assetIds: { up: '31', down: '32' },
    })
  })

  test('behavior: a market that is over is heard a while, closed, and asked for until it is resolved', async () => {
    let answers = 0
    const { advance, discovery, history } = start({
      read: async () => ({
        ...factsOf(START_MS),
        ...(++answers < 3 ? {} : { winner: 'down', winnerSource: 'venue', finalPrice: '7.5' }),
      }),
    })
    await advance(FIVE_MS + 10_000)
    expect(discovery.live()[0]?.conditionId).toBe(conditionIdOf(1))
    await advance(10_000)
    expect(discovery.live()[0]?.conditionId).toBe(conditionIdOf(2))
    await advance(60_000)
    expect(answers).toBe(3)
    expect(history.findMarket(conditionIdOf(1))).toMatchObject({
      isClosed: true,
      winner: 'down',
      winnerSource: 'venue',
      finalPrice: '7.5',
    })
    await advance(120_000)
    expect(answers).toBe(3)
  })

  test('behavior: while the clock is wrong no market is closed and no gap is stored', async () => {
    const { advance, discovery, history, apart } = start()
    const before = factsOf(START_MS - 2 * FIVE_MS)
    await history.putMarket({ ...before, conditionId: conditionIdOf(77), source: 'recorded' })
    apart.fault = 'The clock of this machine is 300.0 s ahead of the clock of the database.'
    await advance(2 * FIVE_MS)
    const states = () =>
      [1, 77].map((number) => {
        const market = history.findMarket(conditionIdOf(number))
        return [market?.isClosed, market && history.gaps(market).length]
      })
    expect(states()).toEqual([
      [false, 0],
      [false, 0],
    ])
    expect(discovery.live().map(({ conditionId }) => conditionId)).toContain(conditionIdOf(1))
    apart.fault = undefined
    await advance(5000)
    expect(states()).toEqual([
      [true, 2],
      [true, 2],
    ])
  })

  test('behavior: the winner is known soon after the venue knows it, with few questions', async () => {
    let answers = 0
    const { advance, history, clock } = start({
      read: async () => {
        answers++
        const isResolved = clock() >= START_MS + FIVE_MS + 21_000
        const winner = { winner: 'up', winnerSource: 'venue', finalPrice: '7' } as const
        return { ...factsOf(START_MS), ...(isResolved ? winner : {}) }
      },
    })
    await advance(FIVE_MS + 27_000)
    expect(history.findMarket(conditionIdOf(1))?.winner).toBe('up')
    expect(answers).toBeLessThanOrEqual(3)
    await advance(120_000)
    expect(answers).toBeLessThanOrEqual(3)
  })

  test('behavior: what was not resolved when it stopped is asked for at the next start', async () => {
    const { advance, asked, history } = start()
    const before = factsOf(START_MS - 2 * FIVE_MS)
    await history.putMarket({ ...before, conditionId: conditionIdOf(77), source: 'recorded' })
    await advance(2000)
    expect(asked).toContain(`read ${before.slug}`)
    const market = history.findMarket(conditionIdOf(77))
    expect(market?.isClosed).toBe(true)
    // Nobody heard the end of its window.
    const { windowStartMs: fromMs = 0, windowEndMs: toMs = 0 } = before
    expect(market && history.gaps(market)).toEqual([
      { outcome: 'up', fromMs, toMs, reason: 'recorder_down' },
      { outcome: 'down', fromMs, toMs, reason: 'recorder_down' },
    ])
  })

  test('behavior: a market is not closed while something of it waits for a slow disk', async () => {
    const { advance, history } = start({}, START_MS + FIVE_MS + 180_000)
    await advance(FIVE_MS + 120_000)
    expect(history.findMarket(conditionIdOf(1))?.isClosed).toBe(false)
    await advance(70_000)
    expect(history.findMarket(conditionIdOf(1))?.isClosed).toBe(true)
  })

  test('behavior: windows that passed while it was down get their facts, their winner and the gap', async () => {
    const { advance, asked, history } = start({
      find: async ({ startMs }) => {
        asked.push(`find ${(startMs - START_MS) / FIVE_MS}`)
        const over = { winner: 'down', winnerSource: 'venue', finalPrice: '7' } as const
        return { ...factsOf(startMs), ...(startMs < START_MS ? over : {}) }
      },
      read: async (slug) => {
        const startMs = Number(slug.split('-').at(-1)) * 1000
        return { ...factsOf(startMs), winner: 'down', winnerSource: 'venue', finalPrice: '7' }
      },
    })
    const facts = factsOf(START_MS - 4 * FIVE_MS)
    await history.putMarket({ ...facts, source: 'recorded' })
    await advance(8000)
    expect(asked.slice(0, 3)).toEqual(['find 0', 'find 1', 'find 2'])
    expect(asked.slice(3).toSorted()).toEqual(['find -1', 'find -2', 'find -3'])
    const held = history.listMarkets({ coin: 'btc', toMs: START_MS, limit: 10 })
    expect(held).toHaveLength(4)
    for (const market of held) {
      expect(market).toMatchObject({ isClosed: true, winner: 'down', source: 'recorded' })
      const span = { fromMs: market.windowStartMs, toMs: market.windowEndMs }
      expect(history.gaps(market)).toEqual([
        expect.objectContaining({ outcome: 'up', ...span, reason: 'recorder_down' }),
        expect.objectContaining({ outcome: 'down', ...span, reason: 'recorder_down' }),
      ])
    }
  })

  test('behavior: what was cut short has a gap from its last states on', async () => {
    const { advance, history } = start()
    const facts = factsOf(START_MS - 2 * FIVE_MS)
    const { conditionId, windowStartMs = 0, windowEndMs } = facts
    await history.putMarket({ ...facts, source: 'recorded' })
    const about = {
      ...aSnapshot({ conditionId, outcome: 'up' }),
      assetId: facts.assetIds?.up ?? '',
    }
    const snapshots = [0, 1000].map((afterMs) => ({
      ...about,
      timestampMs: windowStartMs + afterMs,
    }))
    await history.record({ snapshots, trades: [], gaps: [] })
    await advance(2000)
    const market = history.findMarket(conditionId)
    expect(market && history.gaps(market)).toEqual([
      { outcome: 'down', fromMs: windowStartMs, toMs: windowEndMs ?? 0, reason: 'recorder_down' },
      {
        outcome: 'up',
        fromMs: windowStartMs + 1001,
        toMs: windowEndMs ?? 0,
        reason: 'recorder_down',
      },
    ])
  })

  test('behavior: without an earlier recording nothing is looked up', async () => {
    const { advance, asked } = start()
    await advance(5000)
    expect(asked).toEqual(['find 0', 'find 1', 'find 2'])
  })

  test('behavior: a market that is not listed yet is asked for again', async () => {
    let calls = 0
    const { advance, discovery } = start({
      find: async ({ startMs }) => (++calls > 3 ? factsOf(startMs) : undefined),
    })
    await advance(1000)
    expect(discovery.live()).toEqual([])
    // Those whose window is near; the third is left alone for a minute.
    await advance(5000)
    expect(discovery.live().length).toBe(2)
  })

  test('behavior: what the venue announces or resolves is asked for at once', async () => {
    let isListed = false
    const { advance, discovery, asked } = start({
      find: async ({ startMs }) =>
        isListed || startMs === START_MS ? factsOf(startMs) : undefined,
    })
    await advance(1000)
    isListed = true
    // Of the third window, which is left alone for a minute.
    discovery.take({ kind: 'announced', slug: factsOf(START_MS + 2 * FIVE_MS).slug ?? '' })
    discovery.take({ kind: 'announced', slug: 'something-else' })
    await advance(2000)
    expect(discovery.live().map(({ conditionId }) => conditionId)).toContain(conditionIdOf(3))
    await advance(FIVE_MS + 2000)
    expect(asked).toEqual([])
    const resolved = { kind: 'resolved', timestampMs: 0, winningAssetId: '11' } as const
    discovery.take({ ...resolved, conditionId: conditionIdOf(1) })
    discovery.take({ ...resolved, conditionId: conditionIdOf(99) })
    await advance(1000)
    expect(asked).toEqual([`read ${factsOf(START_MS).slug}`])
  })

  test('error: a market found while the disk is full is heard once its facts are stored', async () => {
    const { advance, discovery, history, lines, disk } = start()
    disk.isFull = true
    await advance(10_000)
    expect(discovery.live()).toEqual([])
    disk.isFull = false
    await advance(1000)
    expect(discovery.live().length).toBe(3)
    expect(history.findMarket(conditionIdOf(1))).toMatchObject(factsOf(START_MS))
    expect(lines).toEqual([
      'Facts of markets cannot be written: No room is left on the disk. They are kept.',
      'Facts of markets can be written again.',
    ])
  })

  test('error: a market that is recorded goes on while its later facts wait for the disk', async () => {
    const { advance, discovery, history, disk } = start({
      costs: async () => {
        disk.isFull = true
        return { takerDelayMs: 250 }
      },
    })
    await advance(1000)
    const before = discovery.live()
    expect(before.length).toBe(3)
    await advance(10_000)
    expect(discovery.live()).toEqual(before)
    expect(history.findMarket(conditionIdOf(1))?.takerDelayMs).toBeUndefined()
    disk.isFull = false
    await advance(1000)
    expect(history.findMarket(conditionIdOf(1))?.takerDelayMs).toBe(250)
  })

  test('behavior: a resolution over the socket names the winner, which the catalogue may never do', async () => {
    const { advance, discovery, history } = start({ read: async () => factsOf(START_MS) })
    const resolve = (id?: string) =>
      discovery.take({ kind: 'resolved', conditionId: conditionIdOf(1), winningAssetId: id })
    const winner = () => history.findMarket(conditionIdOf(1))?.winner
    await advance(1000)
    resolve('12')
    expect(winner()).toBeUndefined()
    await advance(FIVE_MS)
    for (const id of [undefined, '31']) resolve(id)
    expect(winner()).toBeUndefined()
    resolve('12')
    await advance(5)
    expect(history.findMarket(conditionIdOf(1))).toMatchObject({
      winner: 'down',
      winnerSource: 'venue',
    })
  })

  test('error: the outcome of a market that ends while the disk is full is stored later, and the gap', async () => {
    const { advance, history, disk } = start()
    await advance(1000)
    disk.isFull = true
    await advance(FIVE_MS + 120_000)
    disk.isFull = false
    await advance(2000)
    const market = history.findMarket(conditionIdOf(1))
    expect(market).toMatchObject({ isClosed: true, winner: 'up', finalPrice: '7' })
    const gap = { fromMs: START_MS, toMs: START_MS + FIVE_MS, reason: 'recorder_down' }
    expect(market && history.gaps(market)).toEqual([
      expect.objectContaining({ outcome: 'up', ...gap }),
      expect.objectContaining({ outcome: 'down', ...gap }),
    ])
  })

  test('behavior: what was cut short has its gap also where the winner is known and others closed it', async () => {
    const { advance, history } = start()
    const over = { winner: 'up', winnerSource: 'venue', source: 'recorded' } as const
    for (const windows of [2, 3])
      await history.putMarket({
        ...factsOf(START_MS - windows * FIVE_MS),
        ...over,
        conditionId: conditionIdOf(90 + windows),
      })
    await history.close(conditionIdOf(93))
    await advance(2000)
    for (const number of [92, 93]) {
      const market = history.findMarket(conditionIdOf(number))
      expect(market?.isClosed).toBe(true)
      expect(market && history.gaps(market).map(({ reason }) => reason)).toEqual([
        'recorder_down',
        'recorder_down',
      ])
    }
  })

  test('error: a catalogue that is away is said once, left alone as it asks, and found again', async () => {
    let calls = 0
    let isAway = true
    const { advance, discovery, lines } = start({
      find: async ({ startMs }) => {
        calls++
        if (isAway)
          throw new Fault('The catalogue answered with status 429.', {
            kind: 'catalogue',
            retryAfterMs: 20_000,
          })
        return factsOf(startMs)
      },
    })
    await advance(18_000)
    expect(calls).toBe(3)
    isAway = false
    await advance(10_000)
    expect(discovery.live().length).toBe(3)
    expect(lines).toEqual([
      "The venue's catalogue cannot be asked: The catalogue answered with status 429. The recorder keeps trying.",
      "The venue's catalogue answers again.",
    ])
  })

  test('error: a page of prices that is away is said once, and is not the catalogue', async () => {
    let isAway = true
    const { advance, lines } = start({
      find: async ({ startMs }) => (startMs === START_MS ? factsOf(startMs) : undefined),
      strike: async () => {
        if (isAway)
          throw new Fault('The page answered with status 503.', {
            kind: 'catalogue',
            retryAfterMs: 5000,
          })
        return '1'
      },
    })
    await advance(60_000)
    isAway = false
    await advance(60_000)
    expect(lines).toEqual([
      "The venue's page of prices cannot be asked: The page answered with status 503. The recorder keeps trying.",
      "The venue's page of prices answers again.",
    ])
  })
})
