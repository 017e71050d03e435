/** Books prevailing at moments: at or before each, never after. */
import { consolidate } from '#src/core/consolidated.ts'
import { type CoverageTally, coverageText, tallyCoverage, tallyText } from '#src/core/coverage.ts'
import { AppError } from '#src/core/errors.ts'
import type { FindMarket } from '#src/core/market-name.ts'
import { type Coin, type Market, otherOutcome, type Outcome, outcomes } from '#src/core/market.ts'
import { comparePositions, type StoredSnapshot } from '#src/core/snapshot.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import { tallyOfNothing } from '#src/core/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { createConsolidatedPrinter } from '#src/wire/consolidated-text.ts'
import { createRowCut, type RowCut, wantsReceived } from '#src/wire/row-cut.ts'

import type { AsOfQuery, BatchBody } from './model.ts'

type Deps = { history: MarketHistory; clock: Clock; findMarket: FindMarket }

/** What is wanted of each moment. */
type Terms = { cut: RowCut; view: AsOfQuery['view']; maxAgeMs: number | undefined }
type Moment = { market: Market; outcome: Outcome; tsMs: number }

/** `text` is the JSON of a snapshot. */
type Found =
  | { kind: 'found'; text: string; ageMs: number }
  | { kind: 'stale'; ageMs: number }
  | { kind: 'no_snapshot' }

/** JSON, and what of it was recorded. */
export type AsOfAnswer = { body: string; coverage: string }

/** Makes the service of a history. */
export function createAsOfService({ history, clock, findMarket }: Deps) {
  const find = createFinder(history)

  /** The question how a moment is covered; a consolidated ladder is one of both books. */
  const toQuestion = ({ market, outcome, tsMs }: Asked, view: AsOfQuery['view']) => ({
    ...{ market, gaps: history.gaps(market), outcome: view === 'own' ? outcome : undefined },
    ...{ fromMs: tsMs, toMs: tsMs + 1, nowMs: clock() },
  })

  return {
    /** Throws `no_snapshot` and `stale`. */
    at(market: Market, query: AsOfQuery, cut: RowCut): AsOfAnswer {
      const { outcome, maxAgeMs, view, ts: tsMs } = query
      const terms = { cut, view, maxAgeMs }
      const asked = { market, outcome, tsMs }
      const read = find(terms)
      const answers = (outcome === undefined ? outcomes : [outcome]).map((each) =>
        read({ market, outcome: each, tsMs }),
      )
      const texts = answers.flatMap((answer) => (answer.kind === 'found' ? [toAged(answer)] : []))
      if (texts.length === 0) throw nothingError(asked, answers, maxAgeMs)
      const body = `{"ts":"${toIso(tsMs)}","data":[${texts.join(',')}]}`
      return { body, coverage: coverageText(toQuestion(asked, view)) }
    },

    /** Answers each moment by itself. */
    *batch(coin: Coin, { requests, maxAgeMs, view }: BatchBody, cut: RowCut): Steps<AsOfAnswer> {
      const read = find({ cut, view, maxAgeMs })
      const texts: string[] = []
      const tallies: CoverageTally[] = []
      for (const { conditionId: name, outcome, ts: tsMs } of requests) {
        yield
        const market = findMarket(name)
        const conditionId = market?.coin === coin ? market.conditionId : name.toLowerCase()
        const head = `"conditionId":"${conditionId}","outcome":"${outcome}","ts":"${toIso(tsMs)}"`
        if (market?.coin !== coin) {
          texts.push(`{${head},${toMembers({ kind: 'unknown_market' })}}`)
          tallies.push(tallyOfNothing(1, 1))
          continue
        }
        texts.push(`{${head},${toMembers(read({ market, outcome, tsMs }))}}`)
        tallies.push(tallyCoverage(toQuestion({ market, outcome, tsMs }, view)))
      }
      return { body: `{"data":[${texts.join(',')}]}`, coverage: tallyText(tallies) }
    },
  }
}

export type AsOfService = ReturnType<typeof createAsOfService>

type Asked = { market: Market; outcome: Outcome | undefined; tsMs: number }

/** Makes what finds a state and prints it. */
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

const toAged = ({ text, ageMs }: { text: string; ageMs: number }): string =>
  `${text.slice(0, -1)},"ageMs":${ageMs}}`

/** What an answer of a batch says after what it was asked. */
function toMembers(found: Found | { kind: 'unknown_market' }): string {
  const text = found.kind === 'found' ? found.text : 'null'
  const ageMs = 'ageMs' in found ? found.ageMs : 'null'
  const error = found.kind === 'found' ? 'null' : `"${found.kind}"`
  return `"snapshot":${text},"ageMs":${ageMs},"error":${error}`
}

/** Why a moment has no answer. */
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
