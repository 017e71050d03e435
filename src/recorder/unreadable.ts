import { count } from '#src/platform/count.ts'
import type { Log } from '#src/platform/log.ts'

/** The period, in seconds, that a warning covers, and the shortest time between two lines. */
const SECONDS = 60
/** The share of unreadable messages above which a warning is given. */
const SHARE_MAX = 0.01

const newSecond = () => ({
  events: 0,
  faults: 0,
  unfollowed: 0,
  reason: undefined as string | undefined,
})

/** Counts unreadable messages, and logs their number once a minute with the first reason. */
export function createUnreadable(log: Log) {
  let now = newSecond()
  const seconds = [now]
  const unreported = { faults: 0, reason: '' }
  let quietSeconds = SECONDS

  /** Counts of the last minute. */
  const status = () => {
    const sum = (name: 'events' | 'faults' | 'unfollowed'): number =>
      seconds.reduce((total, second) => total + second[name], 0)
    const firstFault = seconds.find(({ reason }) => reason !== undefined)?.reason
    return {
      events: sum('events'),
      faults: sum('faults'),
      unfollowed: sum('unfollowed'),
      firstFault,
    }
  }

  return {
    heard(): void {
      now.events++
    },

    fault(reason: string): void {
      now.faults++
      now.reason ??= reason
      if (unreported.faults++ === 0) unreported.reason = reason
    },

    unfollowed(): void {
      now.unfollowed++
    },

    /** Completes the counts of a second. Call it every second. */
    tick(): void {
      quietSeconds++
      const { faults, reason } = unreported
      if (faults > 0 && quietSeconds >= SECONDS) {
        const text = `${count(faults, 'message')} of the venue cannot be read, the first because of ${reason}.`
        log(`bookfeed: ${text}`, 'warn')
        unreported.faults = 0
        quietSeconds = 0
      }
      now = newSecond()
      seconds.push(now)
      if (seconds.length > SECONDS) seconds.shift()
    },

    /** Undefined if few messages are unreadable. */
    warning(): string | undefined {
      const { events, faults, firstFault } = status()
      const share = faults / Math.max(1, events)
      if (share <= SHARE_MAX) return undefined
      const percent = (share * 100).toFixed(1)
      return `${percent} % of the venue's messages cannot be read, the first because of ${firstFault}.`
    },

    status,
  }
}
