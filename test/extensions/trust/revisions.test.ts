import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  someSnapshots,
  START_MS,
} from '../../history/books.ts'
import { addKey, createHarness } from '../../support/harness.ts'
import { readProblem } from '../../support/page-client.ts'

type Page = { data: Record<string, unknown>[]; nextCursor: string | null; completeSince: string }
const BEGUN_MS = START_MS + 1_000_000

/** Of btc six late rows, one a minute; of eth a winner; then what is asked. */
async function serve() {
  const time = { nowMs: BEGUN_MS }
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  await appendAll(history, someSnapshots(30))
  for (let second = 1; second <= 6; second++) {
    time.nowMs += 60_000
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + second * 1000 }, 7)])
  }
  const eth = { conditionId: conditionIdOf(2), coin: 'eth', timeframe: '5m', source: 'recorded' }
  await history.putMarket({ ...eth, windowStartMs: START_MS } as never)
  await history.putMarket({
    ...eth,
    winner: 'up',
    winnerSource: 'venue',
    tickSize: 10_000,
  } as never)
  const harness = createHarness({ history })
  const get = async (query = '') => {
    const response = await harness.send(`/v1/revisions?${query}`)
    return { response, page: (await response.json()) as Page }
  }
  return { ...harness, history, get }
}

describe('GET /v1/revisions', () => {
  test('default: what changed and why, and since when that is known', async () => {
    const { page } = await (await serve()).get()
    expect(page).toMatchObject({ nextCursor: null })
    expect(page.completeSince).toBe(new Date(BEGUN_MS).toISOString())
    expect(page.data.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
    expect(page.data[0]).toEqual({
      id: '1',
      time: new Date(BEGUN_MS + 60_000).toISOString(),
      why: 'imported',
      symbol: 'btc',
      conditionId: conditionIdOf(1),
      timeframe: '5m',
      revision: 2,
      // The row of Down in that millisecond has a new id.
      windowStart: '2026-04-14T08:00:00.000Z',
      added: 2,
      changed: 0,
      removed: 1,
      from: '2026-04-14T08:00:01.000Z',
      to: '2026-04-14T08:00:01.001Z',
      facts: [],
    })
    expect(page.data[6]).toMatchObject({
      why: 'fact_changed',
      symbol: 'eth',
      from: null,
      to: null,
      facts: [
        { fact: 'winner', before: null, after: 'up' },
        { fact: 'winnerSource', before: null, after: 'venue' },
        { fact: 'tickSize', before: null, after: '0.01' },
      ],
    })
  })

  test('args: since, coin and limit; a walk gives each once and follows what comes', async () => {
    const { get, history } = await serve()
    const since = await get(`since=${BEGUN_MS + 180_000}&coin=btc`)
    expect(since.page.data.map(({ id }) => id)).toEqual(['3', '4', '5', '6'])
    const ids: unknown[] = []
    let cursor = ''
    for (let pages = 0; pages < 9; pages++) {
      const { page, response } = await get(`limit=2&coin=btc${cursor}`)
      ids.push(...page.data.map(({ id }) => id))
      cursor = `&cursor=${response.headers.get('x-resume-cursor')}`
      if (page.nextCursor === null) break
    }
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6'])
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 8000 }, 7)])
    expect((await get(`limit=2&coin=btc${cursor}`)).page.data.map(({ id }) => id)).toEqual(['8'])
  })

  test('behavior: an ETag that a new change outdates, and CSV', async () => {
    const { get, send, history } = await serve()
    const { response } = await get()
    const headers = { 'if-none-match': response.headers.get('etag') ?? '' }
    expect((await send('/v1/revisions', { headers })).status).toBe(304)
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 9000 }, 7)])
    expect((await send('/v1/revisions', { headers })).status).toBe(200)
    const csv = await (await send('/v1/revisions?format=csv&limit=1')).text()
    expect(csv.split('\n')[0]).toStartWith('id,time,why,symbol,condition_id,timeframe,window_start')
    expect(csv.split('\n')[1]).toEndWith('2026-04-14T08:00:01.000Z,2026-04-14T08:00:01.001Z,[]')
  })

  test('behavior: a tier sees its own coins; another one is refused by name', async () => {
    const { sendAs, ledger } = await serve()
    const key = addKey(ledger, 'free')
    const { data } = (await (await sendAs(key, '/v1/revisions')).json()) as Page
    expect(new Set(data.map(({ symbol }) => symbol))).toEqual(new Set(['btc']))
    const refused = await sendAs(key, '/v1/revisions?coin=eth')
    expect(refused.status).toBe(403)
    expect(await readProblem(refused)).toMatchObject({ code: 'tier_coin' })
  })
})
