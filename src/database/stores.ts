/**
 * Places of stores besides files. Extensions add them when a process or a thread begins. A store is
 * opened synchronously, so `prepareStore` loads what it needs before.
 */

import type { JobLock } from '#src/platform/job.ts'

import { storageError } from './database.ts'
import type { StoreHandles } from './transact.ts'

/** A part of an object of an archive; `size` is that of the whole object, in bytes. */
export type Part = { name: string; size: number; at: number; length: number }

/** The parts of a sealed chunk; none of them changes under the id of the chunk. */
export const chunkKinds = ['tops', 'rows', 'hashes', 'notes'] as const
export type ChunkKind = (typeof chunkKinds)[number]

/** The file that keeps chunks which were fetched from an archive, for all threads, and its size in bytes. */
export type ChunkCachePlace = { path: string; bytesMax: number }

/** Requests with an answer and without, the milliseconds that they took, and the bytes received. */
export type ObjectCounts = { answered: number; failed: number; ms: number; bytes: number }

/** The objects of an archive, which never change. */
export type ObjectReader = {
  /**
   * The bytes of parts, in the order in which they were asked for; undefined for what is not there.
   * Rejects with `storage_unavailable`.
   */
  fetch(parts: readonly Part[]): Promise<readonly (Uint8Array | undefined)[]>
  /** Counts of the requests to the bucket since it was opened. */
  counts(): ObjectCounts
  /** A copy, for which this thread waits. Throws `storage_unavailable` and a `damage` fault. */
  read(part: Part): Uint8Array
  close(): void
}

/** `place` is `s3://bucket/prefix`. */
export type OpenObjects = (place: string) => ObjectReader

export const storeNames = ['history', 'ledger'] as const
export type StoreName = (typeof storeNames)[number]

/** Where a store is: in a file, which is a copy of what is at the address, if there is one. */
export type StorePlace = { store: StoreName; path: string; address?: string | undefined }
export type SharedPlace = StorePlace & { address: string }

/** A store at an address, with a copy in a file, as this process uses it. */
export type SharedStore = StoreHandles & {
  /** Resolves when the verbs that were called have ended. */
  drained(): Promise<void>
  close(): void
}

export type ReplicasOptions = {
  /** Names this server among those of the database. */
  server: string
  /** Monotonic milliseconds. */
  timer: () => number
  /** Where it is noted how new the files are: `noteKnown`. */
  known: SharedArrayBuffer
  say: (line: string, level: 'error' | 'info') => void
}

/** Copies of stores in files, which are kept up to date. */
export type Replicas = {
  /** Resolves when the file has all that was committed before; rejects after a second. */
  pull(store: StoreName): Promise<void>
  /**
   * Writes what changes nothing, besides other writers. Rejects with `storage_unavailable` where
   * nothing can be written, or soon no more.
   */
  probeWrite(store: StoreName): Promise<void>
  /** Resolves when the files are used no more. */
  close(): Promise<void>
}

/** The format that a store has, 0 where nothing is there, and that of this version. */
export type Migration = { shown: string; from: number; to: number }

/** Databases at addresses. */
export type RemoteEngine = {
  /**
   * Keeps files up to date on a thread of its own; resolves when they have been as new as their
   * databases once.
   */
  startReplicas(stores: readonly SharedPlace[], options: ReplicasOptions): Promise<Replicas>
  /**
   * Opens what is at an address, which is made where there is none; resolves when the file is as
   * new. With `isBrief` an answer is waited for for seconds, as what serves or records may stand
   * still. Rejects with `storage_unavailable`.
   */
  open(
    place: SharedPlace,
    options: { isBrief: boolean; say?: ((line: string) => void) | undefined },
  ): Promise<SharedStore>
  /** Rejects as `open` does, and makes nothing. `adviceOn` says what the operator is to do. */
  examine(place: SharedPlace): Promise<void>
  /** Brings what is there to the format of this version if `isWanted`. Rejects as `open` does. */
  migrate(place: SharedPlace, isWanted: boolean): Promise<Migration>
  /** Undefined where the error says so itself. */
  adviceOn(error: unknown, store: StoreName): string | undefined
  /** The lock of a job that several processes share. `onFault`: it is not known who holds the lock. */
  createJobLock(job: { place: SharedPlace; name: string; onFault: (error: Error) => void }): JobLock
}

/** How what an extension adds is loaded. */
export type StoreLoader = {
  engine?: () => Promise<RemoteEngine>
  objects?: { isArchive: (place: string) => boolean; load: () => Promise<OpenObjects> }
}

const loaders: StoreLoader[] = []
let engine: RemoteEngine | undefined
const archives = new Map<StoreLoader, OpenObjects>()

export const addStores = (loader: StoreLoader): void => void loaders.push(loader)

/** Loads what reads books of an archive; to be called before a history is opened. */
export async function prepareStore(): Promise<void> {
  for (const loader of loaders) {
    const { objects } = loader
    if (objects !== undefined && !archives.has(loader)) archives.set(loader, await objects.load())
  }
}

/** Loads what opens stores at addresses. */
export async function loadEngine(): Promise<RemoteEngine> {
  engine ??= await loaders.find((loader) => loader.engine !== undefined)?.engine?.()
  if (engine === undefined) throw storageError('This program opens no stores at addresses.')
  return engine
}

/** That of a store at an address which was opened before. */
export function engineOf(place: StorePlace): RemoteEngine | undefined {
  if (place.address !== undefined && engine === undefined)
    throw new Error('What opens the store at this address was not loaded.')
  return place.address === undefined ? undefined : engine
}

export function openObjects(place: string): ObjectReader {
  const loader = loaders.find(({ objects }) => objects?.isArchive(place) === true)
  const open = loader && archives.get(loader)
  if (open === undefined)
    throw storageError(`Older books are in ${place}, and this program reads no such archive.`)
  return open(place)
}
