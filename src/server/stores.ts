/** The stores of a server: files, or complete copies of databases at addresses. */
import type { LedgerCopy } from '#src/access/authenticator.ts'
import { type Copies, openCopies } from '#src/database/copies.ts'
import { loadEngine, type Replicas, type StoreName, storeNames } from '#src/database/stores.ts'
import { isPassing, SOON_SECONDS } from '#src/domain/errors.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { Fault } from '#src/features/health/routes.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { every, type Job } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'

import { type CliContext, historyOptionsOf } from './extension.ts'
import { answerNotReady } from './listen.ts'
import {
  historyOf,
  isShared,
  LAG_MS,
  ledgerOf,
  openDataFolder,
  openLedgerFile,
  placeOf,
} from './open-data-folder.ts'

const TRIES_MAX = 15
const COPIES_MS = 200

export type Stores = AsyncDisposable & {
  history: MarketHistory
  ledger: Ledger
  /** How new the copies are; a file is never behind. */
  copies: Copies
  /** Keeps the copies up to date; undefined if both stores are files. */
  replicas: Replicas | undefined
}

/** Opens the stores. While copies are made, `/readyz` answers 503 at the server's address. */
export async function openStores(context: CliContext, timer: Clock): Promise<Stores> {
  const { config, clock, createId, printError: say } = context
  await using ends = new AsyncDisposableStack()
  await using _opening =
    replicatedStores(context).length > 0 ? answerNotReady(config(), context) : undefined
  const history = ends.use(await patiently(() => openDataFolder(context, 'serve')))
  const ledger = ends.use(await patiently(() => openLedgerFile(context, 'serve')))
  const copies = openCopies({ clock, timer })
  const places = storeNames.flatMap((store) => {
    const { address, ...place } = placeOf(context, store)
    return address === undefined ? [] : [{ ...place, address }]
  })
  const options = { server: createId(), timer, known: copies.memory, say }
  const replicas =
    places.length === 0 ? undefined : await (await loadEngine()).startReplicas(places, options)
  ends.defer(() => replicas?.close())
  const opened = ends.move()
  /** Probes a database beside the verbs, which wait for each other. */
  const probe = (store: StoreName) =>
    replicas !== undefined && isShared(context, store)
      ? { probeWrite: () => replicas.probeWrite(store) }
      : {}
  return {
    history: { ...history, ...probe('history') },
    ledger: { ...ledger, ...probe('ledger') },
    copies,
    replicas,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Retries while another process locks the database for longer than a single wait. */
export async function patiently<T>(act: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (!isPassing(error) || tries === TRIES_MAX) throw error
      await Bun.sleep(SOON_SECONDS * 1000)
    }
  }
}

/** The stores that are at addresses. */
export const replicatedStores = (context: CliContext): StoreName[] =>
  storeNames.filter((store) => isShared(context, store))

/** Opens a further handle of the history for a thread that only reads. Writes fail. */
export function openServedHistory(
  context: CliContext,
  { chunkCacheBytes }: Pick<ReturnType<CliContext['config']>, 'chunkCacheBytes'>,
): MarketHistory {
  return openHistory(historyOf(context), {
    chunkCacheBytes,
    lagMs: LAG_MS,
    isReadOnly: true,
    isServing: true,
    ...historyOptionsOf(context.config(), context.extensions),
  })
}

/** Opens a further handle of the ledger for a thread that only reads. Writes fail. */
export function openServedLedger(context: CliContext): Ledger {
  return openLedger(ledgerOf(context), { nowMs: context.clock(), lagMs: LAG_MS, isReadOnly: true })
}

/** The copy in which keys are found; undefined if the ledger is a file. */
export const ledgerCopyOf = (
  context: CliContext,
  { behindSince }: Copies,
  pull: () => Promise<void>,
): LedgerCopy | undefined =>
  isShared(context, 'ledger') ? { pull, behindSince: () => behindSince('ledger') } : undefined

/** The faults of copies that are behind. */
export const faultsOf = ({ behindSince }: Copies): Fault[] =>
  storeNames.flatMap((store) => {
    const sinceMs = behindSince(store)
    if (sinceMs === undefined) return []
    const reason = `The copy of the ${store} is behind: nothing after ${toIso(sinceMs)} is known.`
    return { check: store, reason }
  })

/** Prints a line when a copy falls behind, and one when it follows its database again. */
export function watchCopies({ behindSince }: Copies, say: Log): Job {
  const behind = new Set<StoreName>()
  function look(): void {
    for (const store of storeNames) {
      const sinceMs = behindSince(store)
      if (sinceMs !== undefined && !behind.has(store)) {
        behind.add(store)
        const since = toIso(sinceMs)
        say(`bookfeed: the copy of the ${store} is behind: nothing after ${since} is known`, 'warn')
      } else if (sinceMs === undefined && behind.delete(store))
        say(`bookfeed: the copy of the ${store} follows its database again`)
    }
  }
  return every(COPIES_MS, look)
}
