/**
 * What a store may be in besides a file. Extensions add it when a process or a thread begins; a
 * store is opened synchronously, so what it needs is loaded before, by `prepareStore`.
 */

import type { Clock } from '#src/domain/time.ts'
import type { JobLock } from '#src/platform/job.ts'

import { type Database, storageError } from './database.ts'

/** A part of an object of an archive; `size` is that of the whole object, in bytes. */
export type Part = { name: string; size: number; at: number; length: number }

/** What a sealed chunk consists of; none of it changes under the id of the chunk. */
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
  /** What was asked of the bucket since it was opened. */
  counts(): ObjectCounts
  /** A copy, for which this thread waits. Throws `storage_unavailable` and a `damage` fault. */
  read(part: Part): Uint8Array
  close(): void
}

/** `place` is `s3://bucket/prefix`. */
export type OpenObjects = (place: string) => ObjectReader

export const storeNames = ['history', 'ledger'] as const
export type StoreName = (typeof storeNames)[number]

/** A database that answers later than one in this process. */
export type RemoteDatabase = Database & {
  /** From now on an answer is waited for for seconds, as what serves or records may stand still. */
  waitBriefly(): void
}

/** A store at an address, and the file that has a copy of it. */
export type Replicated = { store: StoreName; place: string; path: string }

export type ReplicasOptions = {
  /** Names this server among those of the database. */
  server: string
  /** Monotonic milliseconds. */
  timer: () => number
  say: (line: string, level: 'error' | 'info') => void
}

/** Copies of stores in files, which are kept up to date. */
export type Replicas = {
  /** For `replicaAgeMs`, in all threads. */
  freshness: Freshness
  /**
   * How far a clock is ahead of the clock of a store's database, as of the last heartbeat, in
   * milliseconds; behind if negative. 0 where that is within the time of an answer.
   */
  clockAheadMs(store: StoreName, clock: Clock): number
  /** Resolves when the file has all that was committed before; rejects after a second. */
  catchUp(store: StoreName): Promise<void>
  /**
   * Writes what changes nothing, besides other writers. Rejects with `storage_unavailable` where
   * nothing can be written, or soon no more.
   */
  probeWrite(store: StoreName): Promise<void>
  /** Resolves when the files are used no more. */
  close(): Promise<void>
}

/**
 * Of each store the moment before which all that was committed is in the file, in milliseconds of
 * the first thread's monotonic clock.
 */
export type Freshness = BigInt64Array

export const createFreshness = (): Freshness =>
  new BigInt64Array(new SharedArrayBuffer(8 * storeNames.length))

export const noteFresh = (freshness: Freshness, store: StoreName, freshMs: number): void =>
  void Atomics.store(freshness, storeNames.indexOf(store), BigInt(Math.floor(freshMs)))

/** How much older a replica may be than its database. */
export const replicaAgeMs = (freshness: Freshness, store: StoreName, nowMs: number): number =>
  nowMs - Number(Atomics.load(freshness, storeNames.indexOf(store)))

/** Databases at addresses. */
export type RemoteEngine = {
  /**
   * Keeps files up to date on a thread of its own; resolves when they have been as new as their
   * databases once.
   */
  startReplicas(stores: readonly Replicated[], options: ReplicasOptions): Promise<Replicas>
  /** Opens what is at an address, which is made where there is none. Throws `storage_unavailable`. */
  open(place: string, store: StoreName): RemoteDatabase
  /** What to say when the store at an address cannot be opened. */
  openingFault(error: unknown, place: string, store: StoreName): Error
  /** What the operator is to do about it; undefined where the error says so itself. */
  adviceOn(error: unknown, store: StoreName): string | undefined
  /** The lock of a job that several processes share. `onFault`: it is not known who holds the lock. */
  createJobLock(job: {
    place: string
    store: StoreName
    name: string
    onFault: (error: Error) => void
  }): JobLock
}

/** How what an extension adds is loaded. */
export type StoreLoader = {
  engine?: { isAddress: (place: string) => boolean; load: () => Promise<RemoteEngine> }
  objects?: { isArchive: (place: string) => boolean; load: () => Promise<OpenObjects> }
}

const loaders: StoreLoader[] = []
const engines = new Map<StoreLoader, RemoteEngine>()
const archives = new Map<StoreLoader, OpenObjects>()

export const addStores = (loader: StoreLoader): void => void loaders.push(loader)

const loaderAt = (place: string): StoreLoader | undefined =>
  loaders.find(({ engine }) => engine?.isAddress(place) === true)

/** Whether a place is an address, and no file. */
export const isAddress = (place: string): boolean => loaderAt(place) !== undefined

/** Loads what stores at these places may need; to be called before one is opened. */
export async function prepareStore(...places: readonly string[]): Promise<void> {
  for (const loader of loaders) {
    const { engine, objects } = loader
    if (objects !== undefined && !archives.has(loader)) archives.set(loader, await objects.load())
    if (engine !== undefined && !engines.has(loader) && places.some(engine.isAddress))
      engines.set(loader, await engine.load())
  }
}

/** The engine of an address; undefined for a file. */
export function engineAt(place: string): RemoteEngine | undefined {
  const loader = loaderAt(place)
  const engine = loader && engines.get(loader)
  if (loader !== undefined && engine === undefined)
    throw new Error('What opens the database at this address was not loaded.')
  return engine
}

export function openObjects(place: string): ObjectReader {
  const loader = loaders.find(({ objects }) => objects?.isArchive(place) === true)
  const open = loader && archives.get(loader)
  if (open === undefined)
    throw storageError(`Older books are in ${place}, and this program reads no such archive.`)
  return open(place)
}
