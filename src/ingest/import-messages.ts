/**
 * Imports messages of the venue's socket and books of its REST routes, one or an array of them per
 * line: lines of a recorder's journal, with everything that the recorder knew, and messages
 * captured by others.
 */

import { ifSound } from '#src/domain/errors.ts'
import { type Market, type MarketFacts, windowFault } from '#src/domain/market.ts'
import { recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import { receiptFault, timeFault } from '#src/domain/time.ts'
import { isRecord } from '#src/platform/record.ts'
import type { Entry } from '#src/recorder/entry.ts'
import { createWrite } from '#src/recorder/sink.ts'
import { type FeedEvent, resolvedFacts } from '#src/venue/feed.ts'
import { decodeUtf8, parseJson, tolerate } from '#src/venue/json-fields.ts'
import { readMarketRecords } from '#src/venue/record-kinds.ts'
import { homeVenue } from '#src/venue/venues.ts'

import type { MarketFeedEvent } from './event-order.ts'
import { isHeard, readHeardLine } from './heard-lines.ts'
import { countVerdicts } from './import-lines.ts'
import {
  attempt,
  type ImportPlace,
  type ImportRun,
  keepFacts,
  leaveOut,
  passOver,
  refuse,
} from './import-run.ts'
import { createKeptReader, holdsKept } from './kept-forms.ts'
import { type LineBatch, NEWLINE } from './line-source.ts'
import { createFactCorrection, takeMessages, takeRecording } from './message-evidence.ts'
import { createRebuild, createReplays } from './replay.ts'
import { findNamed } from './table-forms.ts'

/** Rows per transaction, if no recorder states when it committed. */
const ROWS_MAX = 2000

/** True if a text begins with messages. */
export const holdsMessages = (head: string): boolean => isHeard(head) || holdsKept(head)

const withoutReceipt = ({ receivedMs: _, ...tick }: SpotTick): SpotTick => tick

/** Creates one import for all files, because a file may continue the previous one. */
export function createMessageImport(run: ImportRun) {
  const { report, touched, history } = run
  const correctFacts = createFactCorrection(history)
  const markets = new Map<string, Market | undefined>()
  let place: ImportPlace = { file: '' }
  const waiting: Entry[] = []
  let prices: SpotTick[] = []
  /** Market facts from a recorder, to be written before its next line is read. */
  const factsDue: MarketFacts[] = []
  let isStoreDue = false
  let messagesTaken = 0
  const counts = { rows: 0, duplicates: 0, batches: 0, dropped: 0 }
  const write = createWrite(
    {
      record: (recording) => history.record({ ...recording, source: run.source, isImport: true }),
    },
    { report: (_, text) => refuse(run, place, text) },
    counts,
  )

  /** Writes the waiting rows when there are enough, or all of them if the recorder did so. */
  async function storeDue(): Promise<void> {
    while (waiting.length >= ROWS_MAX) await store(waiting.splice(0, ROWS_MAX))
    if (isStoreDue || prices.length >= ROWS_MAX) await store(waiting.splice(0))
    isStoreDue = false
  }

  async function store(entries: readonly Entry[]): Promise<void> {
    const ticks = prices
    prices = []
    await attempt(run, place, async () => {
      const added = ticks.length === 0 ? 0 : await history.putSpot(ticks)
      report.prices.accepted += added
      report.prices.duplicates += ticks.length - added
    })
    const before = { ...counts }
    if (entries.length > 0) await write(entries)
    report.accepted += counts.rows - before.rows
    report.duplicates += counts.duplicates - before.duplicates
  }

  function add(entry: Entry): void {
    waiting.push(entry)
    if (entry.kind === 'state') countVerdicts(run, [entry.snapshot])
  }

  function addPrices(ticks: readonly SpotTick[]): void {
    if (run.source === 'recorded') prices.push(...ticks)
    else for (const _ of ticks) leaveOut(run, 'prices of coins, which are not simulated')
  }

  const readKept = createKeptReader({
    marketOf: (assetId) => ifSound(() => history.findMarketByAsset(assetId))?.conditionId,
    tokenOf: (market, outcome) => ifSound(() => findNamed(history, market))?.assetIds[outcome],
  })
  const replay = createReplays({
    history,
    record: () => takeRecording(add),
    putMarket(facts: MarketFacts, atMs: number): void {
      factsDue.push({ ...correctFacts(facts, atMs), source: run.source })
    },
    addPrices,
    store(): void {
      isStoreDue = true
    },
  })
  const rebuild = createRebuild(() => takeMessages(add))

  function findMarket(conditionId: string): Market {
    if (!markets.has(conditionId))
      markets.set(
        conditionId,
        ifSound(() => history.findMarket(conditionId)),
      )
    const market = markets.get(conditionId)
    if (market === undefined) {
      const reason = run.marketsLeftOut.get(conditionId)
      if (reason !== undefined) throw skippedRecord(reason)
      throw recordFault(
        `market ${conditionId} is not known; import its tokens or its entry of the catalogue too`,
      )
    }
    if (market.source !== run.source)
      throw recordFault(`market ${conditionId} is ${market.source}, and this is ${run.source}`)
    return market
  }

  function takeMarketEvent(event: MarketFeedEvent, receivedMs: number | undefined): void {
    const { timestampMs, conditionId } = event
    const market = findMarket(conditionId)
    const { up, down } = market.assetIds
    const ids = 'assetId' in event ? [event.assetId] : []
    if (event.kind === 'changes') ids.push(...event.changes.map(({ assetId }) => assetId))
    const foreign = ids.find((id) => id !== up && id !== down)
    if (foreign !== undefined)
      throw recordFault(
        `which outcome token ${foreign} of market ${conditionId} is is not known; import its tokens too`,
      )
    const nowMs = run.clock()
    const fault = timeFault(timestampMs, nowMs) ?? windowFault(market, timestampMs)
    if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
    const receipt =
      receivedMs === undefined ? undefined : receiptFault(receivedMs, timestampMs, nowMs)
    if (receipt !== undefined) throw recordFault(`_recv: ${receipt}`)
    rebuild.take(place.file, market, event, receivedMs)
  }

  /** Takes a resolution; those of other markets arrive on the same socket. */
  async function takeResolution(event: Extract<FeedEvent, { kind: 'resolved' }>): Promise<void> {
    const market = ifSound(() => history.findMarket(event.conditionId))
    const won = market?.source === run.source ? resolvedFacts(market, event) : undefined
    if (won !== undefined) await keepFacts(run, place, { ...won, source: run.source })
  }

  /** Takes an announcement. Markets of all kinds are announced; unsupported kinds are ignored. */
  async function takeAnnouncement(text: string, index: number): Promise<void> {
    const value = parseJson(text)
    const message: unknown = Array.isArray(value) ? value[index] : value
    const reading = { nowMs: run.clock(), isStrict: run.isStrict }
    const records = tolerate([], () =>
      isRecord(message) ? readMarketRecords(message, reading) : undefined,
    )
    for (const record of records ?? []) {
      if (record.kind === 'facts') {
        await keepFacts(run, place, { ...record.facts, source: run.source })
        markets.delete(record.facts.conditionId)
      } else if (record.kind === 'left_out' && record.conditionId !== undefined)
        run.marketsLeftOut.set(record.conditionId, record.reason)
    }
  }

  async function takeEvent(event: FeedEvent, receivedMs: number | undefined): Promise<void> {
    if (event.kind === 'fault') throw recordFault(event.reason)
    if ('timestampMs' in event) takeMarketEvent(event, receivedMs)
    else if (event.kind === 'resolved') await takeResolution(event)
    else if (event.kind === 'unknown') {
      if (event.type === '') throw recordFault("not a message of the venue's socket")
      leaveOut(run, `messages of the type ${event.type}`)
    }
  }

  async function takeText(text: string): Promise<void> {
    if (isHeard(text)) {
      const { heard, atMs } = readHeardLine(text)
      if (heard.kind === 'market') touched.add(heard.facts.conditionId)
      replay.take(place.file, heard, atMs)
      for (const facts of factsDue.splice(0)) await history.putMarket(facts)
      await storeDue()
      messagesTaken++
      return
    }
    for (const kept of readKept(text)) {
      if (report.ending !== 'complete') return
      if (kept.kind === 'other') passOver(run, kept.reason)
      else if (kept.kind === 'fault') refuse(run, place, kept.reason)
      else if (kept.kind === 'price') await takePrices(kept.text, kept.receivedMs)
      else await takeMessage(kept.text, kept.receivedMs)
    }
  }

  async function takeMessage(text: string, receivedMs: number | undefined): Promise<void> {
    // A refused event of an array does not discard the others.
    for (const [index, event] of homeVenue.feed.decode(text).entries()) {
      if (report.ending !== 'complete') return
      await attempt(run, place, async () => {
        if (event.kind === 'announced') await takeAnnouncement(text, index)
        else await takeEvent(event, receivedMs)
        messagesTaken++
      })
      await storeDue()
    }
  }

  async function takePrices(text: string, receivedMs: number | undefined): Promise<void> {
    const ticks = Object.values(homeVenue.spotFeeds).flatMap(
      (feed) => feed.decode(text, receivedMs ?? 0) ?? [],
    )
    if (ticks.length === 0) passOver(run, 'prices of coins that are not kept')
    else messagesTaken++
    addPrices(receivedMs === undefined ? ticks.map(withoutReceipt) : ticks)
    await storeDue()
  }

  async function takeEntry(at: ImportPlace, text: string | undefined): Promise<void> {
    place = at
    await attempt(run, at, async () => {
      if (text === undefined) throw recordFault('not JSON in UTF-8')
      if (text.trim() !== '') await takeText(text.trimEnd())
    })
  }

  return {
    takeEntry,

    /** The number of understood messages of all files; their rows may still wait. */
    messagesTaken: () => messagesTaken,

    async take(file: string, { bytes, firstLine }: LineBatch): Promise<void> {
      let line = firstLine
      for (let start = 0; start < bytes.length && report.ending === 'complete'; line++) {
        const newline = bytes.indexOf(NEWLINE, start)
        const end = newline < 0 ? bytes.length : newline
        await takeEntry({ file, line }, decodeUtf8(bytes.subarray(start, end)))
        start = end + 1
      }
    },

    /** Ends the import after the last file. */
    async end(): Promise<void> {
      if (report.ending === 'complete') {
        replay.end()
        rebuild.end()
        isStoreDue = true
        await storeDue()
      }
      report.hashes.mismatched += replay.counts.mismatched + rebuild.counts.mismatched
    },
  }
}
