import { Elysia } from 'elysia'

import { consolidate } from '#src/domain/consolidated.ts'
import { type CoverageTally, coverageText, tallyCoverage, tallyText } from '#src/domain/coverage.ts'
import { AppError } from '#src/domain/errors.ts'
import {
  type Coin,
  createMarketFinder,
  type Market,
  otherOutcome,
  type Outcome,
  outcomes,
} from '#src/domain/market.ts'
import { comparePositions, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { toIso } from '#src/domain/time.ts'
import { tallyOfNothing } from '#src/domain/windows.ts'
import { createConsolidatedPrinter } from '#src/domain/wire/consolidated-text.ts'
import { createRowCut, type RowCut, wantsReceived } from '#src/domain/wire/row-cut.ts'
import { type MarketHistory, prevailingRange, type RowRange } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readCut } from '#src/http/data-query.ts'
import { dataTask, type TaskPorts, type Tasks } from '#src/http/tasks.ts'

import { AsOfBody, AsOfQuery, BatchAnswer, BatchBody } from './schema.ts'

type Deps = TaskPorts & { tasks: Tasks }

export const batchTask = dataTask(
  'moments',
  (ports, { coin, query }: { coin: Coin; query: BatchBody }) =>
    createAsOfService(ports).batch(coin, query),
)

/** Requests of a batch whose archived books are fetched and held in memory together. */
const FETCHED_REQUESTS = 100

type Terms = { cut: RowCut; view: AsOfQuery['view']; maxAgeMs?: number | undefined }
type Asked = { market: Market; outcome: Outcome | undefined; tsMs: number }
type Moment = Asked & { outcome: Outcome }

/** `text` is the JSON of a snapshot. */
type Found =
  | { kind: 'found'; text: string; ageMs: number }
  | { kind: 'stale'; ageMs: number }
  | { kind: 'no_snapshot' }

export function asOfRoutes(api: Api, deps: Deps) {
  const service = createAsOfService(deps)
  return new Elysia({ name: 'as-of' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at',
      ({ reply, request, market, query }) => reply(request, service.at(market, query)),
      {
        access: 'snapshots',
        market: true,
        query: AsOfQuery,
        isCovered: true,
        caching: 'digest',
        fails: ['no_snapshot', 'stale'],
        response: { 200: AsOfBody },
        answers: { description: 'What prevailed.' },
        detail: {
          operationId: 'getSnapshotsAt',
          summary: 'Get the order books as of a moment',
          description:
            'Returns the last snapshot of each outcome at or before `ts`, with its age; a later snapshot is never used. If `ts` is in a gap or after the expiry, that snapshot is still returned and `X-Coverage` shows the gap. An outcome without a snapshot by then, or with none within `maxAgeMs`, is left out. If no outcome remains, the answer is a 404 that says why.',
          tags: ['snapshots'],
        },
      },
    )
    .post(
      '/v1/:coin/snapshots/at',
      ({ reply, request, coin, body }) =>
        reply(request, deps.tasks.data(request, batchTask, { coin, query: body }, 'long')),
      {
        access: 'snapshots',
        coin: true,
        body: BatchBody,
        isCovered: true,
        caching: 'unkept',
        response: { 200: BatchAnswer },
        answers: { description: 'One result for each entry.' },
        detail: {
          operationId: 'listSnapshotsAt',
          summary: 'Get order books as of up to 500 moments',
          description:
            'Results are in the order of the request, and each is what `GET …/snapshots/at` would return: an entry that fails carries its own error and does not affect the others. The batch counts as one request of the rate limit. If an entry is malformed, the whole batch is refused with the index of that entry.',
          tags: ['snapshots'],
        },
      },
    )
}

function createAsOfService({ history, clock }: TaskPorts) {
  const find = createFinder(history)
  const findMarket = createMarketFinder(history)

  /** Coverage of a moment; a consolidated ladder needs both books. */
  const toQuestion = ({ market, outcome, tsMs }: Asked, view: AsOfQuery['view']) => ({
    market,
    gaps: history.gaps(market),
    outcome: view === 'own' ? outcome : undefined,
    fromMs: tsMs,
    toMs: tsMs + 1,
    nowMs: clock(),
  })

  function marketOf(coin: Coin, name: string): Market | undefined {
    const found = findMarket(name)
    return found?.coin === coin ? found : undefined
  }

  /** Rows of the archive that a batch reads. */
  function* rangesOf(
    coin: Coin,
    requests: BatchBody['requests'],
    view: AsOfQuery['view'],
  ): Generator<RowRange> {
    for (const { conditionId, outcome, ts } of requests) {
      const market = marketOf(coin, conditionId)
      if (market === undefined) continue
      for (const each of view === 'own' ? [outcome] : outcomes)
        yield prevailingRange(market, each, ts)
    }
  }

  return {
    /** Throws `no_snapshot` and `stale`. */
    async at(market: Market, query: AsOfQuery): Promise<DataAnswer> {
      const { outcome, maxAgeMs, view, ts: tsMs } = query
      const asked = { market, outcome, tsMs }
      const read = find({ cut: readCut(query), view, maxAgeMs })
      await history.ready(outcomes.map((each) => prevailingRange(market, each, tsMs)))
      const answers = (outcome === undefined ? outcomes : [outcome]).map((each) =>
        read({ market, outcome: each, tsMs }),
      )
      const texts = answers.flatMap((answer) =>
        answer.kind === 'found' ? `${answer.text.slice(0, -1)},"ageMs":${answer.ageMs}}` : [],
      )
      if (texts.length === 0) throw nothingError(asked, answers, maxAgeMs)
      const body = `{"ts":"${toIso(tsMs)}","data":[${texts.join(',')}]}`
      return { body, coverage: coverageText(toQuestion(asked, view)) }
    },

    async batch(coin: Coin, query: BatchBody): Promise<DataAnswer> {
      const { requests, maxAgeMs, view } = query
      const read = find({ cut: readCut(query), view, maxAgeMs })
      const texts: string[] = []
      const tallies: CoverageTally[] = []
      let isClosed = true
      for (const [index, { conditionId: name, outcome, ts: tsMs }] of requests.entries()) {
        const isNextPart = index % FETCHED_REQUESTS === 0
        const next = isNextPart ? requests.slice(index, index + FETCHED_REQUESTS) : []
        await history.ready(rangesOf(coin, next, view))
        const market = marketOf(coin, name)
        const conditionId = market?.conditionId ?? name.toLowerCase()
        const moment = market && { market, outcome, tsMs }
        isClosed &&= market?.isClosed === true
        const head = `"conditionId":"${conditionId}","outcome":"${outcome}","ts":"${toIso(tsMs)}"`
        texts.push(`{${head},${toMembers(moment ? read(moment) : { kind: 'unknown_market' })}}`)
        tallies.push(moment ? tallyCoverage(toQuestion(moment, view)) : tallyOfNothing(1, 1))
      }
      const body = `{"data":[${texts.join(',')}]}`
      return { body, isClosed, coverage: tallyText(tallies) }
    },
  }
}

/** Finds the last state at or before a moment and prints it. */
function createFinder(history: MarketHistory) {
  const print = createConsolidatedPrinter()

  function readConsolidated({ market, outcome, tsMs }: Moment, { cut, maxAgeMs }: Terms): Found {
    const stateOf = (each: Outcome): StoredSnapshot | undefined =>
      history.at({ market, outcome: each, timestampMs: tsMs })?.snapshot()
    const own = stateOf(outcome)
    const mirror = stateOf(otherOutcome(outcome))
    const book = consolidate(own, mirror)
    const [position] = [book?.own, book?.mirror]
      .filter((each) => each !== undefined)
      .sort((a, b) => comparePositions(b, a))
    const assetId = market.assetIds[outcome] ?? own?.assetId
    if (book === undefined || position === undefined) return { kind: 'no_snapshot' }
    const ageMs = tsMs - position.timestampMs
    if (isOlder(ageMs, maxAgeMs)) return { kind: 'stale', ageMs }
    const text = print({ market, outcome, assetId, position, book }, cut)
    return { kind: 'found', text: toText(text), ageMs }
  }

  return (terms: Terms): ((moment: Moment) => Found) => {
    if (terms.view === 'consolidated') return (moment) => readConsolidated(moment, terms)
    const cutRow = createRowCut(terms.cut)
    const isReceived = wantsReceived(terms.cut)
    return ({ market, outcome, tsMs }) => {
      const row = history.at({ market, outcome, timestampMs: tsMs })
      if (row === undefined) return { kind: 'no_snapshot' }
      const ageMs = tsMs - row.timestampMs
      if (isOlder(ageMs, terms.maxAgeMs)) return { kind: 'stale', ageMs }
      const receivedMs = isReceived ? row.receivedMs() : undefined
      return { kind: 'found', text: toText(cutRow(row.text(), receivedMs)), ageMs }
    }
  }
}

const isOlder = (ageMs: number, maxAgeMs = Number.POSITIVE_INFINITY): boolean => ageMs > maxAgeMs

const toText = (ascii: Uint8Array): string =>
  Buffer.from(ascii.buffer, ascii.byteOffset, ascii.byteLength).toString('latin1')

function toMembers(found: Found | { kind: 'unknown_market' }): string {
  const text = found.kind === 'found' ? found.text : 'null'
  const ageMs = 'ageMs' in found ? found.ageMs : 'null'
  const error = found.kind === 'found' ? 'null' : `"${found.kind}"`
  return `"snapshot":${text},"ageMs":${ageMs},"error":${error}`
}

function nothingError(
  { market, outcome, tsMs }: Asked,
  answers: readonly Found[],
  maxAgeMs: number | undefined,
): AppError {
  const what = outcome === undefined ? 'this market' : `\`${outcome}\` of this market`
  const ages = answers.flatMap((answer) => (answer.kind === 'stale' ? [answer.ageMs] : []))
  if (ages.length > 0) {
    return new AppError(
      'stale',
      `The last snapshot of ${what} by ${toIso(tsMs)} is ${Math.min(...ages)} ms old, and \`maxAgeMs\` is ${maxAgeMs}.`,
      { param: 'maxAgeMs' },
    )
  }
  const firstMs = outcome === undefined ? market.firstSnapshotMs : market.spans[outcome]?.firstMs
  const hint = firstMs === undefined ? 'None is recorded.' : `The first is from ${toIso(firstMs)}.`
  return new AppError(
    'no_snapshot',
    `No snapshot of ${what} is recorded by ${toIso(tsMs)}. ${hint}`,
    {
      param: 'ts',
    },
  )
}
