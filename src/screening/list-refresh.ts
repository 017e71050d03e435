import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { Actor } from '#src/ledger/actor.ts'
import type { Ledger, SanctionsList } from '#src/ledger/ledger.ts'

import { listFault } from './list-format.ts'
import { openListSource } from './list-source.ts'

/** More addresses than these were never taken off at once by intention. */
const LOSS_PERCENT_MAX = 10
/** The publisher may be a time zone ahead. A date far ahead would shut out later lists. */
const AHEAD_MS_MAX = 2 * DAY_MS

export type ListRefresh = {
  location: string
  ledger: Pick<Ledger, 'putSanctionsList'>
  clock: Clock
  signal: AbortSignal
  actor?: Actor | undefined
  /** The operator has looked at it, and says that so many addresses were taken off by intention. */
  acceptsLoss?: boolean | undefined
}

/**
 * Brings the published list into force, or confirms the one that is. Nothing changes unless all of
 * it was read. Throws a `sanctions_list` fault, also if it is older, of the future, or lacks too
 * much.
 */
export async function refreshList(
  refresh: ListRefresh,
): Promise<{ list: SanctionsList; isChanged: boolean }> {
  const { location, ledger, clock, signal, actor = 'system', acceptsLoss = false } = refresh
  const source = await openListSource(location, { clock, signal })
  // A reader of XML that a start is spared.
  const { readOfacList } = await import('./ofac-list.ts')
  const read = await readOfacList(source.chunks, signal)
  signal.throwIfAborted()
  const nowMs = clock()
  if (Date.parse(read.publishedOn) > nowMs + AHEAD_MS_MAX) {
    throw listFault(`is of ${read.publishedOn}, which is yet to come`)
  }
  const confirmedMs = Math.min(nowMs, source.confirmedMs)
  const lossPercentMax = acceptsLoss ? undefined : LOSS_PERCENT_MAX
  const put = ledger.putSanctionsList({ ...read, confirmedMs, lossPercentMax }, { actor, nowMs })
  if (put.kind === 'older') {
    throw listFault(`is of ${read.publishedOn}, older than the current list`)
  }
  if (put.kind === 'lossy') {
    throw listFault(`lacks ${put.lost} of the ${put.of} addresses of the current list`)
  }
  return { list: put.list, isChanged: put.kind === 'replaced' }
}
