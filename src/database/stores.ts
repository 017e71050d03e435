/**
 * What a store may be in besides a file. Extensions add it when a process or a thread begins; a
 * store is opened synchronously, so what it needs is loaded before, by `prepareStore`.
 */

import { storageError } from './database.ts'

/** A part of an object of an archive; `size` is that of the whole object, in bytes. */
export type Part = { name: string; size: number; at: number; length: number }

/** A folder that keeps what was read from an archive, up to a size. */
export type DiskCachePlace = { folder: string; bytesMax: number }

export type ObjectReaderOptions = {
  isServing: boolean
  /** Of what is read without waiting. */
  cache?: DiskCachePlace | undefined
}

/** Reads objects that never change. */
export type ObjectReader = {
  /**
   * A copy. Throws `Missing` within a read that runs again, `storage_unavailable` and a `damage`
   * fault.
   */
  read(part: Part): Uint8Array
  close(): void
}

/** `place` is `s3://bucket/prefix`. */
export type OpenObjects = (place: string, options: ObjectReaderOptions) => ObjectReader

/** How what an extension adds is loaded. */
export type StoreLoader = { objects?: () => Promise<OpenObjects> }

const loaders: StoreLoader[] = []
let objects: OpenObjects | undefined

export const addStores = (loader: StoreLoader): void => void loaders.push(loader)

/** Loads what a store may need; to be called before it is opened. */
export async function prepareStore(): Promise<void> {
  for (const loader of loaders) if (loader.objects !== undefined) objects ??= await loader.objects()
}

export function openObjects(place: string, options: ObjectReaderOptions): ObjectReader {
  if (objects === undefined)
    throw storageError(`Older books are in ${place}, and this program reads no archive.`)
  return objects(place, options)
}
