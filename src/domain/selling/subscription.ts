/** A subscription gives an account a tier for a time; it is paid for or granted. */
import { DAY_MS } from '#src/domain/time.ts'

import { FREE_TIER_ID, type Terms, type Tier } from './tier.ts'

export type Subscription = {
  /** `sub_`, letters and digits. */
  id: string
  accountId: string
  tierId: string
  /** The terms that were bought; undefined for an operator's grant, which follows the catalogue. */
  terms?: Terms | undefined
  /** Inclusive. */
  startMs: number
  /** Exclusive; undefined if it never ends. */
  endMs?: number | undefined
  paymentId?: string | undefined
  createdMs: number
}

/** The terms of an account at a given time, and how long they are certain. */
export type Standing = {
  terms: Terms
  /** The subscription that gives the terms; undefined on the Free tier, and for a pack. */
  subscription: Subscription | undefined
  /** True if a pack gives the terms, so that each request is deducted from it. */
  isMetered?: boolean
  /** Exclusive: the standing must be computed again at this time. Infinity if it never ends. */
  untilMs: number
}

/**
 * Finds the highest tier that is active at `nowMs`, or Free. A grant of a tier that is no longer in
 * the catalogue gives nothing. Throws if the catalogue has no Free tier.
 */
export function standingAt(
  subscriptions: readonly Subscription[],
  tiers: readonly Tier[],
  nowMs: number,
): Standing {
  const free = tiers.find(({ tierId }) => tierId === FREE_TIER_ID)
  if (!free) throw new Error('The catalogue has no Free tier.')
  const bounds = subscriptions.flatMap(({ startMs, endMs }) => [startMs, endMs ?? Infinity])
  let standing: Standing = {
    terms: free,
    subscription: undefined,
    untilMs: Math.min(Infinity, ...bounds.filter((boundMs) => boundMs > nowMs)),
  }
  for (const subscription of subscriptions) {
    if (subscription.startMs > nowMs || (subscription.endMs ?? Infinity) <= nowMs) continue
    const live = tiers.find(({ tierId }) => tierId === subscription.tierId)
    const terms = subscription.terms ?? live
    if (!terms) continue
    if (standing.subscription === undefined || terms.rank > standing.terms.rank) {
      standing = { ...standing, terms, subscription }
    }
  }
  return standing
}

/** The standing of an account that has no tier but bought a pack, used up or not. */
export const onPack = (standing: Standing, { terms }: { terms: Terms }): Standing => ({
  ...standing,
  terms,
  isMetered: true,
})

/** A paid period. Grants are not periods and are never moved. */
export type Period = Pick<Subscription, 'id' | 'tierId' | 'startMs'> & {
  terms: Terms
  endMs: number
}

/** The paid subscriptions: grants have no terms of their own, and stay where they are. */
export const paidPeriods = (subscriptions: readonly Subscription[]): Period[] =>
  subscriptions.flatMap(({ id, tierId, terms, startMs, endMs }) =>
    terms === undefined || endMs === undefined ? [] : [{ id, tierId, terms, startMs, endMs }],
  )

type Booking = {
  startMs: number
  endMs: number
  /** Periods that change, in their new form. A running one is cut: see `rest`. */
  moved: Period[]
  /** The rest of a running period that was cut, after the new one; it needs an id. */
  rest?: Omit<Period, 'id'> | undefined
}

/**
 * Books `days` of `terms` among the paid periods of an account. A tier that is higher than the
 * running one starts at once, and the running one continues after it; otherwise the new period
 * starts when the last one of the same or a higher tier ends. So periods never overlap, and no paid
 * day is lost.
 */
export function bookPeriod(
  periods: readonly Period[],
  bought: { terms: Terms; days: number; nowMs: number },
): Booking {
  const { terms, nowMs } = bought
  const lengthMs = bought.days * DAY_MS
  const isAhead = (period: Period) => period.endMs > nowMs && period.terms.rank >= terms.rank
  const startMs = Math.max(nowMs, ...periods.filter(isAhead).map(({ endMs }) => endMs))
  const endMs = startMs + lengthMs
  const moved: Period[] = []
  let rest: Booking['rest']
  for (const period of periods) {
    if (period.endMs <= startMs) continue
    if (period.startMs >= startMs) {
      moved.push({ ...period, startMs: period.startMs + lengthMs, endMs: period.endMs + lengthMs })
      continue
    }
    const { id: _, ...cut } = period
    moved.push({ ...period, endMs: startMs })
    rest = { ...cut, startMs: endMs, endMs: period.endMs + lengthMs }
  }
  return { startMs, endMs, moved, rest }
}
