/** Exports: what is asked for, made piece by piece while it is sent. */
import { createHash } from 'node:crypto'

import {
  type CoverageQuestion,
  type CoverageTally,
  coverageText,
  spanOf,
  tallyCoverage,
  tallyText,
} from '#src/core/coverage.ts'
import { outcomes } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import { tallyMissing } from '#src/core/windows.ts'
import type { Encoding, MarketHistory } from '#src/history/history.ts'
import { callerOf } from '#src/http/access.ts'
import type { BodyEnd } from '#src/http/stream.ts'
import type { Work } from '#src/http/work.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { csvPieces } from './csv.ts'
import { ndjsonPieces, receivedPieces } from './ndjson.ts'
import { parquetPieces } from './parquet.ts'
import { gzipped, inTurns } from './pieces.ts'
import { createPlanner, type DayWindows, type ExportPlan, MARKETS_A_STEP } from './plan.ts'
import { createExportRecords } from './records.ts'
import type { Progress } from './source.ts'

type Deps = { history: MarketHistory; clock: Clock; mint: () => string; work: Work }

/** Makes the service of a history. */
export function createExportService({ history, clock, mint, work }: Deps) {
  const records = createExportRecords({ clock, mint })

  return {
    ...createPlanner(history),

    /** Names everything that decides the bytes; fit for an `ETag`. */
    tagOf({ format, shape, markets, source }: ExportPlan, isGzip: boolean): string {
      const { outcome, fromMs, toMs, after } = source
      const parts = [format, shape, outcome, fromMs, toMs, after, isGzip, [...history.cursorKey]]
      const revisions = markets.map(({ conditionId, revision }) => [conditionId, revision])
      const text = JSON.stringify([...parts, revisions])
      return createHash('sha256').update(text).digest('base64url')
    },

    /** True when nothing but a backfill can change it. */
    isClosed: ({ markets, openUntilMs }: ExportPlan): boolean =>
      clock() >= openUntilMs && markets.every((market) => market.isClosed),

    /** Of the export of a market. */
    coverageOf: ({ markets, source: { outcome, fromMs, toMs } }: ExportPlan) =>
      coverageText(
        ...markets.map((market) => {
          return { market, gaps: history.gaps(market), outcome, fromMs, toMs, nowMs: clock() }
        }),
      ),

    /** Over all markets of a day, and all of its windows that have none; made in steps. */
    *dayCoverageOf(plan: ExportPlan): Steps<string> {
      const { markets, windows, source } = plan
      const { outcome } = source
      const nowMs = clock()
      const tallies: CoverageTally[] = []
      for (const [index, market] of markets.entries()) {
        if (index > 0 && index % MARKETS_A_STEP === 0) yield
        const question = { market, gaps: history.gaps(market), outcome, nowMs }
        // Nothing is missing of a window that has not opened.
        if (hasBegun(question)) tallies.push(tallyCoverage(question))
      }
      const asked = outcome === undefined ? outcomes.length : 1
      const missing = windows === undefined ? [] : missingTallies(windows, asked, nowMs)
      return tallyText([...tallies, ...missing])
    },

    /** Begins an export for the caller. Throws `too_many_streams` and `unavailable`. */
    begin(plan: ExportPlan, request: Request, isGzip: boolean) {
      const close = work.openStream(request)
      const { accountId } = callerOf(request)
      const contentEncoding = isGzip ? 'gzip' : null
      const { format, name } = plan
      const record = records.create({ name, format, contentEncoding })
      const encoding = isGzip ? 'gzip' : 'identity'
      const made = inTurns(piecesOf(plan, record, encoding), () => work.turn(accountId))
      const pieces = isGzip && !isStored(plan) ? gzipped(made) : made
      const hasher = new Bun.CryptoHasher('sha256')

      /** Lists the export when its first piece is asked for, and counts what passes. */
      async function* tracked(): typeof pieces {
        records.begin(accountId, record)
        for await (const piece of pieces) {
          hasher.update(piece)
          record.bytes += piece.length
          yield piece
        }
      }

      return {
        exportId: record.exportId,
        pieces: tracked(),
        onEnd({ isWhole }: BodyEnd): void {
          close()
          records.end(record, isWhole ? hasher.digest('hex') : undefined)
        },
      }
    },

    list: records.list,
  }
}

export type ExportService = ReturnType<typeof createExportService>

const hasBegun = (question: CoverageQuestion): boolean => {
  const { fromMs, toMs } = spanOf(question)
  return toMs > fromMs
}

/** What of the windows of a day has no market, over so many outcomes. */
const missingTallies = (
  { startsMs, ...range }: DayWindows,
  asked: number,
  nowMs: number,
): CoverageTally[] =>
  [...startsMs].map(([timeframe, held]) =>
    tallyMissing(held, { timeframe, ...range, nowMs }, asked),
  )

/** Sent as it is stored, which is compressed. */
const isStored = ({ format, shape }: ExportPlan): boolean =>
  format === 'ndjson' && shape.withReceived === undefined

function piecesOf(plan: ExportPlan, progress: Progress, encoding: Encoding): Generator<Uint8Array> {
  const { format, shape, source } = plan
  if (isStored(plan)) return ndjsonPieces(source, progress, encoding)
  if (format === 'ndjson') return receivedPieces(source, progress)
  return (format === 'csv' ? csvPieces : parquetPieces)(source, progress, shape)
}
