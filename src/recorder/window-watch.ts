/**
 * Which of the open windows are not recorded, and why: a venue that lists nothing, or of which
 * nothing can be read, looks like a quiet one otherwise.
 */
import type { MarketRecording } from './market-recording.ts'
import type { Reporter } from './ports.ts'

/** From the start of the recorder, or since a window of the series was recorded last. */
const GRACE_MS = 30_000
/** Windows that a line names. */
const NAMED_MAX = 3

/** What the catalogue says of a window. */
export type WindowListing = {
  /** The name that the venue should have for it. */
  name: string
  /** Its coin and length: one window of a series follows another. */
  series: string
  startMs: number
  endMs: number
} & (
  | { kind: 'not_asked' }
  /** `wasListed` is whether another window of the series was listed before. */
  | { kind: 'not_listed'; wasListed: boolean }
  | { kind: 'not_usable'; reason: string }
  | { kind: 'listed'; conditionId: string }
)

export const missingReasons = [
  'not_asked',
  'not_listed',
  'never_listed',
  'not_usable',
  'not_connected',
  'not_followed',
  'no_message',
  'not_readable',
  'no_book',
] as const
export type MissingReason = (typeof missingReasons)[number]

export type MissingWindow = { name: string; reason: MissingReason; text: string }

type Sources = {
  reporter: Reporter
  /** Undefined while the market of a window is not recorded at all. */
  recordingOf(conditionId: string): MarketRecording | undefined
  /** Whether a connection to the feed is open. */
  isConnected(): boolean
  /** Messages of markets that are not followed, of the last minute. */
  unfollowed(): number
}

/** Makes the watch; `check` is to be called every second. */
export function createWindowWatch(sources: Sources, startedMs: number) {
  const { reporter } = sources
  /** When a window of each series was recorded last. */
  const recordedMs = new Map<string, number>()
  let open = 0
  let missing: MissingWindow[] = []

  function isRecorded(listing: WindowListing): boolean {
    const recording =
      listing.kind === 'listed' ? sources.recordingOf(listing.conditionId) : undefined
    return recording?.lastMs() !== undefined && recording.unknown().length < 2
  }

  function check(windows: readonly WindowListing[], nowMs: number): void {
    const openNow = windows.filter(({ startMs, endMs }) => startMs <= nowMs && nowMs < endMs)
    open = openNow.length
    missing = []
    /** What would be said of those that have time left, too: it is not over yet. */
    const reasons = new Set<MissingReason>()
    const isAnyRecorded = openNow.some(isRecorded)
    for (const listing of openNow) {
      const { name, series } = listing
      if (isRecorded(listing)) {
        recordedMs.set(series, nowMs)
        continue
      }
      const sinceMs = recordedMs.get(series) ?? startedMs
      const why = reasonOf(listing, { ...sources, isAnyRecorded })
      reasons.add(why.reason)
      if (nowMs - sinceMs >= GRACE_MS) missing.push({ name, reason: why.reason, text: why.text })
    }
    for (const reason of missingReasons) {
      const own = missing.filter((each) => each.reason === reason)
      if (own.length > 0) reporter.report(`windows ${reason}`, textOf(own, open))
      else if (!reasons.has(reason))
        reporter.settle(`windows ${reason}`, `No open window is ${phrases[reason]} any more.`)
    }
  }

  return {
    check,
    /**
     * Undefined while every open window is recorded, or has time left, or is one that the venue
     * does not have.
     */
    warning(): string | undefined {
      const wanted = missing.filter(({ reason }) => reason !== 'never_listed')
      return wanted.length > 0 ? textOf(wanted, open) : undefined
    },
    status: () => ({ open, missing }),
  }
}

export type WindowWatch = ReturnType<typeof createWindowWatch>

const phrases: Readonly<Record<MissingReason, string>> = {
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

function reasonOf(
  listing: WindowListing,
  sources: Sources & { isAnyRecorded: boolean },
): Omit<MissingWindow, 'name'> {
  if (listing.kind === 'not_asked')
    return { reason: 'not_asked', text: 'the catalogue has not answered' }
  // Where nothing is recorded at all, it is not the series that the venue lacks.
  if (listing.kind === 'not_listed' && (listing.wasListed || !sources.isAnyRecorded))
    return { reason: 'not_listed', text: 'not listed' }
  if (listing.kind === 'not_listed')
    return { reason: 'never_listed', text: 'not listed, like none of its coin and length so far' }
  if (listing.kind === 'not_usable')
    return { reason: 'not_usable', text: `listed, but not usable: ${listing.reason}` }
  const {
    events = 0,
    faults = 0,
    firstFault,
  } = sources.recordingOf(listing.conditionId)?.counts ?? {}
  const unfollowed = sources.unfollowed()
  if (!sources.isConnected()) return { reason: 'not_connected', text: 'no connection is open' }
  if (events === 0 && unfollowed > 0) {
    const text = `messages for markets that are not followed: ${unfollowed}`
    return { reason: 'not_followed', text }
  }
  if (events === 0) return { reason: 'no_message', text: 'no message' }
  if (faults > 0) {
    const text = `messages that cannot be read: ${faults} of ${events}, the first because of ${firstFault}`
    return { reason: 'not_readable', text }
  }
  return { reason: 'no_book', text: `no true book in ${events} messages` }
}

/** One line of all: how many, and the first of each reason. */
function textOf(missing: readonly MissingWindow[], open: number): string {
  const byText = [...Map.groupBy(missing, ({ text }) => text)]
  const parts = byText.slice(0, NAMED_MAX).map(([text, windows]) => {
    const [first] = windows
    const others = windows.length > 1 ? ` and ${windows.length - 1} more` : ''
    return `${first?.name}${others}: ${text}`
  })
  const rest = byText.length > NAMED_MAX ? [`${byText.length - NAMED_MAX} other reasons`] : []
  return `Not recorded: ${missing.length} of ${open} open windows. ${[...parts, ...rest].join('; ')}.`
}
