/**
 * Open windows that are not recorded, with the reasons. Without this watch a venue that lists
 * nothing, or sends unreadable messages, would look like a quiet one.
 */

import { count } from '#src/platform/count.ts'

import type { MarketRecording } from './market-recording.ts'
import type { Reporter } from './ports.ts'

/**
 * The tolerated time from the start of the recorder, or from the last recorded window of the
 * series.
 */
const GRACE_MS = 30_000
/** The maximum number of windows named in a line. */
const NAMED_MAX = 3

/** The state of a window in the catalogue. */
export type WindowListing = {
  /** The expected name of the window at the venue. */
  name: string
  /** The coin and length of the window: windows of a series follow each other. */
  series: string
  startMs: number
  endMs: number
} & (
  | { kind: 'not_asked' }
  /** `wasListed` is true if another window of the series was listed before. */
  | { kind: 'not_listed'; wasListed: boolean }
  | { kind: 'not_usable'; reason: string }
  | { kind: 'listed'; conditionId: string }
)

/** Reasons why a window is not recorded, each the end of "No open window is … any more." */
const phrases = {
  not_asked: 'unanswered by the catalogue',
  not_listed: 'not listed',
  never_listed: 'one that the venue does not have',
  not_usable: 'listed, but not usable',
  not_connected: 'without a connection',
  not_followed: 'without messages while others come',
  no_message: 'without a message',
  not_readable: 'without a readable message',
  no_book: 'without a true book',
}
export const missingReasons = Object.keys(phrases) as (keyof typeof phrases)[]
type MissingWindow = { name: string; reason: keyof typeof phrases; text: string }

/** Creates the watch; call `check` every second. */
export function createWindowWatch(
  {
    reporter,
    recordingOf,
    isConnected,
    unfollowed,
  }: {
    reporter: Reporter
    /** Undefined until the market of a window is recorded. */
    recordingOf(conditionId: string): MarketRecording | undefined
    /** True if a connection to the feed is open. */
    isConnected(): boolean
    /** Messages of the last minute about markets that are not followed. */
    unfollowed(): number
  },
  startedMs: number,
) {
  /** The time at which a window of each series was last recorded. */
  const recordedMs = new Map<string, number>()
  let open = 0
  let missing: MissingWindow[] = []

  function isRecorded(listing: WindowListing): boolean {
    const recording = listing.kind === 'listed' ? recordingOf(listing.conditionId) : undefined
    return recording?.lastMs() !== undefined && recording.unknown().length < 2
  }

  function explain(listing: WindowListing, isAnyRecorded: boolean): Omit<MissingWindow, 'name'> {
    if (listing.kind === 'not_asked')
      return { reason: 'not_asked', text: 'the catalogue has not answered' }
    if (listing.kind === 'not_listed') {
      // If nothing is recorded at all, the venue does not lack only this series.
      if (listing.wasListed || !isAnyRecorded) return { reason: 'not_listed', text: 'not listed' }
      const text = 'not listed, like none of its coin and length so far'
      return { reason: 'never_listed', text }
    }
    if (listing.kind === 'not_usable')
      return { reason: 'not_usable', text: `listed, but not usable: ${listing.reason}` }
    if (!isConnected()) return { reason: 'not_connected', text: 'no connection is open' }
    const recording = recordingOf(listing.conditionId)
    const { events = 0, faults = 0, firstFault } = recording?.counts ?? {}
    if (events === 0 && unfollowed() > 0) {
      const text = `messages for markets that are not followed: ${unfollowed()}`
      return { reason: 'not_followed', text }
    }
    if (events === 0) return { reason: 'no_message', text: 'no message' }
    if (faults === 0) return { reason: 'no_book', text: `no true book in ${events} messages` }
    const share = `${faults} of ${events}, the first because of ${firstFault}`
    return { reason: 'not_readable', text: `messages that cannot be read: ${share}` }
  }

  /** Summarizes all windows in one line: their number, and the first of each reason. */
  function summarize(windows: readonly MissingWindow[]): string {
    const byText = [...Map.groupBy(windows, ({ text }) => text)]
    const parts = byText.slice(0, NAMED_MAX).map(([text, same]) => {
      const others = same.length > 1 ? ` and ${same.length - 1} more` : ''
      return `${same[0]?.name}${others}: ${text}`
    })
    if (byText.length > NAMED_MAX) parts.push(count(byText.length - NAMED_MAX, 'other reason'))
    return `Not recorded: ${windows.length} of ${open} open windows. ${parts.join('; ')}.`
  }

  return {
    check(windows: readonly WindowListing[], nowMs: number): void {
      const openNow = windows.filter(({ startMs, endMs }) => startMs <= nowMs && nowMs < endMs)
      open = openNow.length
      missing = []
      /** Includes the reasons of windows within their grace period, which have not ended. */
      const reasons = new Set<MissingWindow['reason']>()
      const isAnyRecorded = openNow.some(isRecorded)
      for (const listing of openNow) {
        const { name, series } = listing
        if (isRecorded(listing)) {
          recordedMs.set(series, nowMs)
          continue
        }
        const { reason, text } = explain(listing, isAnyRecorded)
        reasons.add(reason)
        const sinceMs = recordedMs.get(series) ?? startedMs
        if (nowMs - sinceMs >= GRACE_MS) missing.push({ name, reason, text })
      }
      for (const reason of missingReasons) {
        const topic = `windows ${reason}`
        const own = missing.filter((each) => each.reason === reason)
        if (own.length > 0) reporter.report(topic, summarize(own))
        else if (!reasons.has(reason))
          reporter.settle(topic, `No open window is ${phrases[reason]} any more.`)
      }
    },

    /**
     * Undefined if every open window is recorded, within its grace period, or absent at the venue.
     */
    warning(): string | undefined {
      const wanted = missing.filter(({ reason }) => reason !== 'never_listed')
      return wanted.length > 0 ? summarize(wanted) : undefined
    },
    status: () => ({ open, missing }),
  }
}
