/** An import that is under way: what it is asked, what it refuses and keeps, and its report. */

import { createHash } from 'node:crypto'

import { AppError, type ErrorCode } from '#src/domain/errors.ts'
import {
  type Market,
  type MarketFacts,
  type Outcome,
  outcomes,
  type Source,
  windowFault,
} from '#src/domain/market.ts'
import { isRecordFault, notKept, recordFault } from '#src/domain/record-fault.ts'
import type { Clock } from '#src/domain/time.ts'
import { isLastPrice, type Trade } from '#src/domain/trade.ts'
import type { AppendResult, MarketHistory } from '#src/history/history.ts'
import { isFault } from '#src/platform/fault.ts'
import type { KnownFacts } from '#src/venue/catalogue.ts'
import type { MarketRecord } from '#src/venue/venue.ts'

/** A line of a file or an entry of a document, from 1; without either it is the file itself. */
export type ImportPlace = { file: string; line?: number; entry?: number }

/** A line or entry that was not kept, a fact left out of one, or a file not read to its end. */
export type ImportFault = ImportPlace & { reason: string }

/** Bytes of this file as they are on disk, lines of all files so far. */
export type ImportProgress = { file: string; bytesRead: number; lines: number }

export type ImportOptions = {
  history: MarketHistory
  /** Paths of plain or gzipped files; `-` is standard input. */
  files: readonly string[]
  source: Source
  clock: Clock
  /** Stops at the first bad line or entry; nothing of a batch is kept that has one in itself. */
  isStrict: boolean
  /** Stops after the running batch. */
  signal: AbortSignal
  onFault: (fault: ImportFault) => void
  /** A file is read, as a kind with its article. */
  onFile?: (file: string, kind: string) => void
  /** By the name of a column in tables, the name by which it is read. */
  columns?: ReadonlyMap<string, string>
  onProgress: (progress: ImportProgress) => void
}

export type ImportRun = ImportOptions & {
  report: ImportReport
  /** Markets of which snapshots were read. */
  touched: Set<string>
  /** Snapshots read by market, whose hash nothing known reproduced when they were read. */
  unknown: Map<string, number>
  /** Condition ids of markets that were left out, and why: their messages are left out too. */
  marketsLeftOut: Map<string, string>
}

export type ImportReport = ReturnType<typeof emptyReport>

export const emptyReport = () => ({
  /** `stopped` by the signal; `refused` by a bad line or entry because of `isStrict`. */
  ending: 'complete' as 'complete' | 'stopped' | 'refused',
  /** Read to their end. */
  files: 0,
  filesFailed: 0,
  /** Of which all was refused. */
  filesRefused: [] as string[],
  /** Blank ones and those of skipped batches included. */
  lines: 0,
  /** Of JSON documents, without those of skipped ones. */
  entries: 0,
  accepted: 0,
  duplicates: 0,
  /** Accepted, from lines and tables of snapshots, which say nothing of gaps. */
  withoutGaps: 0,
  /** Lines and entries. */
  invalid: 0,
  /** Facts that could not be read, of entries that were kept without them. */
  factsLeftOut: 0,
  /** Entries of markets that do not state the version of their protocol. */
  withoutVersion: 0,
  batches: 0,
  batchesSkipped: 0,
  linesSkipped: 0,
  documentsSkipped: 0,
  trades: { accepted: 0, duplicates: 0 },
  /** Last trade prices, which are no trades. */
  lastPrices: { accepted: 0, duplicates: 0 },
  /** Of coins. */
  prices: { accepted: 0, duplicates: 0 },
  /** What was said of markets: it changed one, or was known already. */
  facts: { accepted: 0, duplicates: 0 },
  /** Markets of a kind that is not kept, and how often each reason was met. */
  leftOut: 0,
  leftOutReasons: new Map<string, number>(),
  /** Lines of captures that are of no message of the venue, by what they are. */
  passedOver: new Map<string, number>(),
  /** Rows of tables of outcomes that wait for a market of their window. */
  waiting: { accepted: 0, duplicates: 0 },
  /** Rows of archives of all markets about those that are not held. */
  rowsNotHeld: 0,
  /**
   * Held at the end by the markets that were read of; `mismatched` are snapshots read, and `unknown`
   * those of markets whose recipe is still unknown.
   */
  hashes: { held: 0, verified: 0, gaps: 0, mismatched: 0, unknown: 0 },
  seconds: 0,
  linesPerSecond: 0,
})

/** The most reasons that are counted one by one; hostile files could name any number of them. */
const REASONS_MAX = 20

/** Names a batch by its content, and by the name of the batch `before` that it continues. */
export function batchIdOf({ source }: ImportRun, bytes: Uint8Array, before = ''): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const line = text.subarray(0, text.indexOf('\n') + 1 || text.length)
  // Versions that left times of receipt out gave the other name: what they imported is read once
  // more. The first line represents all, because recorders write each line alike.
  const isTimed = line.includes('"_recv"') || line.includes('"receivedAt"')
  const hash = createHash('sha256').update(before).update(bytes).digest('hex')
  return `import:${source}:${hash}${isTimed ? ':timed' : ''}`
}

/** Errors of the history that are about single records: the import continues with the next. */
const refusals: ReadonlySet<ErrorCode> = new Set(['market_conflict', 'damaged'])

/** Reads or writes records. Returns why they are wrong or cannot be kept. */
export function refusalOf(work: () => void): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    const isRefusal = error instanceof AppError && refusals.has(error.code)
    if (isRecordFault(error) || isRefusal) return error.message
    throw error
  }
}

export function refuse(run: ImportRun, place: ImportPlace, reason: string): void {
  run.report.invalid++
  if (run.isStrict) run.report.ending = 'refused'
  run.onFault({ ...place, reason })
}

export function attempt(run: ImportRun, place: ImportPlace, work: () => void): void {
  const refusal = refusalOf(() => {
    try {
      work()
    } catch (error) {
      if (!isFault(error, 'not_kept')) throw error
      leaveOut(run, error.message)
    }
  })
  if (refusal !== undefined) refuse(run, place, refusal)
}

export function warn(run: ImportRun, place: ImportPlace, reasons: readonly string[]): void {
  run.report.factsLeftOut += reasons.length
  for (const reason of reasons)
    run.onFault({ ...place, reason: `${reason}; only this was left out` })
}

export function leaveOut({ report }: ImportRun, reason: string): void {
  const { leftOutReasons: reasons } = report
  const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : 'other reasons'
  reasons.set(key, (reasons.get(key) ?? 0) + 1)
  report.leftOut++
}

/** Counts a line of a capture that is of no message of the venue: it is no mistake. */
export function passOver({ report: { passedOver } }: ImportRun, reason: string): void {
  passedOver.set(reason, (passedOver.get(reason) ?? 0) + 1)
}

/** Returns a function that says whether everything read since was kept. */
export function watchLosses({ report }: ImportRun): () => boolean {
  const losses = () => report.invalid + report.leftOut + report.factsLeftOut
  const before = losses()
  return () => report.ending === 'complete' && losses() === before
}

export function countRows(
  counts: { accepted: number; duplicates: number },
  { kind, accepted, duplicates }: AppendResult,
  offered: number,
): void {
  const isNew = kind === 'appended'
  counts.accepted += isNew ? accepted : 0
  counts.duplicates += isNew ? duplicates : offered
}

export type PlacedRecord = { place: ImportPlace; record: MarketRecord }
type PlacedTrade = { place: ImportPlace } & Extract<MarketRecord, { kind: 'trade' }>

/** Puts the records of batch `id`. Refuses what contradicts its market; ends if strict. */
export function keepRecords(run: ImportRun, id: string, records: readonly PlacedRecord[]): void {
  const trades: PlacedTrade[] = []
  for (const { place, record } of records) {
    if (record.kind === 'left_out') {
      leaveOut(run, record.reason)
      if (record.conditionId !== undefined)
        run.marketsLeftOut.set(record.conditionId, record.reason)
    } else if (record.kind === 'fault') refuse(run, place, record.reason)
    else if (record.kind === 'more') keepMore(run, place, record)
    else if (record.kind === 'facts') {
      warn(run, place, record.leftOut ?? [])
      if (record.hasNoVersion === true) run.report.withoutVersion++
      keepFacts(run, place, { ...record.facts, source: record.source ?? run.source })
    } else trades.push({ place, ...record })
    if (run.report.ending !== 'complete') return
  }
  const byMarket = Map.groupBy(
    trades,
    ({ facts, trade }) => `${facts.conditionId} ${isLastPrice(trade)}`,
  )
  for (const [index, group] of [...byMarket.values()].entries()) {
    keepTrades(run, `${id}:${trades.length}t${index}`, group)
    if (run.report.ending !== 'complete') return
  }
}

/** Puts facts of a market that must be known. */
function keepMore(
  run: ImportRun,
  place: ImportPlace,
  { conditionId, facts }: Extract<MarketRecord, { kind: 'more' }>,
): void {
  attempt(run, place, () => {
    const market = run.history.findMarket(conditionId)
    if (market !== undefined) {
      const { coin, timeframe, source } = market
      keepFacts(run, place, { ...facts, conditionId, coin, timeframe, source })
      return
    }
    const reason = run.marketsLeftOut.get(conditionId)
    if (reason !== undefined) throw notKept(reason)
    throw recordFault(
      `market ${conditionId} is not known; import its entry of the catalogue or its tokens too`,
    )
  })
}

/** Puts facts of a market, counts whether they are new, and refuses a contradiction. */
export function keepFacts(run: ImportRun, place: ImportPlace, facts: MarketFacts): void {
  const { history, report } = run
  const revision = () => history.findMarket(facts.conditionId)?.revision
  attempt(run, place, () => {
    const before = revision()
    history.putMarket(facts)
    report.facts[revision() === before ? 'duplicates' : 'accepted']++
  })
}

/** Keeps trades of one market, which is made from its name if it is not known. */
function keepTrades(run: ImportRun, id: string, group: readonly PlacedTrade[]): void {
  const refusal = refusalOf(() => putTrades(run, id, group))
  if (refusal !== undefined) for (const { place } of group) refuse(run, place, refusal)
}

function tradeFault(market: Market, facts: KnownFacts, trade: Trade): string | undefined {
  const fault = windowFault(market, trade.timestampMs)
  if (fault !== undefined) return `timestamp: ${fault}`
  const foreign = outcomes.find((outcome) => {
    const assetId = facts.assetIds?.[outcome]
    return assetId !== undefined && assetId !== market.assetIds[outcome]
  })
  return foreign && `the token of ${foreign} is another one in market ${market.conditionId}`
}

function putTrades(run: ImportRun, id: string, group: readonly PlacedTrade[]): void {
  const { history, source, report } = run
  const [first] = group
  if (first === undefined) return
  const { conditionId } = first.facts
  const known = history.findMarket(conditionId)
  const assetIds: { [outcome in Outcome]?: string | undefined } = { ...known?.assetIds }
  for (const { facts } of group)
    for (const outcome of outcomes) assetIds[outcome] ??= facts.assetIds?.[outcome]
  history.putMarket({ ...first.facts, assetIds, source })
  const market = history.findMarket(conditionId)
  const sound = group.filter(({ place, facts, trade }) => {
    const fault = market && tradeFault(market, facts, trade)
    if (fault !== undefined) refuse(run, place, fault)
    return fault === undefined
  })
  if (report.ending !== 'complete') return
  const trades = sound.map(({ trade }) => trade)
  const counts = isLastPrice(first.trade) ? report.lastPrices : report.trades
  countRows(counts, history.putTrades({ id, conditionId, trades }), trades.length)
}
