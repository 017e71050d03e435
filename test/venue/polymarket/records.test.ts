import { describe, expect, test } from 'bun:test'

import { type JsonObject, parseJson } from '#src/venue/json-fields.ts'
import { readMarketRecords } from '#src/venue/record-kinds.ts'

import { NOW_MS } from '../../ingest/import-harness.ts'
import {
  aGammaMarket,
  aToken,
  aTrade,
  conditionId,
  downId,
  resolved,
  slug,
  startMs,
  upId,
} from '../../ingest/market-objects.ts'

/** Reads an object from its text, as files hold it; a string is that text. */
const read = (value: unknown, isStrict = false) =>
  readMarketRecords(
    parseJson(typeof value === 'string' ? value : JSON.stringify(value)) as JsonObject,
    { nowMs: NOW_MS, isStrict },
  )

function factsOf(value: unknown) {
  const [record] = read(value) ?? []
  if (record?.kind !== 'facts') throw new Error(`no facts: ${JSON.stringify(record)}`)
  return record.facts
}

const named = `(market ${slug})`
const fileFacts = { conditionId, coin: 'btc', timeframe: '5m', slug } as const
const second = { version: 'v2', positionIds: ['3', '4'], closed: true }
const window = { windowStartMs: startMs, windowEndMs: startMs + 300_000 }

describe('readMarketRecords of the catalogue', () => {
  test('default: takes over what is known of a market', () => {
    expect(factsOf(aGammaMarket())).toEqual({
      ...fileFacts,
      ...window,
      question: 'Bitcoin Up or Down - April 14, 4:00AM-4:05AM ET',
      assetIds: { up: upId, down: downId },
      tickSize: 10_000,
    })
  })

  test('behavior: the order of the outcomes says which token and which price is whose', () => {
    const outcomes = '["Down", "Up"]'
    const outcomePrices = '["1", "0"]'
    const facts = factsOf(aGammaMarket({ ...resolved, outcomes, outcomePrices }))
    expect(facts.assetIds).toEqual({ up: downId, down: upId })
    expect(facts).toMatchObject({ winner: 'down', winnerSource: 'venue' })
  })

  test.each([
    [{ clobTokenIds: ['1', '2'] }, ['1', '2']],
    [{ version: null, clobTokenIds: '["1","2"]', positionIds: ['3', '4'] }, ['1', '2']],
    [{ version: 'v1', clobTokenIds: '["1","2"]', positionIds: ['3', '4'] }, ['1', '2']],
    [{ version: 'v2', clobTokenIds: '["1","2"]', positionIds: ['3', '4'] }, ['3', '4']],
    [{ version: 'v2', clobTokenIds: null, positionIds: '["3", "4"]' }, ['3', '4']],
    [{ version: 'v2', clobTokenIds: undefined, positionIds: ['3', '4'] }, ['3', '4']],
  ])('behavior: the version alone says which ids of %j are used', (changes, [up, down]) => {
    expect(factsOf(aGammaMarket(changes)).assetIds).toEqual({ up, down })
  })

  test.each([
    [{ ...resolved, outcomePrices: '["1", "0"]' }, 'up by venue'],
    [{ ...resolved, outcomePrices: '["0", "1"]' }, 'down by venue'],
    [{ ...resolved, outcomePrices: ['0', '1'] }, 'down by venue'],
    [{ ...resolved, umaResolutionStatus: 'settled', outcomePrices: '["1", "0"]' }, 'up by venue'],
    [{ ...resolved, outcomePrices: '["0.5", "0.5"]' }, 'void by venue'],
    [
      { ...resolved, umaResolutionStatus: 'settled', outcomePrices: '["0.5", "0.5"]' },
      'void by venue',
    ],
    [{ ...resolved, outcomePrices: '["0.4", "0.6"]' }, 'undefined by undefined'],
    [{ ...resolved, closed: false, outcomePrices: '["0.5", "0.5"]' }, 'undefined by undefined'],
    [{ ...resolved, closed: false, outcomePrices: '["1", "0"]' }, 'undefined by undefined'],
    [
      { closed: true, umaResolutionStatus: 'proposed', outcomePrices: '["1", "0"]' },
      'undefined by undefined',
    ],
    [{ closed: true, outcomePrices: '["0.9995", "0.0005"]' }, 'undefined by undefined'],
    [{ ...second, resolutionStatus: 'resolved', outcomePrices: '["1", "0"]' }, 'up by venue'],
    [{ ...second, resolutionStatus: 'resolved', outcomePrices: '["0.5", "0.5"]' }, 'void by venue'],
    [
      { ...second, ...resolved, resolutionStatus: null, outcomePrices: '["0", "1"]' },
      'down by venue',
    ],
    [
      { ...second, ...resolved, resolutionStatus: 'active', outcomePrices: '["1", "0"]' },
      'undefined by undefined',
    ],
    [
      { ...second, version: 'v1', resolutionStatus: 'resolved', outcomePrices: '["1", "0"]' },
      'undefined by undefined',
    ],
  ])('behavior: %j is won by %s, as far as is known', (changes, winner) => {
    const facts = factsOf(aGammaMarket(changes))
    expect(`${facts.winner} by ${facts.winnerSource}`).toBe(winner)
  })

  test.each([
    [{}, true],
    [{ version: null }, true],
    [{ version: '' }, true],
    [{ version: 'v1' }, false],
    [{ version: 'v2', positionIds: ['3', '4'] }, false],
    [{ clobTokenIds: null }, false],
    [{ clobTokenIds: null, positionIds: ['3', '4'] }, true],
    [{ version: '', clobTokenIds: null, positionIds: '["3", "4"]' }, true],
    [{ version: 'v2', clobTokenIds: null, positionIds: ['3', '4'] }, false],
  ])('behavior: that %j states no version is known to the reader: %p', (changes, hasNoVersion) => {
    const [record] = read(aGammaMarket(changes)) ?? []
    expect(record).toMatchObject({ kind: 'facts', hasNoVersion })
  })

  test('behavior: half each is a void market ten minutes after its window, and not before', () => {
    const value = aGammaMarket({ ...resolved, outcomePrices: '["0.5", "0.5"]' }) as JsonObject
    const resultAt = (nowMs: number) => {
      const [record] = readMarketRecords(value, { nowMs, isStrict: false }) ?? []
      return record?.kind === 'facts' ? record.facts.winner : record
    }
    expect(resultAt(window.windowEndMs + 599_999)).toBeUndefined()
    expect(resultAt(window.windowEndMs + 600_000)).toBe('void')
  })

  test('behavior: the schedule of fees is kept as it is stated, in one form', () => {
    const fees = { exponent: 1, rate: 0.072, takerOnly: true, rebateRate: '0.20' }
    const text = '{"rate":"0.072","exponent":"1","takerOnly":true,"rebateRate":"0.20"}'
    expect(factsOf(aGammaMarket({ feeSchedule: fees })).feeSchedule).toBe(text)
    expect(factsOf(aGammaMarket({ feeSchedule: fees, feesEnabled: true })).feeSchedule).toBe(text)
    expect(
      factsOf(aGammaMarket({ feeSchedule: fees, feesEnabled: false })).feeSchedule,
    ).toBeUndefined()
    expect(factsOf(aGammaMarket({ feeSchedule: null })).feeSchedule).toBeUndefined()
    // As this service answers with it.
    const own = { conditionId, symbol: 'btc', timeframe: '5m', windowStart: null, revision: 1 }
    expect(factsOf({ ...own, feeSchedule: fees }).feeSchedule).toBe(text)
  })

  test('behavior: a market of this service keeps its result', () => {
    const own = { conditionId, symbol: 'btc', timeframe: '5m', windowStart: null, revision: 1 }
    const by = { winnerSource: 'venue' }
    expect(factsOf({ ...own, ...by, result: 'void', winner: null }).winner).toBe('void')
    expect(factsOf({ ...own, ...by, result: 'up', winner: 'up' }).winner).toBe('up')
    // An earlier version had no result.
    expect(factsOf({ ...own, ...by, winner: 'down' }).winner).toBe('down')
  })

  test('behavior: prices of the coin keep every digit, wherever the event is', () => {
    const metadata = '{"priceToBeat":72815.250000000001234567,"finalPrice":72942.10}'
    const prices = { strike: '72815.250000000001234567', finalPrice: '72942.10' }
    const market = JSON.stringify(aGammaMarket()).slice(0, -1)
    expect(factsOf(`{"eventMetadata":${metadata},"markets":[${market}}]}`)).toMatchObject(prices)
    expect(factsOf(`${market},"eventMetadata":${metadata}}`)).toMatchObject(prices)
    expect(factsOf(`${market},"events":[{"eventMetadata":${metadata}}]}`)).toMatchObject(prices)
    const texts = { eventMetadata: { priceToBeat: '7.10', finalPrice: null } }
    expect(factsOf(aGammaMarket(texts))).toMatchObject({ strike: '7.10' })
  })

  test('behavior: what the object does not say of its window, its name does', () => {
    const bare = { eventStartTime: undefined, endDate: undefined }
    expect(factsOf(aGammaMarket(bare))).toMatchObject(window)
    const daily = { slug: 'bitcoin-up-or-down-on-may-17', endDate: '2026-05-17T16:00:00Z' }
    expect(factsOf(aGammaMarket({ ...daily, eventStartTime: undefined }))).toMatchObject({
      timeframe: '1d',
      windowStartMs: Date.UTC(2026, 4, 16, 16),
      windowEndMs: Date.UTC(2026, 4, 17, 16),
    })
  })

  test('behavior: the object outranks a name that only shows an hour', () => {
    const changes = {
      slug: 'bitcoin-up-or-down-june-24-2026-3am-et',
      eventStartTime: undefined,
      endDate: '2026-06-24T08:30:00Z',
    }
    const { windowStartMs, windowEndMs } = factsOf(aGammaMarket(changes))
    expect([windowStartMs, windowEndMs]).toEqual([undefined, Date.UTC(2026, 5, 24, 8, 30)])
  })

  test('behavior: absent members are unknown, not guessed', () => {
    const bare = { slug, conditionId, clobTokenIds: null, outcomePrices: '' }
    expect(factsOf(bare)).toEqual({ ...fileFacts, ...window })
    expect(factsOf(aGammaMarket({ outcomes: undefined })).assetIds).toBeUndefined()
  })

  test('behavior: every market of an event is read', () => {
    const other = aGammaMarket({ conditionId: `0x${'2b'.repeat(32)}` })
    expect(read({ markets: [aGammaMarket(), other] })).toHaveLength(2)
    expect(read({ markets: [] })).toEqual([])
  })

  test('behavior: markets that are not kept are left out with the reason', () => {
    const hype = aGammaMarket({ slug: 'nocoin-updown-5m-1782287400', conditionId: 'unread' })
    expect(read({ markets: [hype, aGammaMarket({ outcomes: '["Yes", "No"]' })] })).toEqual([
      { kind: 'left_out', reason: 'nocoin is not a supported coin', conditionId: undefined },
      { kind: 'left_out', reason: 'its outcomes are not Up and Down', conditionId },
    ])
  })

  test.each<[Record<string, unknown>, string]>([
    [{ slug: undefined }, 'slug: missing'],
    [{ conditionId: '0x12' }, 'conditionId: not 0x and 62 or 64 hex digits'],
    [{ conditionId: 12 }, 'conditionId: not a string'],
    [
      { endDate: '2026-04-14' },
      'endDate: not an ISO date-time in UTC, nor Unix milliseconds or seconds',
    ],
    [
      { endDate: '2026-04-14T08:10:00Z' },
      'endDate: 2026-04-14T08:10:00.000Z, but the slug says 2026-04-14T08:05:00.000Z',
    ],
    [
      { eventStartTime: '2026-04-14T07:00:00Z' },
      'eventStartTime: 2026-04-14T07:00:00.000Z, but the slug says 2026-04-14T08:00:00.000Z',
    ],
    [{ clobTokenIds: '["1"]' }, `clobTokenIds: not the ids of two different tokens ${named}`],
    [{ clobTokenIds: '["1","1"]' }, `clobTokenIds: not the ids of two different tokens ${named}`],
    [{ clobTokenIds: '["1","x"]' }, `clobTokenIds[1]: not 1 to 78 digits ${named}`],
    [{ clobTokenIds: '[' }, `clobTokenIds: not an array ${named}`],
    [{ version: 'v3' }, `version: neither v1 nor v2 ${named}`],
    [{ version: 2 }, `version: not a string ${named}`],
    [{ version: 'v2' }, `positionIds: missing, in a market of version v2 ${named}`],
    [
      { version: 'v1', clobTokenIds: null, positionIds: ['1', '2'] },
      `clobTokenIds: missing, in a market of version v1 ${named}`,
    ],
    [{ version: 'v2', positionIds: '["0x1","2"]' }, `positionIds[0]: not 1 to 78 digits ${named}`],
    [{ version: 'v2', positionIds: [1, 2] }, `positionIds[0]: not a string ${named}`],
    [{ outcomes: '{}' }, 'outcomes: not an array'],
  ])('error: %j is named', (changes, reason) => {
    expect(() => read(aGammaMarket(changes))).toThrow(new Error(reason))
    const [fault, sound] = read({ markets: [aGammaMarket(changes), aGammaMarket()] }) ?? []
    expect(fault).toEqual({ kind: 'fault', reason: `markets[0].${reason}` })
    expect(sound?.kind).toBe('facts')
  })

  test.each<[Record<string, unknown>, string, string]>([
    [
      { orderPriceMinTickSize: 1 },
      'tickSize',
      'orderPriceMinTickSize: not between 0 and 1 with at most six digits',
    ],
    [
      { orderPriceMinTickSize: 1e-7 },
      'tickSize',
      'orderPriceMinTickSize: not between 0 and 1 with at most six digits',
    ],
    [
      { eventMetadata: { priceToBeat: -1 } },
      'strike',
      'eventMetadata.priceToBeat: not a plain decimal such as 72815.25',
    ],
    [
      { eventMetadata: { priceToBeat: '72,815.25' } },
      'strike',
      'eventMetadata.priceToBeat: not a plain decimal such as 72815.25',
    ],
    [
      { eventMetadata: { finalPrice: 1e21 } },
      'finalPrice',
      'eventMetadata.finalPrice: not a plain decimal such as 72815.25',
    ],
    [{ feeSchedule: [] }, 'feeSchedule', 'feeSchedule: not an object'],
    [
      { feeSchedule: { rate: 0.07, exponent: 1, takerOnly: 'yes', rebateRate: 0 } },
      'feeSchedule',
      'feeSchedule.takerOnly: not true or false',
    ],
    [
      { feeSchedule: { exponent: 1, takerOnly: true, rebateRate: 0 } },
      'feeSchedule',
      'feeSchedule.rate: missing',
    ],
    [
      { secondsDelay: 61 },
      'takerDelayMs',
      'secondsDelay: not a number of milliseconds up to 60000',
    ],
    [{ question: 'x'.repeat(2001) }, 'question', 'question: longer than 2000 characters'],
  ])(
    'behavior: of %j only that fact is left out, unless reading is strict',
    (changes, fact, reason) => {
      const market = aGammaMarket({ ...resolved, outcomePrices: '["1","0"]', ...changes })
      const [record] = read(market) ?? []
      expect(record).toMatchObject({
        facts: { winner: 'up', assetIds: { up: upId, down: downId }, [fact]: undefined },
        leftOut: [reason],
      })
      expect(() => read(market, true)).toThrow(new Error(reason))
    },
  )

  test.each([
    ['1e5', '100000'],
    ['1E+5', '100000'],
    ['"1e5"', '100000'],
    ['7.281525e4', '72815.25'],
    ['7281525e-2', '72815.25'],
    ['1.50e2', '150'],
    ['1.2345e2', '123.45'],
    ['0.5e1', '5'],
    ['2.5e-3', '0.0025'],
    ['0e0', '0'],
    ['100000.000000000000000001', '100000.000000000000000001'],
    ['1e400', undefined],
    ['1e-40', undefined],
  ])('behavior: a price of %s is %s', (text, price) => {
    const market = JSON.stringify(aGammaMarket()).slice(0, -1)
    expect(factsOf(`${market},"eventMetadata":{"priceToBeat":${text}}}`).strike).toBe(price)
  })

  test('error: a window that ends before it starts', () => {
    const changes = {
      slug: 'bitcoin-up-or-down-june-24-2026-3am-et',
      eventStartTime: '2026-06-24T08:00:00Z',
      endDate: '2026-06-24T08:00:00Z',
    }
    expect(() => read(aGammaMarket(changes))).toThrow('endDate: not after eventStartTime')
  })
})

describe('readMarketRecords of tokens and trades', () => {
  test('default: a token is one of its market, whose window is in its name', () => {
    expect(factsOf(aToken())).toEqual({ ...fileFacts, ...window, assetIds: { down: downId } })
    expect(factsOf(aToken({ winner: 'up' }))).toMatchObject({
      winner: 'up',
      winnerSource: 'dataset',
    })
  })

  test('default: a last trade price is of neither outcome', () => {
    expect(read(aTrade())).toEqual([
      {
        kind: 'trade',
        facts: { ...fileFacts, ...window },
        trade: { timestampMs: startMs + 10_672, price: 510_000 },
      },
    ])
  })

  test.each<[Record<string, unknown>, string]>([
    [aToken({ outcome: 'yes' }), 'outcome: neither "up" nor "down"'],
    [aToken({ winner: 'both' }), 'winner: neither "up" nor "down"'],
    [aToken({ assetId: 17 }), 'assetId: not a string'],
    [aTrade({ lastTradePrice: '1' }), 'lastTradePrice: not a decimal between 0 and 1'],
    [aTrade({ lastTradePrice: '0.000' }), 'lastTradePrice: not a decimal between 0 and 1'],
    [aTrade({ lastTradePrice: '' }), 'lastTradePrice: missing'],
    [aTrade({ timestamp: '2026-04-31T08:00:00Z' }), 'timestamp: no such day or time of day'],
    [aTrade({ timestamp: null }), 'timestamp: missing'],
  ])('error: %j is named', (value, reason) => {
    expect(() => read(value)).toThrow(reason)
  })

  test('behavior: a last trade price may be a number', () => {
    const [record] = read(aTrade({ lastTradePrice: 0.51 })) ?? []
    expect(record).toMatchObject({ trade: { price: 510_000 } })
  })
})

describe('delays', () => {
  test('default: those of the catalogue are in seconds, of which 0 says nothing', () => {
    const delayOf = (secondsDelay: unknown) => {
      const [record] = read(aGammaMarket({ secondsDelay })) ?? []
      return record?.kind === 'facts' ? record.facts.takerDelayMs : undefined
    }
    expect([3, '1', 0, null, undefined].map(delayOf)).toEqual([
      3000,
      1000,
      undefined,
      undefined,
      undefined,
    ])
  })

  test('default: the order book API states whether there is one, and the age of orders in seconds', () => {
    const market = { c: conditionId, t: [], mts: 0.01, oas: 3 }
    const delayOf = (itode?: unknown) => {
      const [record] = read({ ...market, ...(itode === undefined ? {} : { itode }) }) ?? []
      return record?.kind === 'more' ? record.facts : undefined
    }
    expect(delayOf(true)).toMatchObject({ takerDelayMs: 250, orderAgeMs: 3000 })
    expect([delayOf(false), delayOf(), delayOf(100)].map((facts) => facts?.takerDelayMs)).toEqual([
      0, 0, 100,
    ])
    expect(() => delayOf('soon')).toThrow('itode: not a number of milliseconds')
  })
})
