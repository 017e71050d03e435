/** The contract of `MarketHistory` as tests: any engine must pass `conform`. */
import { describe } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { conformAppend } from './conformance-append.ts'
import { conformDelete, conformDeleteWhich } from './conformance-delete.ts'
import { conformEvents } from './conformance-events.ts'
import { conformGaps } from './conformance-gaps.ts'
import { conformLines } from './conformance-lines.ts'
import { conformMarkets } from './conformance-markets.ts'
import { conformOutcomes } from './conformance-outcomes.ts'
import { conformPages } from './conformance-pages.ts'
import { conformRandomly, type Effort } from './conformance-random.ts'
import { conformReceipts } from './conformance-receipts.ts'
import { conformRecord } from './conformance-record.ts'
import { conformRecorders } from './conformance-recorders.ts'
import { conformRevisions } from './conformance-revisions.ts'
import { conformRows } from './conformance-rows.ts'
import { conformSpot } from './conformance-spot.ts'
import { conformSteps } from './conformance-steps.ts'
import { conformTrades } from './conformance-trades.ts'

/** Proves every verb from outside. `open` gives a new, empty history each time. */
export function conform(
  name: string,
  open: () => MarketHistory | Promise<MarketHistory>,
  effort: Effort,
): void {
  /** Runs `body` on a history of its own. */
  const use: Use = (body) => async () => {
    const history = await open()
    try {
      await body(history)
    } finally {
      history.dispose()
    }
  }
  describe(name, () => {
    conformAppend(use)
    conformMarkets(use)
    conformTrades(use)
    conformReceipts(use)
    conformGaps(use, effort)
    conformSpot(use)
    conformRecorders(use)
    conformOutcomes(use)
    conformRecord(use)
    conformRevisions(use)
    conformDelete(use)
    conformDeleteWhich(use)
    conformPages(use)
    conformRows(use)
    conformSteps(use)
    conformLines(use)
    conformEvents(use)
    conformRandomly(open, effort)
  })
}

export type Use = (body: (history: MarketHistory) => void | Promise<void>) => () => Promise<void>
