import { afterEach, describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import type { MarketFacts } from '#src/domain/market.ts'
import { MarketAsOfBody } from '#src/features/markets/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import {
  append,
  closeAll,
  connect,
  isRow,
  type Message,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'
import { silentRecorder } from '../support/silences.ts'

afterEach(closeAll)

const WINDOW_MS = 300_000

/** States of a market at times after its window began; some change only what is deep. */
function statesOf(number: number, offsets: readonly number[], startMs = START_MS) {
  const random = createRandom(`replay ${number}`)
  return offsets.map((offset) =>
    aSnapshot(
      {
        conditionId: conditionIdOf(number),
        outcome: random.integer(2) ? 'up' : 'down',
        timestampMs: startMs + offset,
      },
      (1 + random.integer(90)) * 10_000,
    ),
  )
}

/** A bot: what it makes of a stream, whatever kind of stream it is. */
function createBot() {
  const seen: unknown[] = []
  return {
    seen,
    handle({ type, prevSeq, seq, cursor, epoch, conditionId, data }: Message): void {
      if (type === 'row' || type === 'snapshot')
        seen.push({ type, prevSeq, seq, cursor, epoch, conditionId, data })
      if (type.startsWith('market_') && type !== 'market_end')
        seen.push({
          type,
          conditionId: data?.conditionId,
          status: data?.status,
          winner: data?.winner,
        })
      if (type === 'gap') seen.push({ type, conditionId })
    },
  }
}

const resolve = async (history: MarketHistory, number: number, afterMs = 0) => {
  await history.putMarket({
    conditionId: conditionIdOf(number),
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS + afterMs,
    windowEndMs: START_MS + afterMs + WINDOW_MS,
    winner: 'up',
    winnerSource: 'simulated',
  })
}

const ascending = (times: readonly number[]) => times.toSorted((a, b) => a - b)
const timesOf = (messages: readonly Message[]) =>
  messages.filter(isRow).map(({ data }) => Date.parse(String(data?.timestamp)))

describe('replay of GET /v1/stream', () => {
  test.each(['snapshots', 'quotes', 'prices'] as const)(
    'default: a bot that reads %s gets the same from a replay as it got live',
    async (channel) => {
      const { history, url, key, time } = startLiveServer()
      time.nowMs = START_MS - 1000
      await putMarket(history)
      const conditionId = conditionIdOf(1)
      const live = createBot()
      const replayed = createBot()
      const watcher = connect(url, key)
      await watcher.send({ op: 'subscribe', id: 'a', channel, coin: 'btc', timeframe: '5m' })
      await watcher.untilType('subscribed')
      time.nowMs = START_MS + 1
      for (const message of await watcher.untilType('market_open')) live.handle(message)
      const states = statesOf(1, ascending([20, 30, 30, 500, 501, 9000, 200_000, 299_999]))
      for (const state of states) {
        await append(history, [state])
        await Bun.sleep(2)
      }
      const path = `/v1/btc/markets/${conditionId}/${channel}`
      const last = (await watcherRows(watcher, path, { url, key })) as Message[]
      for (const message of last) live.handle(message)
      time.nowMs = START_MS + WINDOW_MS + 1000
      for (const message of await watcher.untilType('market_closed')) live.handle(message)
      await resolve(history, 1)
      time.nowMs += 1000
      for (const message of await watcher.untilType('market_resolved')) live.handle(message)

      const client = connect(url, key)
      const range = { from: START_MS, to: START_MS + 2 * WINDOW_MS }
      await client.send({ op: 'replay', id: 'a', channel, coin: 'btc', ...range, speed: 0 })
      for (const message of await client.untilType('replay_end')) replayed.handle(message)
      const withoutGaps = (seen: unknown[]) => seen.filter((each) => !isGap(each))
      expect(withoutGaps(replayed.seen)).toEqual(withoutGaps(live.seen))
      expect(live.seen.length).toBeGreaterThan(6)
    },
  )

  test('behavior: markets of a range are merged by time; each ends, and then all', async () => {
    const { history, url, key, time } = startLiveServer()
    const offsets = [0, WINDOW_MS, 2 * WINDOW_MS]
    for (const [index, afterMs] of offsets.entries()) {
      await putMarket(history, index + 1, afterMs)
      const times = Array.from({ length: 150 }, (_, step) => 5 + step * 2400)
      await append(history, statesOf(index + 1, times, START_MS + afterMs))
    }
    time.nowMs = START_MS + 10 * WINDOW_MS
    const client = connect(url, key)
    const range = { from: START_MS + 1000, to: START_MS + 3 * WINDOW_MS }
    const replay = { op: 'replay', channel: 'quotes', coin: 'btc', speed: 0 }
    await client.send({ ...replay, id: 'r', ...range })
    const messages = await client.untilType('replay_end')
    const times = timesOf(messages)
    expect(times).toEqual(ascending(times))
    expect([times[0], times.at(-1)]).toEqual([expect.any(Number), expect.any(Number)])
    expect(Number(times.at(-1))).toBeLessThan(range.to)
    const marks = messages.filter(({ type }) => type.startsWith('market_'))
    const idOf = ({ conditionId, data }: Message) => conditionId ?? data?.conditionId
    const named = marks.map((each) => `${each.type} ${Number(idOf(each))}`)
    expect(named).toContain('market_open 2')
    expect(named).toContain('market_end 1')
    expect(named).not.toContain('market_open 1')
    const first = messages.filter(({ type }) => type === 'snapshot')
    expect(first.map(({ conditionId }) => conditionId)).toContain(conditionIdOf(1))
    // No message says how a market ended before it did.
    const opened = marks.find(({ type }) => type === 'market_open')
    expect(opened?.data).toMatchObject({ winner: null, status: 'open' })
  })

  test('behavior: a replay keeps the pace asked for, pauses, seeks and goes on', async () => {
    let timerMs = 0
    const { history, url, key, app } = startLiveServer({ timer: () => timerMs })
    await putMarket(history)
    await append(
      history,
      statesOf(
        1,
        Array.from({ length: 40 }, (_, index) => index * 1000),
      ),
    )
    const client = connect(url, key)
    const asked = { op: 'replay', channel: 'snapshots', coin: 'btc', conditionId: conditionIdOf(1) }
    await client.send({ ...asked, id: 'r', speed: 100 })
    for (let row = 0; row < 40; row++) {
      const [played] = (await client.until(isRow)).filter(isRow)
      expect(Date.parse(String(played?.data?.timestamp))).toBe(START_MS + row * 1000)
      expect(client.messages.filter(isRow)).toEqual([])
      timerMs += 10
    }
    timerMs += WINDOW_MS
    await client.untilType('replay_end')
    await client.send({ op: 'seek', id: 'r', to: START_MS + 30_000 })
    await client.send({ op: 'pause', id: 'r' })
    await client.until(({ state }) => state === 'paused')
    timerMs += WINDOW_MS
    app.stream.tick()
    await client.send({ op: 'speed', id: 'r', speed: 0 })
    expect(await client.untilType('replay_state')).toHaveLength(1)
    await client.send({ op: 'resume', id: 'r' })
    await client.untilType('replay_state')
    timerMs += WINDOW_MS
    const rest = await client.untilType('replay_end')
    expect(timesOf(rest)).toEqual(
      Array.from({ length: 10 }, (_, index) => START_MS + 30_000 + index * 1000),
    )
    await client.send({ op: 'unsubscribe', id: 'r' })
    await client.untilType('unsubscribed')
    await client.send({ op: 'pause', id: 'r' })
    expect((await client.untilType('error')).at(-1)).toMatchObject({ param: 'id' })
  })

  test('behavior: a cursor of a row continues after it, and gaps come when they were noticed', async () => {
    const { history, url, key } = startLiveServer()
    await putMarket(history)
    await append(history, statesOf(1, [0, 1000, 2000, 60_000, 61_000]))
    const gap = { outcome: 'up', reason: 'recorder_down' } as const
    const span = { fromMs: START_MS + 2001, toMs: START_MS + 60_000 }
    await history.putGaps(conditionIdOf(1), [{ ...gap, ...span }])
    const client = connect(url, key)
    const asked = { op: 'replay', channel: 'snapshots', coin: 'btc', conditionId: conditionIdOf(1) }
    await client.send({ ...asked, id: 'r', speed: 0 })
    const all = await client.untilType('replay_end')
    const kinds = all.filter(({ type, reason }) => isRow({ type }) || reason === 'recorder_down')
    expect(kinds.map(({ type, to }) => (type === 'gap' ? to : type))).toEqual([
      'row',
      'row',
      'row',
      null,
      new Date(span.toMs).toISOString(),
      'row',
      'row',
    ])
    const cursor = all.filter(isRow)[1]?.cursor
    await client.send({ ...asked, id: 'c', speed: 0, cursor })
    const rest = await client.untilType('replay_end')
    expect(rest.filter(isRow).map(({ data }) => data)).toEqual(
      all
        .filter(isRow)
        .slice(2)
        .map(({ data }) => data),
    )
  })

  test('behavior: what a silent recorder misses is a gap of a replay, before it is noted', async () => {
    const recorder: { silentMs: number | undefined } = { silentMs: START_MS + 2500 }
    const { history, url, key } = startLiveServer({
      silences: silentRecorder(() => recorder.silentMs),
    })
    const conditionId = conditionIdOf(1)
    const window = { windowStartMs: START_MS, windowEndMs: START_MS + WINDOW_MS }
    await history.putMarket({
      conditionId,
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      ...window,
    })
    const outcome = 'up'
    const snapshots = [0, 1000, 2000].map((ms) =>
      aSnapshot({ outcome, timestampMs: START_MS + ms }, 1_000_000 + ms),
    )
    await history.record({ snapshots, trades: [], gaps: [] })
    const client = connect(url, key)
    const asked = { op: 'replay', channel: 'snapshots', coin: 'btc', conditionId, outcome }
    await client.send({ ...asked, id: 'r', speed: 0 })
    const all = await client.untilType('replay_end')
    const gaps = all.filter(({ type, outcome: own }) => type === 'gap' && own === outcome)
    const from = new Date(START_MS + 2001).toISOString()
    expect(gaps).toMatchObject([{ reason: 'recorder_down', from, to: null }])
  })

  test('behavior: what ends at `to` comes, and each market ends, also one that is cut', async () => {
    const { history, url, key, time } = startLiveServer()
    const ends = [START_MS + WINDOW_MS, START_MS + 2 * WINDOW_MS]
    for (const [index, afterMs] of [0, WINDOW_MS].entries()) {
      await putMarket(history, index + 1, afterMs)
      // The second has rows after its window, and so a winner that is told with the last of them.
      const times = index === 0 ? [5, 9000] : [0, 5, 9000, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 7]
      await append(history, statesOf(index + 1, times, START_MS + afterMs))
      await resolve(history, index + 1, afterMs)
    }
    const gap = { outcome: 'up', reason: 'venue_silent', fromMs: START_MS + 200_000 } as const
    await history.putGaps(conditionIdOf(1), [{ ...gap, toMs: START_MS + WINDOW_MS }])
    time.nowMs = START_MS + 10 * WINDOW_MS
    const client = connect(url, key)
    async function play(from: number, to: number, channel: string): Promise<string[]> {
      const asked = { op: 'replay', id: channel, channel, coin: 'btc', speed: 0 }
      await client.send({ ...asked, from, to })
      const messages = (await client.untilType('replay_end')).filter(({ id }) => id === channel)
      await client.send({ op: 'unsubscribe', id: channel })
      for (const time of timesOf(messages)) expect(time).toBeLessThan(to)
      return messages.flatMap(({ type, conditionId, data, reason }) =>
        (type.startsWith('market_') && type !== 'market_update') || reason === gap.reason
          ? `${type} ${Number(conditionId ?? data?.conditionId)}`
          : [],
      )
    }
    const ended = ['market_closed 1', 'market_resolved 1', 'market_end 1']
    for (const channel of ['quotes', 'markets']) {
      const first = channel === 'quotes' ? ['gap 1', ...ended] : ended
      expect(await play(START_MS, START_MS + WINDOW_MS, channel)).toEqual([
        'market_open 1',
        ...first,
      ])
      // Those that are played on from there have none of it again.
      expect(await play(START_MS + WINDOW_MS, ends[1] ?? 0, channel)).toEqual([
        'market_open 2',
        'market_closed 2',
        'market_end 2',
      ])
      expect(await play(START_MS, START_MS + 6000, channel)).toEqual([
        'market_open 1',
        'market_end 1',
      ])
    }
  })

  test('behavior: what it says of a moment is the same whatever came after', async () => {
    const { history, url, key, time, send } = startLiveServer()
    time.nowMs = START_MS + 1000
    const facts: MarketFacts = {
      conditionId: conditionIdOf(1),
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      windowStartMs: START_MS,
      windowEndMs: START_MS + WINDOW_MS,
      question: 'Up or Down?',
      settlementRule: 'spot',
      strike: '64000.5',
      strikeSource: 'simulated',
      strikeMs: START_MS,
    }
    await history.putMarket({ ...facts, tickSize: 10_000 })
    await append(history, statesOf(1, [-2000, -1000, 0]))
    const putSpot = (timestampMs: number, price: string) =>
      history.putSpot([
        { coin: 'btc', source: 'simulated', windowSeconds: 0, timestampMs, price, sequence: 1 },
      ])
    await putSpot(START_MS - 500, '64000.4')
    const client = connect(url, key)
    const range = { from: START_MS - 1, to: START_MS + 2 * WINDOW_MS, speed: 0 }
    const replay = async (id: string) => {
      await client.send({ op: 'replay', id, channel: 'markets', coin: 'btc', ...range })
      const messages = await client.untilType('replay_end')
      return messages.map(({ type, data }) => ({ type, data }))
    }
    const asked = await replay('early')
    const opened = asked.find(({ type }) => type === 'market_open')
    expect(opened?.data).toMatchObject({ spot: { price: 64_000.4 }, strike: 64_000.5 })
    expect(Value.Errors(MarketAsOfBody, opened?.data).First()).toBeUndefined()

    await putSpot(START_MS + 500, '63999')
    await append(history, statesOf(1, [500, 60_000, 299_999, WINDOW_MS + 500]))
    const gap = { fromMs: START_MS + 501, toMs: START_MS + 60_000, reason: 'venue_silent' } as const
    await history.putGaps(conditionIdOf(1), [{ ...gap, outcome: 'up' }])
    await history.putMarket({
      ...facts,
      tickSize: 1000,
      winner: 'down',
      winnerSource: 'simulated',
      finalPrice: '63999',
      finalPriceSource: 'simulated',
      finalPriceMs: START_MS + WINDOW_MS,
    })
    time.nowMs = START_MS + 10 * WINDOW_MS
    const all = await replay('late')
    expect(all.find(({ type }) => type === 'market_open')).toEqual(opened as never)
    const closed = all.find(({ type }) => type === 'market_closed')
    expect(closed?.data).toEqual({ ...opened?.data, status: 'closed', spot: null } as never)
    // Then all of it is past.
    const market = await (await send(`/v1/btc/markets/${conditionIdOf(1)}`)).json()
    expect(all.find(({ type }) => type === 'market_resolved')?.data).toEqual(market as never)
  })

  test('behavior: a strike is not known before the moment that it is the price of', async () => {
    const { history, url, key } = startLiveServer()
    await putMarket(history)
    const facts = history.findMarket(conditionIdOf(1))
    if (facts === undefined) throw new Error('no market')
    const strike = { strike: '64000.5', strikeSource: 'simulated', strikeMs: START_MS + 1 } as const
    await history.putMarket({ ...facts, ...strike })
    const client = connect(url, key)
    const range = { from: START_MS, to: START_MS + 1, speed: 0 }
    await client.send({ op: 'replay', id: 'r', channel: 'markets', coin: 'btc', ...range })
    const { data } = (await client.untilType('market_open')).at(-1) ?? {}
    expect(data).toMatchObject({ strike: null, strikeSource: null, strikeTime: null })
    const later = { ...range, to: START_MS + 2 }
    await client.send({ op: 'replay', id: 's', channel: 'markets', coin: 'btc', ...later })
    const update = (await client.untilType('market_update')).at(-1)
    expect(update).toMatchObject({ id: 's', data: { strike: 64_000.5, strikeSource: 'simulated' } })
  })

  test('error: what is no range or speed is named', async () => {
    const { history, url, key } = startLiveServer()
    await putMarket(history)
    const client = connect(url, key)
    const replay = { op: 'replay', id: 'r', channel: 'quotes', coin: 'btc', speed: 1 }
    const paramOf = async (more: object) => {
      await client.send({ ...replay, ...more })
      return (await client.untilType('error')).at(-1)?.param
    }
    const range = { from: START_MS, to: START_MS + 1 }
    expect(await paramOf({})).toBe('from')
    expect(await paramOf({ from: START_MS })).toBe('to')
    expect(await paramOf({ ...range, to: START_MS })).toBe('to')
    expect(await paramOf({ ...range, speed: 0.05 })).toBe('speed')
    expect(await paramOf({ ...range, speed: 1001 })).toBe('speed')
    expect(await paramOf({ ...range, cursor: 'x' })).toBe('cursor')
    const conditionId = conditionIdOf(1)
    expect(await paramOf({ ...range, channel: 'spot', conditionId })).toBe('conditionId')
    expect(await paramOf({ ...range, source: 'chainlink' })).toBe('source')
    expect(await paramOf({ ...range, with: 'trades' })).toBe('with')
    expect(await paramOf({ conditionId, with: 'spot' })).toBe('from')
    expect(await paramOf({ conditionId, from: START_MS, with: 'spot' })).toBe('to')
    expect(await paramOf({ channel: 'spot', to: START_MS })).toBe('from')
    expect(await paramOf({ channel: 'spot', cursor: 'AQGd' })).toBe('to')
    expect(await paramOf({ channel: 'spot', cursor: 'AQGd', to: START_MS })).toBe('cursor')
    await client.send({ op: 'subscribe', id: 's', channel: 'quotes', coin: 'btc' })
    await client.send({ op: 'seek', id: 's', to: START_MS })
    expect((await client.untilType('error')).at(-1)?.param).toBe('id')
  })
})

const isGap = (each: unknown) =>
  typeof each === 'object' && each !== null && 'type' in each && each.type === 'gap'

/** Rows until the last one that the route has. */
async function watcherRows(
  watcher: ReturnType<typeof connect>,
  path: string,
  { url, key }: { url: string; key: string },
): Promise<Message[]> {
  const origin = url.replace('ws:', 'http:').replace('/v1/stream', '')
  const headers = { authorization: `Bearer ${key}` }
  const page = (await (await fetch(`${origin}${path}?limit=1000`, { headers })).json()) as {
    data: { id: string }[]
  }
  const lastId = page.data.at(-1)?.id
  return await watcher.until(({ data }) => data?.id === lastId)
}
