/**
 * What requests are answered from: the stores themselves, or where they are at addresses, replicas
 * of them in the data folder.
 */
import { join } from 'node:path'

import {
  engineAt,
  isAddress,
  type Replicas,
  type StoreName,
  storeNames,
} from '#src/database/stores.ts'
import { clockFault } from '#src/domain/clock-fault.ts'
import { createStaleSince, type StaleSince } from '#src/domain/staleness.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { type CliContext, historyOptionsOf } from './extension.ts'
import { historyOf, LAG_MS, ledgerOf } from './open-data-folder.ts'

export const replicaPathOf = (dataPath: string, store: StoreName): string =>
  join(dataPath, `replica-${store}.db`)
/** How much older the replica of a store may be than its database, in milliseconds. */
export type AgeOf = (store: StoreName) => number

const placeOf = (context: CliContext, store: StoreName): string =>
  store === 'history' ? historyOf(context) : ledgerOf(context)

/** The stores that are at addresses. */
export const replicatedStores = (context: CliContext): StoreName[] =>
  storeNames.filter((store) => isAddress(placeOf(context, store)))

/** Copies what is at addresses, and keeps the copies up to date; undefined where nothing is. */
export async function startReplicas(
  context: CliContext,
  timer: Clock,
): Promise<Replicas | undefined> {
  const { dataPath } = context.config()
  const stores = replicatedStores(context).map((store) => ({
    store,
    place: placeOf(context, store),
    path: replicaPathOf(dataPath, store),
  }))
  return engineAt(stores[0]?.place ?? '')?.startReplicas(stores, {
    server: context.createId(),
    timer,
    say: context.printError,
  })
}

/** Opens the history that requests read: the file, or its replica. What writes to it fails. */
export function openServedHistory(
  context: CliContext,
  { chunkCacheBytes }: Pick<ReturnType<CliContext['config']>, 'chunkCacheBytes'>,
): MarketHistory {
  const place = historyOf(context)
  const { dataPath } = context.config()
  return openHistory(isAddress(place) ? replicaPathOf(dataPath, 'history') : place, {
    chunkCacheBytes,
    lagMs: LAG_MS,
    isReadOnly: true,
    isServing: true,
    ...historyOptionsOf(context.config(), context.extensions),
  })
}

/** The same of the ledger. */
export function openServedLedger(context: CliContext): Ledger {
  const place = ledgerOf(context)
  const path = isAddress(place) ? replicaPathOf(context.config().dataPath, 'ledger') : place
  return openLedger(path, { nowMs: context.clock(), lagMs: LAG_MS, isReadOnly: true })
}

/** Since when each store is stale; undefined where both are files. */
export function staleSinceOf(
  context: CliContext,
  clock: Clock,
  ageOf: AgeOf | undefined,
): StaleSince | undefined {
  if (ageOf === undefined) return undefined
  const isCopied = {
    history: isAddress(historyOf(context)),
    ledger: isAddress(ledgerOf(context)),
  }
  return createStaleSince((store) => (isCopied[store] ? ageOf(store) : 0), clock)
}

/** Why the clock of this machine cannot be used: it differs from that of a database. */
export function clockFaultOf(
  context: CliContext,
  { clockAheadMs }: Pick<Replicas, 'clockAheadMs'>,
): string | undefined {
  const faults = replicatedStores(context).map((store) =>
    clockFault(clockAheadMs(store, context.clock)),
  )
  return faults.find((fault) => fault !== undefined)
}
