/** Counts messages that cannot be read, and says once a minute how many, with the first reason. */
import type { Log } from '#src/platform/log.ts'

/** Seconds that count as now: a share of these is a warning, and a line is about as many. */
const SECONDS = 60
const SHARE_MAX = 0.01

type Second = { events: number; faults: number; unfollowed: number; reason: string | undefined }
const newSecond = (): Second => ({ events: 0, faults: 0, unfollowed: 0, reason: undefined })

export function createUnreadable(log: Log) {
  const seconds: Second[] = [newSecond()]
  const unsaid = { faults: 0, reason: '' }
  let quietSeconds = SECONDS
  const now = (): Second => seconds.at(-1) as Second
  const sum = (name: 'events' | 'faults' | 'unfollowed'): number =>
    seconds.reduce((total, second) => total + second[name], 0)
  const firstReason = (): string | undefined =>
    seconds.find(({ reason }) => reason !== undefined)?.reason
  /** Of the last minute, from 0 to 1. */
  const share = (): number => sum('faults') / Math.max(1, sum('events'))

  return {
    heard(): void {
      now().events++
    },

    fault(reason: string): void {
      now().faults++
      now().reason ??= reason
      if (unsaid.faults++ === 0) unsaid.reason = reason
    },

    unfollowed(): void {
      now().unfollowed++
    },

    /** To be called every second. */
    tick(): void {
      quietSeconds++
      if (unsaid.faults > 0 && quietSeconds >= SECONDS) {
        const count = unsaid.faults === 1 ? '1 message' : `${unsaid.faults} messages`
        log(
          `bookfeed: ${count} of the venue cannot be read, the first because of ${unsaid.reason}.`,
          'warn',
        )
        unsaid.faults = 0
        quietSeconds = 0
      }
      seconds.push(newSecond())
      if (seconds.length > SECONDS) seconds.shift()
    },

    /** Undefined while few messages are unreadable. */
    warning(): string | undefined {
      if (share() <= SHARE_MAX) return undefined
      const percent = (share() * 100).toFixed(1)
      return `${percent} % of the venue's messages cannot be read, the first because of ${firstReason()}.`
    },

    /** Of the last minute. */
    status: () => ({
      events: sum('events'),
      faults: sum('faults'),
      unfollowed: sum('unfollowed'),
      firstFault: firstReason(),
    }),
  }
}

export type Unreadable = ReturnType<typeof createUnreadable>
