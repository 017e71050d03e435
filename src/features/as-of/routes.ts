import { Elysia } from 'elysia'

import { consolidate } from '#src/domain/consolidated.ts'
import { type CoverageTally, coverageText, tallyCoverage, tallyText } from '#src/domain/coverage.ts'
import { AppError } from '#src/domain/errors.ts'
import {
  type Coin,
  type FindMarket,
  type Market,
  otherOutcome,
  type Outcome,
  outcomes,
} from '#src/domain/market.ts'
import { comparePositions, type StoredSnapshot } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { toIso } from '#src/domain/time.ts'
import { tallyOfNothing } from '#src/domain/windows.ts'
import { createConsolidatedPrinter } from '#src/domain/wire/consolidated-text.ts'
import { createRowCut, type RowCut, wantsReceived } from '#src/domain/wire/row-cut.ts'
import { type MarketHistory, prevailingRange, type RowRange } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readCut } from '#src/http/data-query.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { AsOfBody, AsOfQuery, BatchAnswer, BatchBody } from './schema.ts'

type Deps = {
  history: MarketHistory
  served: () => ServedMoment
  findMarket: FindMarket
}

/** Requests of a batch whose archived books are fetched together: they fit into memory. */
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
      ({ reply, request, market, query }) => reply.data(request, service.at(market, query)),
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
          summary: 'The book as of a moment',
          description:
            'The last snapshot of each outcome at or before `ts`, to the millisecond and never after it, with its age; in a gap or after the expiry that is the last one before, and `X-Coverage` says so. An outcome that has none by then, or none that `maxAgeMs` allows, is left out; if that leaves nothing, 404 says why.',
          tags: ['snapshots'],
        },
      },
    )
    .post(
      '/v1/:coin/snapshots/at',
      ({ reply, request, coin, body }) => reply.unkept(request, service.batch(coin, body)),
      {
        access: 'snapshots',
        coin: true,
        body: BatchBody,
        isLong: true,
        isCovered: true,
        caching: 'unkept',
        response: { 200: BatchAnswer },
        answers: { description: 'An answer for each entry.' },
        detail: {
          operationId: 'listSnapshotsAt',
          summary: 'Books as of up to 500 moments',
          description:
            'Each entry is answered by itself, in the order of the request, as `GET …/snapshots/at` would: one that has no answer says why and fails no other. All together are one request of the allowance. A malformed entry is refused with its place, and nothing is answered.',
          tags: ['snapshots'],
        },
      },
    )
}

function createAsOfService({ history, served, findMarket }: Deps) {
  const find = createFinder(history)

  /** The question how a moment is covered; a consolidated ladder is one of both books. */
  const toQuestion = ({ market, outcome, tsMs }: Asked, view: AsOfQuery['view']) => ({
    market,
    gaps: history.gaps(market),
    outcome: view === 'own' ? outcome : undefined,
    fromMs: tsMs,
    toMs: tsMs + 1,
    ...served(),
  })

  function marketOf(coin: Coin, name: string): Market | undefined {
    const found = findMarket(name)
    return found?.coin === coin ? found : undefined
  }

  /** The rows that requests of a batch read. */
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
    *at(market: Market, query: AsOfQuery): Steps<DataAnswer> {
      const { outcome, maxAgeMs, view, ts: tsMs } = query
      const asked = { market, outcome, tsMs }
      const read = find({ cut: readCut(query), view, maxAgeMs })
      yield history.ready(outcomes.map((each) => prevailingRange(market, each, tsMs)))
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

    *batch(coin: Coin, query: BatchBody): Steps<DataAnswer> {
      const { requests, maxAgeMs, view } = query
      const read = find({ cut: readCut(query), view, maxAgeMs })
      const texts: string[] = []
      const tallies: CoverageTally[] = []
      let isClosed = true
      for (const [index, { conditionId: name, outcome, ts: tsMs }] of requests.entries()) {
        const isNextPart = index % FETCHED_REQUESTS === 0
        const next = isNextPart ? requests.slice(index, index + FETCHED_REQUESTS) : []
        yield history.ready(rangesOf(coin, next, view))
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

/** Makes what finds a state, at or before a moment and never after, and prints it. */
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
  const hint =
    firstMs === undefined ? 'There is none at all.' : `The first is of ${toIso(firstMs)}.`
  return new AppError('no_snapshot', `No snapshot of ${what} is held by ${toIso(tsMs)}. ${hint}`, {
    param: 'ts',
  })
}
