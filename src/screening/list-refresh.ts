import type { Clock } from '#src/core/time.ts'
import type { Actor, LedgerStore, SanctionsList } from '#src/ledger/ledger.ts'

import { assertCredible } from './list-guard.ts'
import { openListSource } from './list-source.ts'
import { type OfacList, readOfacList } from './ofac-list.ts'

export type ListRefresh = {
  /** An http(s) URL or the path of a file. */
  location: string
  ledger: LedgerStore
  clock: Clock
  signal: AbortSignal
  actor?: Actor | undefined
  /** See `ListGuard`. */
  acceptsLoss?: boolean | undefined
}

/**
 * Brings the published list into force, or confirms the one that is. Nothing changes unless all of it was
 * read. Throws `ListFault`.
 */
export async function refreshList(
  refresh: ListRefresh,
): Promise<{ list: SanctionsList; isChanged: boolean }> {
  const { location, ledger, clock, signal, actor = 'system', acceptsLoss } = refresh
  const { chunks, confirmedMs } = await openListSource(location, { clock, signal })
  const read = await readOfacList(chunks, signal)
  signal.throwIfAborted()
  const nowMs = clock()
  return ledger.atomically(() => {
    assertCredible(read, { ledger, nowMs, acceptsLoss })
    const before = ledger.sanctionsList()
    const list = toEntry(read, { before, confirmedMs, nowMs })
    ledger.putSanctionsList({ ...list, addresses: read.addresses }, { actor, nowMs })
    return { list, isChanged: before?.sha256 !== list.sha256 }
  })
}

/** The same list from elsewhere does not take back that it was confirmed already. */
function toEntry(
  { publishedOn, sha256, addresses }: OfacList,
  found: { before: SanctionsList | undefined; confirmedMs: number; nowMs: number },
): SanctionsList {
  const { before, nowMs } = found
  const knownMs = before?.sha256 === sha256 ? before.confirmedMs : 0
  const confirmedMs = Math.min(nowMs, Math.max(found.confirmedMs, knownMs))
  return { publishedOn, sha256, confirmedMs, entryCount: addresses.size }
}
