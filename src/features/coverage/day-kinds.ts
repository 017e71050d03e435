/** Completeness of a day: one word for each kind of data. */
import { hasWindow } from '#src/domain/coverage.ts'
import type { Market } from '#src/domain/market.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { cacheDays } from '#src/history/reads/day-cache.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { settle, type SettlementReason } from '#src/history/reads/settlement-read.ts'

import { type CoinDay, dayListTask, readDay } from './days.ts'
import type { CoverageDay, DayKind, DayState } from './schema.ts'

type Word = Pick<DayKind, 'state' | 'reasons'>
type Reason = DayKind['reasons'][number]

const BLOCK = 50
/** A day is pending for this time after a window that has no winner yet. */
const WINNER_MS_MAX = 3 * DAY_MS

/** The kinds of a day as JSON, comma-separated. */
const readKinds = cacheDays((history: MarketHistory, coinDay: CoinDay, nowMs: number): string => {
  const { coin, timeframe, source, startMs } = coinDay
  const range = { fromMs: startMs, toMs: startMs + DAY_MS }
  const query = { coin, timeframe, source, ...range, order: 'asc', limit: BLOCK } as const
  const markets = [...marketPages(history, query)].flat()
  const day = JSON.parse(readDay(history, coinDay, nowMs)) as CoverageDay
  const snapshots = wordOfSnapshots(day)
  const words = {
    snapshots,
    trades: wordOfTrades(history, markets, snapshots),
    settlements: wordOfSettlements(history, markets, day, nowMs),
  }
  const endsMs = markets.map(({ windowEndMs = range.toMs }) => windowEndMs)
  const overMs = Math.max(range.toMs, ...endsMs)
  const changedMs = history.revisions.lastChangeMs({ coin, ...range, sinceMs: range.toMs })
  const sinceMs = Math.max(overMs, changedMs ?? 0)
  const kinds = Object.entries(words).map(([kind, { state, reasons }]) => {
    const since = toIso(state === 'pending' ? startMs : Math.min(sinceMs, nowMs))
    return { day: day.day, kind, state, reasons, since }
  })
  return kinds.map((kind) => JSON.stringify(kind)).join(',')
})

export const dayKindsTask = dayListTask('days', readKinds)

const pending: Word = { state: 'pending', reasons: ['not_over'] }

const wordFor: Readonly<Record<CoverageDay['state'], DayState>> = {
  available: 'complete',
  degraded: 'gaps',
  missing: 'missing',
  pending: 'pending',
}

function wordOfSnapshots({ state, gaps, markets }: CoverageDay): Word {
  if (state === 'pending') return pending
  const reasons: Reason[] = markets === 0 ? ['no_market'] : gaps.map(({ reason }) => reason)
  return { state: wordFor[state], reasons }
}

/** Trades are missing if books are. */
function wordOfTrades(
  history: Pick<MarketHistory, 'trades'>,
  markets: readonly Market[],
  { state, reasons }: Word,
): Word {
  if (state === 'pending') return pending
  const isTraded = (market: Market) =>
    history.trades({ market, first: 1, isTrade: true }).length > 0
  if (!markets.some(isTraded)) return { state: 'missing', reasons: ['no_trade'] }
  return { state: state === 'complete' ? state : 'gaps', reasons }
}

/** Windows that settle on candles are left out, because their result cannot be checked. */
function wordOfSettlements(
  history: Pick<MarketHistory, 'spot'>,
  markets: readonly Market[],
  { state, timeframes }: CoverageDay,
  nowMs: number,
): Word {
  const reasons = new Set<SettlementReason | 'no_market'>()
  let agreed = 0
  let isUndecided = false
  for (const market of markets) {
    const { reason } = settle(history, market, nowMs)
    if (reason === undefined) agreed++
    else reasons.add(reason)
    if (reason === 'no_winner' && hasWindow(market))
      isUndecided ||= nowMs < market.windowEndMs + WINNER_MS_MAX
  }
  if (state === 'pending' || reasons.has('not_over')) return pending
  if (isUndecided) return { state: 'pending', reasons: ['no_winner'] }
  if (timeframes.some(({ markets: held, windows }) => held < windows)) reasons.add('no_market')
  if (agreed > 0) reasons.delete('candle')
  if (agreed === 0)
    return { state: 'missing', reasons: markets.length > 0 ? [...reasons] : ['no_market'] }
  return { state: reasons.size > 0 ? 'gaps' : 'complete', reasons: [...reasons] }
}
