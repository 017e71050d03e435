/** Refreshes the sanctions list, and screens all accounts again: sanctions may follow a signup. */

import { setImmediate } from 'node:timers/promises'

import type { Screen, Verdict } from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import { type Account, isStale, type Ledger, type SanctionsList } from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import {
  createReportedJob,
  type JobLock,
  type JobReport,
  type RunOptions,
  type StartTimer,
} from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'

import { refreshList } from './list-refresh.ts'
import { toPublicName } from './list-source.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const REFRESH_MS = 6 * HOUR_MS
const RESCREEN_MS = 24 * HOUR_MS
/** Short at first: signups stay closed until a retry, even if the disk was full only briefly. */
const RETRY_MS_MIN = 2000
const RETRY_MS_MAX = 10 * MINUTE_MS
/** Accounts screened concurrently: few enough for a public RPC, with three requests each. */
const CONCURRENCY = 4

type ScreeningSchedule = {
  ledger: Ledger
  screen: Screen
  clock: Clock
  log: Log
  /** An http(s) URL or the path of a file; undefined if there is only an oracle. */
  location: string | undefined
  staleAfterMs: number
  startTimer: StartTimer
  /** The lock of servers that share the ledger; its holder keeps it until it ends. */
  lock?: JobLock | undefined
  /** Reports of the two jobs. */
  report?: { list: JobReport; accounts: JobReport } | undefined
}

/** Starts at once. Logs its results as lines, and never throws. */
export function startScreening(schedule: ScreeningSchedule) {
  const { location, report } = schedule
  const stop = new AbortController()
  const { signal } = stop
  const screened = createBackoff(RESCREEN_MS)
  /** True if the list changed: the accounts screened here must be screened again. */
  let hasNewList = false
  const lock: JobLock | undefined = schedule.lock && {
    take: async (asked) =>
      asked !== undefined || hasNewList || (await schedule.lock?.take()) === true,
    give: async () => {},
  }
  const accounts = createReportedJob({ ...schedule, lock, report: report?.accounts }, async () => {
    hasNewList = false
    const { failed, ...counts } = await rescreen(schedule, signal)
    const isFailed = failed > 0
    return { outcome: describeTally(counts), isFailed, waitMs: screened.after(isFailed) }
  })
  const list = location === undefined ? undefined : keepList(location)
  function keepList(from: string) {
    const refreshed = createBackoff(REFRESH_MS)
    let isFirst = true
    return createReportedJob({ ...schedule, lock, report: report?.list }, async (asked) => {
      const { state, outcome } = await refresh(schedule, from, { asked, signal })
      const isFailed = state === 'failed'
      const waitMs = refreshed.after(isFailed)
      if (!isFailed) schedule.log(outcome)
      else if (!signal.aborted)
        schedule.log(`${outcome} The next try is in ${count(waitMs / 1000, 'second')}.`, 'error')
      // At the start as well: addresses may have been listed while the server was down.
      if (state === 'changed') hasNewList = true
      if ((isFirst || state === 'changed') && !signal.aborted) accounts.hasten(0)
      isFirst = false
      return { outcome, isFailed, waitMs }
    })
  }
  const first = list ?? accounts
  first.hasten(0)
  return {
    /** Stops everything, including a download; resolves when nothing uses the ledger any more. */
    async dispose(): Promise<void> {
      stop.abort()
      await Promise.all([list?.dispose(), accounts.dispose()])
      await schedule.lock?.give()
    },
  }
}

/** The wait after a run; it doubles with each consecutive failure. */
function createBackoff(usualMs: number) {
  let failures = 0
  return {
    after(isFailed: boolean): number {
      if (isFailed) return Math.min(RETRY_MS_MIN * 2 ** failures++, RETRY_MS_MAX)
      failures = 0
      return usualMs
    },
  }
}

async function refresh(
  schedule: ScreeningSchedule,
  location: string,
  { asked, signal }: { asked: RunOptions | undefined; signal: AbortSignal },
): Promise<{ state: 'changed' | 'confirmed' | 'failed'; outcome: string }> {
  const { ledger, clock } = schedule
  try {
    const own = asked === undefined ? {} : ({ ...asked, actor: 'operator' } as const)
    const { list, isChanged } = await refreshList({ ledger, location, clock, signal, ...own })
    const outcome = `${describe(list, schedule)} ${isChanged ? 'is now the current list' : 'is confirmed'}.`
    return { state: isChanged ? 'changed' : 'confirmed', outcome }
  } catch (error) {
    const text = messageOf(error).replaceAll('\n', ' ')
    const reason = isFault(error, 'sanctions_list') ? text : `could not be refreshed: ${text}`
    const outcome = `The sanctions list at ${toPublicName(location)} ${reason}. ${describeCurrent(schedule)}`
    return { state: 'failed', outcome }
  }
}

function describeCurrent(schedule: ScreeningSchedule): string {
  try {
    const list = schedule.ledger.sanctionsList()
    return list
      ? `${describe(list, schedule)} stays the current list.`
      : 'There is no current list.'
  } catch {
    return 'The ledger cannot be read.'
  }
}

function describe(list: SanctionsList, { clock, staleAfterMs }: ScreeningSchedule): string {
  const { publishedOn, entryCount, confirmedMs } = list
  const since = new Date(confirmedMs).toISOString()
  const stale = isStale(list, { nowMs: clock(), staleAfterMs }) ? ', which is too long ago,' : ''
  return `The sanctions list of ${publishedOn} with ${count(entryCount, 'address', 'addresses')}, confirmed at ${since}${stale}`
}

type Tally = Record<Verdict['verdict'], number> & { failed: number }

const describeTally = ({ clear, hit, unknown }: Omit<Tally, 'failed'>): string =>
  `Screened ${count(clear + hit + unknown, 'account')}: ${clear} clear, ${hit} sanctioned, ${unknown} unknown.`

/** Screens all accounts once, or until aborted. `failed` asks for a retry. Never rejects. */
async function rescreen(schedule: ScreeningSchedule, signal: AbortSignal): Promise<Tally> {
  const tally: Tally = { clear: 0, hit: 0, unknown: 0, failed: 0 }
  try {
    const accounts = schedule.ledger.listAddressedAccounts().values()
    const worker = async () => {
      for (const account of accounts) {
        await screenAccount(account, { ...schedule, signal, tally })
        if (signal.aborted) return
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  } catch (error) {
    tally.failed++
    schedule.log(`Accounts could not be screened: ${messageOf(error)}.`, 'error')
  }
  const count = tally.clear + tally.hit + tally.unknown
  if (!signal.aborted && count > 0) schedule.log(describeTally(tally))
  return tally
}

async function screenAccount(
  { id, address }: Account,
  context: ScreeningSchedule & { signal: AbortSignal; tally: Tally },
): Promise<void> {
  const { ledger, screen, clock, log, signal, tally } = context
  if (address === undefined) return
  // Without an RPC nothing below waits, and requests would have to wait for all accounts.
  await setImmediate()
  if (signal.aborted) return
  const verdict = await screen(address)
  if (signal.aborted) return
  tally[verdict.verdict]++
  const isBlocked = toBlocked(verdict)
  if (isBlocked === undefined) return
  try {
    if ((ledger.findAccount(id)?.blockedMs !== undefined) === isBlocked) return
    await ledger.setBlocked(id, isBlocked, { actor: 'system', nowMs: clock() })
    log(`Account ${id} is ${isBlocked ? 'blocked: its address is sanctioned' : 'unblocked'}.`)
  } catch (error) {
    tally.failed++
    log(
      `Account ${id} could not be ${isBlocked ? 'blocked' : 'unblocked'}: ${messageOf(error)}.`,
      'error',
    )
  }
}

/** True to block the account, false to unblock it, undefined to leave it as it is. */
function toBlocked({ verdict, grounds }: Verdict): boolean | undefined {
  if (verdict === 'hit') return true
  // The source that listed the address may be the one that does not answer now.
  const isDefinite = grounds.oracle !== 'silent' && grounds.issuers !== 'silent'
  return verdict === 'clear' && isDefinite ? false : undefined
}
