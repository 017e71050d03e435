import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { Actor } from '#src/ledger/actor.ts'
import type { Ledger, SanctionsList } from '#src/ledger/ledger.ts'

import { listFault } from './list-format.ts'
import { openListSource } from './list-source.ts'

/** No update has ever removed a larger share of the addresses on purpose. */
const LOSS_PERCENT_MAX = 10
/** The publisher may be a time zone ahead. A date far ahead would lock out later lists. */
const AHEAD_MS_MAX = 2 * DAY_MS

export type ListRefresh = {
  location: string
  ledger: Pick<Ledger, 'putSanctionsList'>
  clock: Clock
  signal: AbortSignal
  actor?: Actor | undefined
  /** The operator has checked that this many addresses were removed on purpose. */
  acceptsLoss?: boolean | undefined
}

/**
 * Makes the published list current, or confirms the current one. Nothing changes until all of it
 * has been read. Throws a `sanctions_list` fault, also if the list is older than the current one,
 * dated in the future, or lacks too many addresses.
 */
export async function refreshList(
  refresh: ListRefresh,
): Promise<{ list: SanctionsList; isChanged: boolean }> {
  const { location, ledger, clock, signal, actor = 'system', acceptsLoss = false } = refresh
  const source = await openListSource(location, { clock, signal })
  // Imported lazily, so that the start does not load an XML parser.
  const { readOfacList } = await import('./ofac-list.ts')
  const read = await readOfacList(source.chunks, signal)
  signal.throwIfAborted()
  const nowMs = clock()
  if (Date.parse(read.publishedOn) > nowMs + AHEAD_MS_MAX) {
    throw listFault(`is of ${read.publishedOn}, which is in the future`)
  }
  const confirmedMs = Math.min(nowMs, source.confirmedMs)
  const lossPercentMax = acceptsLoss ? undefined : LOSS_PERCENT_MAX
  const put = await ledger.putSanctionsList(
    { ...read, confirmedMs, lossPercentMax },
    { actor, nowMs },
  )
  if (put.kind === 'older') {
    throw listFault(`is of ${read.publishedOn}, older than the current list`)
  }
  if (put.kind === 'lossy') {
    throw listFault(`lacks ${put.lost} of the ${put.of} addresses of the current list`)
  }
  return { list: put.list, isChanged: put.kind === 'replaced' }
}
