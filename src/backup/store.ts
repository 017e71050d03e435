/** The store of backups: a folder of its owner, or a bucket of an S3-compatible service. */

import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { type BucketPlace, parseBucketPlace } from '#src/platform/bucket-place.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { describeFolderFault } from '#src/platform/folder.ts'
import { codeOf } from '#src/platform/message.ts'
import { createObjectStore } from '#src/platform/object-store.ts'

/** Named objects, such as `blocks/ab…`; each is stored whole or not at all. */
export type BackupStore = {
  /** Names and sizes in bytes of the objects with this prefix. */
  list(prefix: string): Promise<Map<string, number>>
  put(name: string, bytes: Uint8Array): Promise<void>
  get(name: string): Promise<Uint8Array>
  remove(name: string): Promise<void>
}

/** `place` is a folder or `s3://bucket/prefix`; `assertRoom` is called before a folder grows. */
export function openStore(place: string, assertRoom: (folder: string) => void): BackupStore {
  const bucket = parseBucketPlace(place)
  return bucket === undefined ? createFolderStore(place, assertRoom) : createBucketStore(bucket)
}

/** Suffix of incomplete files. */
const PART = '.part'

function createFolderStore(folder: string, assertRoom: (folder: string) => void): BackupStore {
  const explain = (cause: unknown): never => {
    throw new Fault(
      `The backups in ${folder} cannot be used (${describeFolderFault(folder, cause)}). Name a folder that this user may read and write, or s3://bucket/prefix.`,
      { kind: 'backup', cause },
    )
  }

  async function list(prefix: string): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    const at = prefix.endsWith('/') ? prefix : ''
    const names = await readdir(join(folder, at)).catch((error: unknown): string[] => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    for (const entry of names) {
      const name = at + entry
      if (!name.startsWith(prefix) || name.endsWith(PART)) continue
      const status = await stat(join(folder, name))
      if (status.isFile()) found.set(name, status.size)
    }
    return found
  }

  async function put(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(`${path}${PART}`, 'w', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(`${path}${PART}`, path)
    await syncFolder(dirname(path))
  }

  return {
    list: (prefix) => list(prefix).catch(explain),
    put(name, bytes) {
      assertRoom(folder)
      return put(name, bytes).catch(explain)
    },
    get: (name) => readFile(join(folder, name)).catch(explain),
    remove: (name) => rm(join(folder, name), { force: true }).catch(explain),
  }
}

/** Makes new names survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

/** Generous: no request waits for a backup, and a block may take long on a slow connection. */
const retries = { tries: 5, waitMs: 500, limitMs: 600_000 }

function createBucketStore(place: BucketPlace): BackupStore {
  const store = createObjectStore(place, { reads: retries, writes: retries })
  const explain = (cause: unknown): never => {
    if (!isFault(cause, 'object_missing', 'object_unreachable')) throw cause
    throw new Fault(cause.message, { kind: 'backup', cause })
  }
  return {
    list: (prefix) => store.list(prefix).catch(explain),
    put: (name, bytes) => store.write(name, bytes).catch(explain),
    get: (name) => store.get(name).catch(explain),
    remove: (name) => store.remove(name).catch(explain),
  }
}
