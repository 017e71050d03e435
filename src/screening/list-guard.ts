/** Guards the list in force against one that is well-formed, but not to be believed. */
import type { LedgerStore } from '#src/ledger/ledger.ts'

import { ListFault } from './list-fault.ts'
import type { OfacList } from './ofac-list.ts'

/** More addresses than these were never taken off at once by intention. */
const LOSS_PERCENT_MAX = 10
/** The publisher's clock may be ahead by a time zone. A date far ahead would shut out all later lists. */
const AHEAD_MS_MAX = 2 * 24 * 60 * 60_000

export type ListGuard = {
  ledger: Pick<LedgerStore, 'sanctionsList' | 'isSanctioned'>
  nowMs: number
  /** The operator has looked at it, and says that so many addresses were taken off by intention. */
  acceptsLoss?: boolean | undefined
}

/** Throws `ListFault` if the list is older than the one in force, of the future, or lacks too much of it. */
export function assertCredible(list: OfacList, { ledger, nowMs, acceptsLoss }: ListGuard): void {
  const { publishedOn, addresses } = list
  if (Date.parse(publishedOn) > nowMs + AHEAD_MS_MAX) {
    throw new ListFault(`is of ${publishedOn}, which is yet to come`)
  }
  const inForce = ledger.sanctionsList()
  if (inForce === undefined) return
  if (publishedOn < inForce.publishedOn) {
    throw new ListFault(`is of ${publishedOn}, older than the one in force`)
  }
  const kept = [...addresses].filter((address) => ledger.isSanctioned(address)).length
  const lost = inForce.entryCount - kept
  if (lost * 100 > inForce.entryCount * LOSS_PERCENT_MAX && acceptsLoss !== true) {
    throw new ListFault(`lacks ${lost} of the ${inForce.entryCount} addresses of the one in force`)
  }
}
