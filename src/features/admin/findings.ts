/** Findings for the operator: why nothing is sold, recorded or answered. */
import type { SalesFault } from '#src/billing/billing.ts'
import { formatMillionths } from '#src/domain/decimal.ts'
import { type ErrorCode, ifSound } from '#src/domain/errors.ts'
import { NO_ROOM } from '#src/domain/record-fault.ts'
import { openStates } from '#src/domain/selling/payment.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import { type Activity, ACTIVITY_STEP_MS, isStale } from '#src/ledger/ledger.ts'
import type { PaymentSum } from '#src/ledger/payments.ts'
import { describeReason } from '#src/operator/payments.ts'
import { count, formatCount } from '#src/platform/count.ts'

import { countProblems, listActivity } from './activity.ts'
import type { AdminDeps } from './ports.ts'
import type { Finding } from './schema.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WEEK_MS = 7 * DAY_MS
const MIB = 2 ** 20
/** An open payment is late after this time; most are decided within a minute. */
const LATE_MS = 15 * MINUTE_MS
/** A running recorder stores a snapshot at least this often, also on another machine. */
const QUIET_MS = 15 * MINUTE_MS
/**
 * After this time without a snapshot, recording has ended on purpose (alert BookfeedRecorderDown).
 */
const STOPPED_MS = WEEK_MS
/** The fewest payments in a week that have a usual interval. */
const USUAL_MIN = 3

/** Most urgent first. */
const levels = ['fault', 'warning', 'notice', 'ok'] as const

export function listFindings(deps: AdminDeps, isDamaged: boolean): Finding[] {
  const nowMs = deps.clock()
  const unwritten = deps.operator.activity.listUnwritten()
  const lastHour = listActivity({ ledger: deps.ledger, unwritten }, nowMs - HOUR_MS)
  const found = [
    ...findSales(deps, nowMs, lastHour),
    ...findSignups(deps, nowMs, lastHour),
    ...findRecorder(deps, nowMs),
    ...findServer(deps, lastHour.map(withoutRefusals(deps)), isDamaged),
  ]
  return found.sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))
}

type Draft = Omit<Finding, 'todo' | 'link'> & Partial<Pick<Finding, 'todo' | 'link'>>

const toFinding = ({ level, about, text, todo = null, link = null }: Draft): Finding => ({
  level,
  about,
  text,
  todo,
  link,
})

function* findSales(
  deps: AdminDeps,
  nowMs: number,
  lastHour: readonly Activity[],
): Generator<Finding> {
  const { ledger, billing } = deps
  const sums = ledger.payments.sumPayments({ sinceMs: nowMs - 2 * WEEK_MS, stepMs: HOUR_MS })
  const made = sums.filter(({ state }) => state === 'provisioned')
  const found = [
    ...findChains(deps, made.length > 0, nowMs),
    ...findPrices(deps, nowMs),
    ...findFailed(sums, nowMs),
    ...findOpen(deps, nowMs),
    ...findLull(deps, made, nowMs),
    ...findRefused(lastHour, refusalOfSales(deps)),
  ]
  for (const text of billing.warnings())
    found.push(
      toFinding({
        level: 'warning',
        about: 'sales',
        text,
        todo: 'Compare both with a third clock. Payments are judged by the time of the chain.',
      }),
    )
  yield* found
  if (!billing.isOpen || found.some(({ level }) => level === 'fault' || level === 'warning')) return
  const today = countOf(made.filter(({ stepMs }) => stepMs >= nowMs - DAY_MS))
  yield toFinding({
    level: 'ok',
    about: 'sales',
    text: `Everything that sales need works. ${count(today, 'payment')} in the last 24 hours.`,
  })
}

const variables: Record<SalesFault['part'], string> = {
  node: 'BOOKFEED_RPC_URL',
  token: 'BOOKFEED_RPC_URL',
  facilitator: 'BOOKFEED_FACILITATOR',
  configuration: 'BOOKFEED_PAY_TO',
}

const toCheck = (variable: string): string =>
  `Check ${variable} and the network with bookfeed doctor.`

/** Reports chains and tokens that cannot be paid with. */
function* findChains({ billing }: AdminDeps, hasSold: boolean, nowMs: number): Generator<Finding> {
  const { state, faults } = billing.sales()
  for (const { part, text, sinceMs, tokens, todo } of faults) {
    if (state === 'closed') {
      const level = hasSold ? 'fault' : 'notice'
      yield toFinding({
        level,
        about: 'sales',
        text,
        todo: hasSold ? 'See docs/configuration.md, “Selling tiers”.' : null,
      })
      continue
    }
    const effect = `${state === 'paused' ? 'Purchases are paused: b' : 'B'}uyers cannot pay with ${tokens.join(', ')}`
    const since = sinceMs === undefined ? '' : ` since ${showSince(sinceMs, nowMs)}`
    yield toFinding({
      level: state === 'open' ? 'warning' : 'fault',
      about: 'sales',
      text: `${effect}: ${text.replace(/\.$/, '')}${since}.`,
      todo: todo ?? toCheck(variables[part]),
    })
  }
}

function* findPrices({ ledger, billing }: AdminDeps, nowMs: number): Generator<Finding> {
  if (!billing.isOpen) return
  const tiers = [...ledger.listTiers(), ...ledger.listPacks()]
  if (!tiers.some(({ isForSale }) => isForSale))
    yield toFinding({
      level: 'fault',
      about: 'sales',
      text: 'No tier and no pack is for sale.',
      todo: 'Put one up for sale.',
      link: '/admin?tab=tiers',
    })
  for (const { tierId, name } of tiers) {
    const [newest, before] = ledger.listAuditOfOperator(tierId, 2)
    if (newest === undefined || newest.timeMs < nowMs - WEEK_MS) continue
    const price = describePrice(newest.state)
    const was = before && describePrice(before.state)
    if (price === UNSOLD && (was ?? UNSOLD) === UNSOLD) continue
    const change = was === undefined || was === price ? `it is ${price}` : `${was} → ${price}`
    yield toFinding({
      level: 'notice',
      about: 'sales',
      text: `The tier ${name} was changed ${toAgo(nowMs - newest.timeMs)}: ${change}.`,
      link: '/admin?tab=audit',
    })
  }
}

const UNSOLD = 'not for sale'

/** Price of a tier from its state in the audit chain. */
function describePrice(state: string): string {
  const { amountMicros, isForSale } = JSON.parse(state) as Record<string, number | undefined>
  if (isForSale !== 1) return UNSOLD
  return amountMicros === undefined ? 'without a price' : `${formatMillionths(amountMicros)} USDC`
}

const countOf = (sums: readonly PaymentSum[]): number =>
  sums.reduce((all, sum) => all + sum.count, 0)

/** Reports payments of the last day that bought nothing, with the reasons. */
function* findFailed(sums: readonly PaymentSum[], nowMs: number): Generator<Finding> {
  const recent = sums.filter(({ stepMs }) => stepMs >= nowMs - DAY_MS)
  const failed = recent.filter(({ state }) => state === 'rejected' || state === 'void')
  if (failed.length === 0) return
  const made = countOf(recent.filter(({ state }) => state === 'provisioned'))
  const reasons = [...Map.groupBy(failed, ({ reason }) => reason ?? 'unknown')]
    .map(([reason, own]) => ({ reason, times: countOf(own) }))
    .sort((a, b) => b.times - a.times)
    .map(({ reason, times }) => `${describeReason(reason)} (${times})`)
  yield toFinding({
    level: made === 0 ? 'fault' : 'warning',
    about: 'sales',
    text: `${count(countOf(failed), 'payment')} failed in the last 24 hours, and ${made} succeeded. Why: ${reasons.join('; ')}.`,
    link: `/admin?tab=payments&state=${failed[0]?.state}`,
  })
}

/** Reports late payments, and payments and transfers that need the operator's decision. */
function* findOpen({ ledger: { payments } }: AdminDeps, nowMs: number): Generator<Finding> {
  const late = payments
    .listPaymentsIn(openStates)
    .filter(({ createdMs }) => createdMs < nowMs - LATE_MS)
  const [oldest] = late
  if (oldest !== undefined) {
    const reasons = new Set(late.map(({ state, reason }) => describeReason(reason ?? state)))
    yield toFinding({
      level: 'warning',
      about: 'sales',
      text: `${count(late.length, 'payment')} open for more than 15 minutes, the oldest for ${toLength(nowMs - oldest.createdMs)} (${[...reasons].join('; ')}).`,
      todo: 'The server keeps checking them on the chain. Check the facilitator and the node.',
      link: `/admin?tab=payments&state=${oldest.state}`,
    })
  }
  const review = payments
    .listPaymentsIn(['review'])
    .filter(({ resolution }) => resolution === undefined).length
  const transfers = payments.listUnmatchedTransfers(false).length
  if (review + transfers === 0) return
  const waiting = [
    ...(review > 0 ? [`${count(review, 'payment')} in review`] : []),
    ...(transfers > 0 ? [`${count(transfers, 'transfer')} that no payment explains`] : []),
  ]
  yield toFinding({
    level: 'warning',
    about: 'sales',
    text: `Your decision is needed: ${waiting.join(' and ')}.`,
    link: '/admin?tab=payments&state=review',
  })
}

/**
 * Reports when no payment was made for much longer than usual, and whether buyers asked for quotes.
 */
function* findLull(
  { ledger, billing }: AdminDeps,
  made: readonly PaymentSum[],
  nowMs: number,
): Generator<Finding> {
  const last = made.at(-1)
  if (last === undefined || !billing.isOpen) return
  // Payments are summed by the hour.
  const endMs = last.stepMs + HOUR_MS
  const usual = countOf(made.filter(({ stepMs }) => stepMs > endMs - WEEK_MS))
  const lullMs = nowMs - endMs
  if (usual < USUAL_MIN || lullMs < Math.max(DAY_MS / 4, (3 * WEEK_MS) / usual)) return
  const quotes = ledger.payments.countOffers(endMs)
  const demand =
    quotes === 0
      ? 'No quote was requested since then: buyers do not see the price.'
      : `Quotes requested since then: ${formatCount(quotes)}, none of them paid. Buyers see the price, but do not or cannot pay.`
  yield toFinding({
    level: 'fault',
    about: 'sales',
    text: `No payment for ${toLength(lullMs)}; in the week before, there was one every ${toLength(WEEK_MS / usual)}. ${demand}`,
    link: '/admin?tab=payments&state=all',
  })
}

type Refusal = Pick<Finding, 'about' | 'text'> & {
  code: ErrorCode
  /** Set while requests are refused; `sinceMs` is undefined if the start is unknown. */
  failing: { sinceMs: number | undefined } | undefined
}

function refusalOfSales({ billing }: AdminDeps): Refusal {
  const { state, sinceMs } = billing.sales()
  return {
    about: 'sales',
    code: 'billing_unavailable',
    text: 'Payments and quotes were refused',
    failing: state === 'open' ? undefined : { sinceMs },
  }
}

function refusalOfSignups(deps: AdminDeps): Refusal {
  const state = deps.signup()
  const isScreening = state.isOpen && state.warning === undefined
  return {
    about: 'sign-ups',
    code: 'screening_unavailable',
    text: 'Addresses of sign-ups or buyers could not be screened',
    failing: isScreening ? undefined : { sinceMs: findNodeFault(deps)?.sinceMs },
  }
}

/** Refusals in a step since the current fault began; earlier ones have another cause. */
const countRefused = (
  { stepMs, problems }: Activity,
  { code, failing }: Pick<Refusal, 'code' | 'failing'>,
): number => (stepMs + ACTIVITY_STEP_MS > (failing?.sinceMs ?? 0) ? (problems[code] ?? 0) : 0)

/** Removes refusals that `findRefused` reports, so that they are not counted as errors too. */
function withoutRefusals(deps: AdminDeps): (step: Activity) => Activity {
  const refusals = [refusalOfSales(deps), refusalOfSignups(deps)]
  return (step) => {
    const problems = { ...step.problems }
    let { errors } = step
    for (const refusal of refusals) {
      const refused = countRefused(step, refusal)
      errors -= refused
      problems[refusal.code] = (problems[refusal.code] ?? 0) - refused
    }
    return { ...step, errors: Math.max(0, errors), problems }
  }
}

/** Reports a fault while it lasts, and for an hour after it as a notice. */
function* findRefused(lastHour: readonly Activity[], refusal: Refusal): Generator<Finding> {
  const { about, text, code, failing } = refusal
  const steps = lastHour.filter((step) => countRefused(step, refusal) > 0)
  if (steps.length === 0) return
  const times = steps.reduce((sum, { problems }) => sum + (problems[code] ?? 0), 0)
  const lastMs = Math.max(...steps.map(({ stepMs }) => stepMs))
  const when = `last between ${showMinute(lastMs)} and ${showMinute(lastMs + ACTIVITY_STEP_MS)} UTC`
  yield toFinding({
    level: failing === undefined ? 'notice' : 'fault',
    about,
    text: `${failing === undefined ? 'Works again: ' : ''}${text} ${count(times, 'time')} in the last hour, ${when} (${code}).`,
  })
}

const findNodeFault = ({ billing }: AdminDeps): SalesFault | undefined =>
  billing.sales().faults.find(({ part }) => part === 'node')

function* findSignups(
  deps: AdminDeps,
  nowMs: number,
  lastHour: readonly Activity[],
): Generator<Finding> {
  const { ledger, signup, billing, config, operator } = deps
  const state = signup()
  const node = findNodeFault(deps)
  const hasList = operator.jobs
    .list()
    .some(({ name, canRun }) => name === 'sanctions-list' && canRun)
  // Without a sanctions list, a node is the only source.
  const source =
    node?.text ?? (hasList ? undefined : 'The node at BOOKFEED_RPC_URL does not answer.')
  const isRefusing = countProblems(lastHour).some(({ code }) => code === 'signup_closed')
  if (!state.isOpen)
    yield toFinding({
      level: billing.isOpen || isRefusing ? 'warning' : 'notice',
      about: 'sign-ups',
      text: `Sign-ups are closed: ${state.reason}`,
      todo: 'See docs/configuration.md, “Opening signup”.',
    })
  else if (state.warning !== undefined)
    yield toFinding({
      level: 'fault',
      about: 'sign-ups',
      text: source === undefined ? state.warning : `${state.warning} ${source}`,
      todo: source === undefined ? null : toCheck('BOOKFEED_RPC_URL'),
      link: hasList ? '/admin?tab=jobs' : null,
    })
  yield* findRefused(lastHour, refusalOfSignups(deps))
  const list = ledger.sanctionsList()
  const staleAfterMs = config.sanctionsDaysMax * DAY_MS
  if (list === undefined || !isStale(list, { nowMs, staleAfterMs })) return
  yield toFinding({
    level: 'fault',
    about: 'sign-ups',
    text: `The sanctions list of ${list.publishedOn} is stale: it was confirmed ${toAgo(nowMs - list.confirmedMs)}. Without another source, sign-ups and payments are refused.`,
    todo: 'Start the job sanctions-list, and read how it ends.',
    link: '/admin?tab=jobs',
  })
}

/** True if the disk has less free space than BOOKFEED_FREE_MB requires. */
function isNearlyFull({ operator, config }: AdminDeps): boolean {
  const { freeBytes } = operator.disk()
  return freeBytes !== null && freeBytes < config.freeBytesMin
}

function* findRecorder(deps: AdminDeps, nowMs: number): Generator<Finding> {
  const recorder = deps.operator.recorder()
  if (recorder === undefined) {
    yield findNoRecorder(deps, nowMs)
    return
  }
  const { fault, warning } = recorder
  // The disk is reported by the finding of the server already.
  const isOfDisk = fault === NO_ROOM && isNearlyFull(deps)
  if (fault !== undefined && !isOfDisk)
    yield toFinding({ level: 'fault', about: 'recorder', text: fault })
  if (warning !== undefined) yield toFinding({ level: 'warning', about: 'recorder', text: warning })
}

function findNoRecorder({ history, operator }: AdminDeps, nowMs: number): Finding {
  const about = 'recorder'
  const todo =
    'Start bookfeed record again, or the server with BOOKFEED_RECORD=on. The time until then is a gap.'
  const silentMs = operator.silentMs()
  if (silentMs !== undefined) {
    const text = `The recorder was killed or hangs: it has reported nothing since ${showSince(silentMs, nowMs)}.`
    return toFinding({ level: 'fault', about, text, todo })
  }
  const none = 'No recorder runs on the data folder of this server'
  const recorded = (ifSound(() => history.coinTotals(nowMs)) ?? [])
    .filter(({ source }) => source === 'recorded')
    .flatMap(({ lastSnapshotMs }) => lastSnapshotMs ?? [])
  if (recorded.length === 0) return toFinding({ level: 'notice', about, text: `${none}.` })
  const lastMs = Math.max(...recorded)
  // With PostgreSQL, a recorder on another machine may have stored it.
  if (nowMs - lastMs < QUIET_MS) {
    const text = `${none}; the last snapshot is from ${showStamp(lastMs)}.`
    return toFinding({ level: 'notice', about, text })
  }
  const text = `${none}, and nothing has been recorded since ${showSince(lastMs, nowMs)}.`
  if (nowMs - lastMs < STOPPED_MS) return toFinding({ level: 'fault', about, text, todo })
  return toFinding({ level: 'notice', about, text })
}

function* findServer(
  deps: AdminDeps,
  lastHour: readonly Activity[],
  isDamaged: boolean,
): Generator<Finding> {
  const { operator } = deps
  if (isDamaged)
    yield toFinding({
      level: 'fault',
      about: 'server',
      text: 'Part of the history is damaged.',
      todo: 'Start the job verify, and restore a backup.',
      link: '/admin?tab=jobs',
    })
  if (isNearlyFull(deps))
    yield toFinding({
      level: 'fault',
      about: 'server',
      text: `The disk has ${showMib(operator.disk().freeBytes ?? 0)} free, less than the ${showMib(deps.config.freeBytesMin)} of BOOKFEED_FREE_MB: nothing is recorded or backed up to it.`,
      todo: 'Free space, or delete the oldest markets with bookfeed prune.',
    })
  for (const { name, isFailed, isRunning, outcome } of operator.jobs.list())
    if (isFailed && !isRunning)
      yield toFinding({
        level: 'warning',
        about: 'server',
        text: `The job ${name} failed: ${outcome ?? 'no reason was given'}`,
        link: '/admin?tab=jobs',
      })
  const requests = lastHour.reduce((sum, step) => sum + step.requests, 0)
  const errors = lastHour.reduce((sum, step) => sum + step.errors, 0)
  if (errors === 0) return
  const codes = countProblems(lastHour)
    .filter((problem) => problem.status >= 500 && problem.count > 0)
    .map((problem) => `${problem.code} (${problem.count})`)
  const share = `${((100 * errors) / Math.max(1, requests)).toFixed(1)} % of all`
  yield toFinding({
    level: 'warning',
    about: 'server',
    text: `${count(errors, 'request')} failed with 500 or above in the last hour, ${share}${codes.length === 0 ? '' : `: ${codes.join(', ')}`}.`,
  })
}

/** Duration such as `3 hours`: days from two days on, hours from two hours on, else minutes. */
function toLength(ms: number): string {
  if (ms >= 2 * DAY_MS) return count(Math.floor(ms / DAY_MS), 'day')
  if (ms >= 2 * HOUR_MS) return count(Math.floor(ms / HOUR_MS), 'hour')
  return count(Math.max(1, Math.floor(ms / MINUTE_MS)), 'minute')
}

/** `1,024 MiB`. */
const showMib = (bytes: number): string => `${formatCount(Math.floor(bytes / MIB))} MiB`

const showMinute = (ms: number): string => toIso(ms).slice(11, 16)

/** `2026-11-27 22:08:12 UTC`. */
const showStamp = (ms: number): string => `${toIso(ms).slice(0, 19).replace('T', ' ')} UTC`

/** `2026-11-27 22:08:12 UTC, 14 minutes ago`. */
const showSince = (sinceMs: number, nowMs: number): string =>
  `${showStamp(sinceMs)}, ${toAgo(nowMs - sinceMs)}`

const toAgo = (ms: number): string => (ms < MINUTE_MS ? 'just now' : `${toLength(ms)} ago`)
