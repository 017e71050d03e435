/** Backups as objects of a bucket. */

import { createObjectStore, type Patience } from '#src/archive/object-store.ts'
import type { BucketPlace } from '#src/platform/bucket-place.ts'
import { Fault, isFault } from '#src/platform/fault.ts'

import type { BackupStore } from './store.ts'

/** Nobody waits for a backup, and a block may take long on a slow line. */
const patience: Patience = { tries: 5, waitMs: 500, limitMs: 600_000 }

export function createS3Store(place: BucketPlace): BackupStore {
  const { list, write, get, remove } = createObjectStore(place, {
    reads: patience,
    writes: patience,
  })
  return {
    list: (prefix) => list(prefix).catch(explain),
    put: (name, bytes) => write(name, bytes).catch(explain),
    get: (name) => get(name).catch(explain),
    remove: (name) => remove(name).catch(explain),
  }
}

function explain(cause: unknown): never {
  if (!isFault(cause, 'object_missing', 'object_unreachable')) throw cause
  throw new Fault(cause.message, { kind: 'backup', cause })
}
