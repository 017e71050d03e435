/** The state of a running import: its options, its refusals and its report. */

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
import { isRecordFault, recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import type { Clock } from '#src/domain/time.ts'
import { isLastPrice, type Trade } from '#src/domain/trade.ts'
import type { AppendResult, MarketHistory } from '#src/history/history.ts'
import { isFault } from '#src/platform/fault.ts'
import { addFacts, type KnownFacts } from '#src/venue/catalogue.ts'
import type { MarketRecord } from '#src/venue/venue.ts'

/** A line of a file or an entry of a document, from 1; without either, the file itself. */
export type ImportPlace = { file: string; line?: number; entry?: number }

/**
 * A line or entry that was not imported, a fact left out of one, or a file that was not read to its
 * end.
 */
export type ImportFault = ImportPlace & { reason: string }

/** Bytes of the current file on disk, and lines of all files so far. */
export type ImportProgress = { file: string; bytesRead: number; lines: number }

export type ImportOptions = {
  history: MarketHistory
  /** Paths of plain or gzipped files; `-` is standard input. */
  files: readonly string[]
  source: Source
  clock: Clock
  /** Stops at the first bad line or entry; a batch that contains one is not stored. */
  isStrict: boolean
  /** Stops the import after the current batch. */
  signal: AbortSignal
  onFault: (fault: ImportFault) => void
  /** Called for each file with its kind, including the article. */
  onFile?: (file: string, kind: string) => void
  /** Names of columns in the tables, each with the name to read it as. */
  columns?: ReadonlyMap<string, string>
  onProgress: (progress: ImportProgress) => void
}

export type ImportRun = ImportOptions & {
  report: ImportReport
  /** Markets of which snapshots were read. */
  touched: Set<string>
  /** Snapshots, by market, whose hash no known recipe reproduced when they were read. */
  unknown: Map<string, number>
  /** Skipped markets by condition id, with the reason; their messages are skipped too. */
  marketsLeftOut: Map<string, string>
}

export type ImportReport = ReturnType<typeof emptyReport>

export const emptyReport = () => ({
  /** `stopped` by the signal; `refused` because of `isStrict` and a bad line or entry. */
  ending: 'complete' as 'complete' | 'stopped' | 'refused',
  /** Files read to their end. */
  files: 0,
  filesFailed: 0,
  /** Files that were refused completely. */
  filesRefused: [] as string[],
  /** Lines, including blank ones and those of skipped batches. */
  lines: 0,
  /** Entries of JSON documents, except of skipped documents. */
  entries: 0,
  accepted: 0,
  duplicates: 0,
  /** Accepted snapshots from lines and tables, which do not state gaps. */
  withoutGaps: 0,
  /** Invalid lines and entries. */
  invalid: 0,
  /** Unreadable facts, without which their entries were imported. */
  factsLeftOut: 0,
  /** Entries of markets that do not state the version of their protocol. */
  withoutVersion: 0,
  batches: 0,
  batchesSkipped: 0,
  linesSkipped: 0,
  documentsSkipped: 0,
  trades: { accepted: 0, duplicates: 0 },
  /** Last trade prices, which are not trades. */
  lastPrices: { accepted: 0, duplicates: 0 },
  /** Prices of coins. */
  prices: { accepted: 0, duplicates: 0 },
  /** Facts about markets: accepted if one changed the market, otherwise duplicates. */
  facts: { accepted: 0, duplicates: 0 },
  /** Markets of an unsupported kind, with the count of each reason. */
  leftOut: 0,
  leftOutReasons: new Map<string, number>(),
  /** Captured lines that are not messages of the venue, counted by kind. */
  passedOver: new Map<string, number>(),
  /** Rows of outcome tables that wait for a market of their window. */
  waiting: { accepted: 0, duplicates: 0 },
  /** Rows of all-market archives about markets that are not in the history. */
  rowsNotHeld: 0,
  /**
   * Counts at the end, over all snapshots and gaps of the imported markets; `mismatched` counts
   * imported snapshots, and `unknown` those of markets whose recipe is still unknown.
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

/** Errors of the history that concern single records; the import continues with the next. */
const refusals: ReadonlySet<ErrorCode> = new Set(['market_conflict', 'damaged'])

/** Reads or writes records. Returns why they are invalid or cannot be stored. */
export async function refusalOf(work: () => void | Promise<void>): Promise<string | undefined> {
  try {
    await work()
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

export async function attempt(
  run: ImportRun,
  place: ImportPlace,
  work: () => void | Promise<void>,
): Promise<void> {
  const refusal = await refusalOf(async () => {
    try {
      await work()
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

/** Counts a captured line that is not a message of the venue; it is not an error. */
export function passOver({ report: { passedOver } }: ImportRun, reason: string): void {
  passedOver.set(reason, (passedOver.get(reason) ?? 0) + 1)
}

/** Returns a function that returns true if everything read since was stored. */
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

/**
 * Stores the records of batch `id`. Refuses records that contradict their market; stops if strict.
 */
export async function keepRecords(
  run: ImportRun,
  id: string,
  records: readonly PlacedRecord[],
): Promise<void> {
  const trades: PlacedTrade[] = []
  for (const { place, record } of records) {
    if (record.kind === 'left_out') {
      leaveOut(run, record.reason)
      if (record.conditionId !== undefined)
        run.marketsLeftOut.set(record.conditionId, record.reason)
    } else if (record.kind === 'fault') refuse(run, place, record.reason)
    else if (record.kind === 'more') await keepMore(run, place, record)
    else if (record.kind === 'facts') {
      warn(run, place, record.leftOut ?? [])
      if (record.hasNoVersion === true) run.report.withoutVersion++
      await keepFacts(run, place, { ...record.facts, source: record.source ?? run.source })
    } else trades.push({ place, ...record })
    if (run.report.ending !== 'complete') return
  }
  const byMarket = Map.groupBy(
    trades,
    ({ facts, trade }) => `${facts.conditionId} ${isLastPrice(trade)}`,
  )
  for (const [index, group] of [...byMarket.values()].entries()) {
    await keepTrades(run, `${id}:${trades.length}t${index}`, group)
    if (run.report.ending !== 'complete') return
  }
}

/** Stores facts about a market that must exist. */
async function keepMore(
  run: ImportRun,
  place: ImportPlace,
  { conditionId, facts }: Extract<MarketRecord, { kind: 'more' }>,
): Promise<void> {
  await attempt(run, place, async () => {
    const market = run.history.findMarket(conditionId)
    if (market !== undefined) {
      await keepFacts(run, place, { ...addFacts(market, facts), source: market.source })
      return
    }
    const reason = run.marketsLeftOut.get(conditionId)
    if (reason !== undefined) throw skippedRecord(reason)
    throw recordFault(
      `market ${conditionId} is not known; import its entry of the catalogue or its tokens too`,
    )
  })
}

/** Stores facts about a market, counts whether they are new, and refuses a contradiction. */
export async function keepFacts(
  run: ImportRun,
  place: ImportPlace,
  facts: MarketFacts,
): Promise<void> {
  const { history, report } = run
  const revision = () => history.findMarket(facts.conditionId)?.revision
  await attempt(run, place, async () => {
    const before = revision()
    await history.putMarket(facts)
    report.facts[revision() === before ? 'duplicates' : 'accepted']++
  })
}

/** Stores trades of a market, which is created from its name if it does not exist. */
async function keepTrades(
  run: ImportRun,
  id: string,
  group: readonly PlacedTrade[],
): Promise<void> {
  const refusal = await refusalOf(() => putTrades(run, id, group))
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

async function putTrades(run: ImportRun, id: string, group: readonly PlacedTrade[]): Promise<void> {
  const { history, source, report } = run
  const [first] = group
  if (first === undefined) return
  const { conditionId } = first.facts
  const known = history.findMarket(conditionId)
  const assetIds: { [outcome in Outcome]?: string | undefined } = { ...known?.assetIds }
  for (const { facts } of group)
    for (const outcome of outcomes) assetIds[outcome] ??= facts.assetIds?.[outcome]
  await history.putMarket({ ...first.facts, assetIds, source })
  const market = history.findMarket(conditionId)
  const sound = group.filter(({ place, facts, trade }) => {
    const fault = market && tradeFault(market, facts, trade)
    if (fault !== undefined) refuse(run, place, fault)
    return fault === undefined
  })
  if (report.ending !== 'complete') return
  const trades = sound.map(({ trade }) => trade)
  const counts = isLastPrice(first.trade) ? report.lastPrices : report.trades
  countRows(counts, await history.putTrades({ id, conditionId, trades }), trades.length)
}
