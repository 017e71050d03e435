import { windowFault } from '#src/core/market.ts'
import type { KnownFacts, MarketRecord } from '#src/venue/venue.ts'

import {
  type ImportPlace,
  type ImportRun,
  leaveOut,
  refusalOf,
  refuse,
  warn,
} from './import-run.ts'

/** A record and where it was read. */
export type PlacedRecord = { place: ImportPlace; record: MarketRecord }
type PlacedTrade = { place: ImportPlace } & Extract<MarketRecord, { kind: 'trade' }>

/**
 * Puts records into the history; `id` names the batch that they are all of. What contradicts its
 * market is refused; a strict import ends there.
 */
export function keepRecords(run: ImportRun, id: string, records: readonly PlacedRecord[]): void {
  const trades: PlacedTrade[] = []
  for (const { place, record } of records) {
    if (record.kind === 'left_out') leaveOut(run, record.reason)
    else if (record.kind === 'fault') refuse(run, place, record.reason)
    else if (record.kind === 'facts') {
      warn(run, place, record.leftOut ?? [])
      keepFacts(run, place, record.facts)
    } else trades.push({ place, ...record })
    if (run.report.ending !== 'complete') return
  }
  const byMarket = Map.groupBy(trades, ({ facts }) => facts.conditionId)
  for (const [index, group] of [...byMarket.values()].entries()) {
    keepTrades(run, `${id}:${trades.length}t${index}`, group)
    if (run.report.ending !== 'complete') return
  }
}

/** Puts facts of a market, counts whether they say anything new, and refuses a contradiction. */
export function keepFacts(run: ImportRun, place: ImportPlace, facts: KnownFacts): void {
  const { history, source, report } = run
  const revision = () => history.findMarket(facts.conditionId)?.revision
  const refusal = refusalOf(() => {
    const before = revision()
    history.putMarket({ ...facts, source })
    report.facts[revision() === before ? 'duplicates' : 'accepted']++
  })
  if (refusal !== undefined) refuse(run, place, refusal)
}

/** Keeps trades of one market, which is made from its name if it is not known. */
function keepTrades(run: ImportRun, id: string, group: readonly PlacedTrade[]): void {
  const refusal = refusalOf(() => putTrades(run, id, group))
  if (refusal !== undefined) for (const { place } of group) refuse(run, place, refusal)
}

function putTrades(run: ImportRun, id: string, group: readonly PlacedTrade[]): void {
  const { history, source, report } = run
  const [first] = group
  if (first === undefined) return
  const { conditionId } = first.facts
  history.putMarket({ ...first.facts, source })
  const market = history.findMarket(conditionId)
  const sound = group.filter(({ place, trade }) => {
    const fault = market && windowFault(market, trade.timestampMs)
    if (fault !== undefined) refuse(run, place, `timestamp: ${fault}`)
    return fault === undefined
  })
  if (report.ending !== 'complete') return
  const trades = sound.map(({ trade }) => trade)
  const { kind, accepted, duplicates } = history.putTrades({ id, conditionId, trades })
  const isNew = kind === 'appended'
  report.trades.accepted += isNew ? accepted : 0
  report.trades.duplicates += isNew ? duplicates : trades.length
}
