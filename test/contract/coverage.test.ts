/**
 * Every route with `X-Coverage`, the board and the market report the gaps that GET …/coverage reports
 * at that moment: while a recorder is silent, when it runs again, and once it has noted its gaps.
 */
import { describe, expect, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import type { MarketCoverageBody } from '#src/features/coverage/schema.ts'
import type { MarketBody } from '#src/features/markets/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { type Entry, readDocument } from '../support/openapi-document.ts'
import { asJson } from '../support/signup-client.ts'
import { silentRecorder } from '../support/silences.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'

const DAY_MS = 86_400_000
const SECOND_MS = 1000
const dayMs = NOW_MS - (NOW_MS % DAY_MS)
/** The recorder was last heard of; the last states are before it. */
const SILENT_MS = NOW_MS - 100 * SECOND_MS
const open = conditionIdOf(1)
/** Its window was over 40 s ago, and it was not closed. */
const ended = conditionIdOf(2)
const endedMs = NOW_MS - 40 * SECOND_MS

async function createGround() {
  const history = openHistory(':memory:')
  await history.putMarket({
    conditionId: open,
    coin: 'btc',
    timeframe: '1d',
    source: 'recorded',
    windowStartMs: dayMs,
    windowEndMs: dayMs + DAY_MS,
  })
  await history.putMarket({
    conditionId: ended,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: endedMs - 300_000,
    windowEndMs: endedMs,
  })
  const record = async (timestampMs: number) => {
    const snapshots = [open, ended].flatMap((conditionId) =>
      outcomes.map((outcome) =>
        aSnapshot(
          {
            conditionId,
            outcome,
            timeframe: conditionId === open ? '1d' : '5m',
            // Up is the later one, so that bars and steps of down depend on its gap.
            timestampMs: timestampMs + (outcome === 'up' ? 400 : 0),
          },
          timestampMs,
        ),
      ),
    )
    await history.append({
      id: `${timestampMs}`,
      source: 'recorded',
      snapshots,
      gapReason: 'venue_silent',
    })
  }
  for (let second = 4; second > 0; second--) await record(SILENT_MS - second * SECOND_MS)
  const recorder: { silentMs: number | undefined } = { silentMs: undefined }
  const harness = createHarness({ history, silences: silentRecorder(() => recorder.silentMs) })
  return { ...harness, history, recorder }
}
type Ground = Awaited<ReturnType<typeof createGround>>

/** `X-Coverage` that follows from a body of the coverage route. */
function headerOf({ outcomes: all }: MarketCoverageBody, outcome?: Outcome): string {
  const asked = all.filter((each) => outcome === undefined || each.outcome === outcome)
  const gaps = asked.flatMap((each) => each.gaps)
  if (gaps.length === 0) return 'full'
  const sum = (spans: readonly { durationMs: number }[]) =>
    spans.reduce((ms, { durationMs }) => ms + durationMs, 0)
  const coveredMs = sum(asked.flatMap((each) => each.intervals))
  const thousandths = Math.floor((coveredMs * 1000) / (coveredMs + sum(gaps)))
  const share = (thousandths / 1000).toFixed(3).replace(/0{1,2}$/, '')
  const reasons = [...new Set(gaps.map(({ reason }) => reason))].sort().join(' ')
  const kind = coveredMs === 0 ? 'none' : 'partial'
  return `${kind};covered=${share};gaps=${gaps.length};reasons="${reasons}"`
}

type Case = {
  path: string
  init?: RequestInit
  market?: string
  /** Query of the coverage route, if it is not the market as a whole. */
  range?: string
  outcome?: Outcome
}
const path = (conditionId: string, rest: string) => `/v1/btc/markets/${conditionId}/${rest}`
const moment = { range: `from=${NOW_MS - 1}&to=${NOW_MS}`, ts: NOW_MS - 1 }
const window = `from=${dayMs}&to=${dayMs + DAY_MS}`
const last = `from=${SILENT_MS - SECOND_MS}&to=${SILENT_MS}`

/** What each operation is asked, by its id; the open market unless another is named. */
const cases: Record<string, Case[]> = {
  ...Object.fromEntries(
    Object.entries({
      listSnapshots: ['snapshots', 'snapshots?interval=1s', 'snapshots?outcome=down'],
      listChanges: ['changes', 'changes?limit=1', 'changes?outcome=down'],
      listQuotes: ['quotes', 'quotes?interval=1s', 'quotes?interval=1s&outcome=down'],
      listPrices: ['prices', 'prices?interval=1s', 'prices?interval=1s&outcome=down'],
      listTrades: ['trades', 'trades?limit=1', 'trades?outcome=down'],
      exportMarket: ['export', 'export?format=csv', 'export?outcome=down'],
      getMarketCoverage: ['coverage'],
    }).map(([id, all]) => [
      id,
      [open, ended].flatMap((market) =>
        all.flatMap((rest): Case[] => {
          const join = rest.includes('?') ? '&' : '?'
          const outcome = rest.includes('outcome=down') ? { outcome: 'down' as const } : {}
          return [
            { path: path(market, rest), market, ...outcome },
            { path: path(market, `${rest}${join}${last}`), market, range: last, ...outcome },
          ]
        }),
      ),
    ]),
  ),
  getHeatmap: [
    { path: path(open, `heatmap?outcome=up&${window}`), range: window, outcome: 'up' },
    {
      path: path(ended, 'heatmap?outcome=down'),
      market: ended,
      range: `from=${endedMs - 300_000}&to=${endedMs}`,
      outcome: 'down',
    },
  ],
  getSnapshotsAt: [
    { path: path(open, `snapshots/at?ts=${moment.ts}`), range: moment.range },
    {
      path: path(open, `snapshots/at?ts=${moment.ts}&outcome=up`),
      range: moment.range,
      outcome: 'up',
    },
  ],
  listSnapshotsAt: [
    {
      path: '/v1/btc/snapshots/at',
      init: {
        method: 'POST',
        ...asJson({ requests: [{ conditionId: open, outcome: 'up', ts: moment.ts }] }),
      },
      range: moment.range,
      outcome: 'up',
    },
  ],
  getFill: [
    {
      path: path(open, `fill?ts=${moment.ts}&outcome=down&side=buy&size=1`),
      range: moment.range,
    },
    {
      path: path(open, `fill?ts=${moment.ts}&outcome=down&side=buy&size=1&view=own`),
      range: moment.range,
      outcome: 'down',
    },
  ],
  getRestingFill: [
    {
      path: path(
        open,
        `fill/resting?outcome=down&side=buy&price=0.5&size=1&from=${moment.ts}&until=${moment.ts + 1}`,
      ),
      range: moment.range,
      outcome: 'down',
    },
  ],
  getPanel: [
    {
      path: `/v1/btc/panel?timeframe=5m&offsets=-0s&from=${endedMs - 300_000}&to=${endedMs}`,
      market: ended,
      range: `from=${endedMs - 1}&to=${endedMs}`,
    },
  ],
  exportDay: [
    { path: `/v1/btc/export?day=${new Date(dayMs).toISOString().slice(0, 10)}&timeframe=1d` },
  ],
  getBoard: [{ path: '/v1/board', range: `from=${dayMs}&to=${NOW_MS}` }],
}

async function coverageOf({ send }: Pick<Ground, 'send'>, { market = open, range }: Case) {
  const query = range === undefined ? '' : `?${range}`
  const response = await send(path(market, `coverage${query}`))
  expect(response.status).toBe(200)
  return (await response.json()) as MarketCoverageBody
}

const known = await createGround()
const { entries } = await readDocument(known.send)
const covered = entries.filter(({ responses }) => 'X-Coverage' in (responses['200']?.headers ?? {}))

/** Whether an answer is one, and its header; of the 304 too, if one was sent before. */
async function headersOf({ send }: Ground, { path, init }: Case, etags: Map<string, string>) {
  const answers = [await send(path, init)]
  const before = etags.get(path)
  if (before !== undefined) answers.push(await send(path, { headers: { 'if-none-match': before } }))
  const etag = answers[0]?.headers.get('etag')
  if (etag) etags.set(path, etag)
  for (const answer of answers) await answer.arrayBuffer()
  return answers.map(({ status, headers }) => [status < 400, headers.get('x-coverage')])
}

/** What the bodies of the board and of the market say of the open market. */
async function expectSameElsewhere(ground: Ground): Promise<void> {
  const { send } = ground
  const body = await coverageOf(ground, { path: '' })
  const [up] = body.outcomes
  const lastGap = up?.gaps.at(-1)
  const board = (await (await send('/v1/board')).json()) as {
    data: { recording: { state: string; reason: string | null; since: string | null } }[]
  }
  expect(board.data.map(({ recording: { reason, since } }) => ({ reason, since }))).toEqual([
    { reason: lastGap?.reason ?? '', since: lastGap?.from ?? '' },
  ])
  const market = (await (await send(`/v1/btc/markets/${open}`)).json()) as MarketBody
  expect(market.outcomes.map(({ coverage: { covered, gaps } }) => ({ covered, gaps }))).toEqual(
    body.outcomes.map(({ covered, gaps }) => ({ covered, gaps: gaps.length })),
  )
}

describe('gaps of a market', () => {
  test('default: every route with `X-Coverage` is asked', () => {
    expect(covered.map(({ operationId }: Entry) => operationId).sort()).toEqual(
      Object.keys(cases).sort(),
    )
  })

  test('behavior: are the same in every answer, whatever the recorder does', async () => {
    const ground = await createGround()
    const { history, recorder, time } = ground
    const etags = new Map<string, string>()
    const expectSame = async (reason: string) => {
      // The board is read again.
      time.timerMs += SECOND_MS
      for (const [id, all] of Object.entries(cases)) {
        for (const each of all) {
          const said = headerOf(await coverageOf(ground, each), each.outcome)
          for (const header of await headersOf(ground, each, etags))
            expect([id, each.path, ...header]).toEqual([id, each.path, true, said])
        }
      }
      const { outcomes: both } = await coverageOf(ground, { path: '' })
      expect(both.map(({ gaps }) => gaps.at(-1)?.reason)).toEqual([reason, reason] as never)
      await expectSameElsewhere(ground)
    }
    recorder.silentMs = SILENT_MS
    await expectSame('recorder_down')
    // It runs again, and has not begun with its markets.
    recorder.silentMs = undefined
    await expectSame('recorder_down')
    const noted = [open, ended].flatMap((conditionId) =>
      outcomes.map((outcome) => {
        const lastMs = history.findMarket(conditionId)?.spans[outcome]?.lastMs ?? 0
        const toMs = conditionId === open ? ENDLESS_MS : endedMs
        const gap = { outcome, fromMs: lastMs + 1, toMs, reason: 'recorder_down' } as const
        return { kind: 'opened', conditionId, gap } as const
      }),
    )
    await history.record({ snapshots: [], trades: [], gaps: noted })
    await expectSame('recorder_down')
  })

  test('behavior: bars and steps of a page have another tag while they are made with other gaps', async () => {
    for (const route of ['prices', 'quotes']) {
      const { send, recorder } = await createGround()
      const address = path(open, `${route}?interval=1s`)
      const before = await send(address)
      recorder.silentMs = SILENT_MS
      const etag = before.headers.get('etag') ?? ''
      const silent = await send(address, { headers: { 'if-none-match': etag } })
      expect([route, silent.status]).toEqual([route, 200])
      if (route === 'prices') expect(await silent.text()).not.toBe(await before.text())
    }
  })
})

describe('gaps of a market that test keys read', () => {
  test('default: are the same in every answer', async () => {
    const { ask, askFor } = createTestGround()
    const at = openMarket.dayNowMs
    const list = (await (await ask(`/v1/btc/markets?slug=${openMarket.slug}`)).json()) as {
      data: { conditionId: string }[]
    }
    const [{ conditionId } = { conditionId: '' }] = list.data
    for (const send of [ask, (path: string) => askFor('gap', path)]) {
      const ground = { send } as Pick<Ground, 'send'>
      const range = `from=${openMarket.windowMs}&to=${at}`
      const body = await coverageOf(ground, { path: '', market: conditionId, range })
      for (const route of ['snapshots', 'changes', 'quotes', 'prices', 'trades', 'export']) {
        const response = await send(path(conditionId, `${route}?${range}`))
        await response.arrayBuffer()
        expect([route, response.headers.get('x-coverage')]).toEqual([route, headerOf(body)])
      }
    }
  })
})
