import { describe, expect, test } from 'bun:test'

import type { MarketFacts, Timeframe } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { createWindowChain } from '#src/recorder/window-chain.ts'

import { conditionIdOf } from '../history/books.ts'

const START_MS = Date.UTC(2026, 10, 22, 10)
const MINUTE_MS = 60_000

/** A history with consecutive windows of some minutes, numbered from 1. */
function start({
  timeframe = '5m',
  minutes = 5,
}: { timeframe?: Timeframe; minutes?: number } = {}) {
  const history = openHistory(':memory:', { chunkCacheBytes: 0 })
  const lines: string[] = []
  const chain = createWindowChain(
    history,
    createReporter((line) => lines.push(line)),
  )
  const put = async (number: number, facts: Partial<MarketFacts> = {}) => {
    const startMs = START_MS + (number - 1) * minutes * MINUTE_MS
    await history.putMarket({
      conditionId: conditionIdOf(number),
      coin: 'btc',
      timeframe,
      source: 'recorded',
      windowStartMs: startMs,
      windowEndMs: startMs + minutes * MINUTE_MS,
      slug: `btc-${number}`,
      ...facts,
    })
    await chain.check(conditionIdOf(number))
  }
  const get = (number: number) => history.findMarket(conditionIdOf(number))
  return { history, chain, put, get, lines }
}

describe('createWindowChain', () => {
  test('default: a final price is the strike of the window after, whichever is known first', async () => {
    const { put, get } = start()
    await put(1, { finalPrice: '64000.5', finalPriceSource: 'catalogue' })
    await put(2)
    const startMs = get(2)?.windowStartMs
    expect(get(2)).toMatchObject({ strike: '64000.5', strikeSource: 'chain', strikeMs: startMs })
    await put(4)
    await put(4, { finalPrice: '7' })
    await put(5)
    expect(get(5)?.strike).toBe('7')
  })

  test('behavior: a strike is the final price of the window before', async () => {
    const { put, get } = start()
    await put(1)
    await put(2, { strike: '64001' })
    expect(get(1)).toMatchObject({
      finalPrice: '64001',
      finalPriceSource: 'chain',
      finalPriceMs: get(2)?.windowStartMs,
    })
  })

  test('behavior: what the venue says later replaces what the neighbour said', async () => {
    const { put, get } = start()
    await put(1, { finalPrice: '1' })
    await put(2)
    await put(2, { strike: '2', strikeSource: 'catalogue' })
    expect(get(2)).toMatchObject({ strike: '2', strikeSource: 'catalogue' })
  })

  test('error: a contradiction is said once and counted, and both prices stay', async () => {
    const { put, get, lines, chain } = start()
    await put(1, { finalPrice: '64000.5' })
    await put(2, { strike: '64000.6' })
    await put(2)
    expect(lines).toEqual([
      'The strike of btc-2 is 64000.6, but the final price of the window before is 64000.5. Both are kept.',
    ])
    expect(chain.contradictions()).toBe(1)
    expect([get(1)?.finalPrice, get(2)?.strike]).toEqual(['64000.5', '64000.6'])
  })

  test('behavior: zeros at the end, another coin, another length and hours between are no contradiction', async () => {
    const { put, lines, chain, get } = start()
    await put(1, { finalPrice: '64000.50' })
    await put(2, { strike: '64000.5' })
    await put(5, { strike: '1' })
    await put(6, { strike: '2', conditionId: conditionIdOf(60), coin: 'eth', slug: 'eth' })
    expect([lines, chain.contradictions(), get(5)?.finalPrice]).toEqual([[], 0, undefined])
    const hours = start({ timeframe: '1h', minutes: 60 })
    await hours.put(1, { finalPrice: '1' })
    await hours.put(2)
    expect(hours.get(2)?.strike).toBeUndefined()
  })
})
