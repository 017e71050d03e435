/** A subscription gives an account a tier for a time. */
import { FREE_TIER_ID, type Terms, type Tier } from './tier.ts'

export type Subscription = {
  /** `sub_` and letters and digits. */
  id: string
  accountId: string
  tierId: string
  /** What was bought; undefined for a grant of the operator's, which follows the catalogue. */
  terms?: Terms | undefined
  /** Inclusive. */
  startMs: number
  /** Exclusive; undefined for ever. */
  endMs?: number | undefined
  paymentId?: string | undefined
  createdMs: number
}

/** What holds for an account at a moment, and until when that is certain. */
export type Standing = {
  terms: Terms
  /** What gives the terms; undefined on the Free tier. */
  subscription: Subscription | undefined
  /** Exclusive; the standing must be computed again from here on. Infinity if it never ends. */
  untilMs: number
}

/**
 * Finds the highest tier that runs at `nowMs`; Free when none does. A grant of a tier that is no
 * longer in the catalogue gives nothing. Throws if the catalogue has no Free tier.
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
