/** A folder, or a bucket of an S3-compatible service. */
import { parseBucketPlace } from '#src/platform/bucket-place.ts'

import { createFolderStore } from './folder-store.ts'
import { createS3Store } from './s3-store.ts'
import type { BackupStore } from './store.ts'

/** `place` is a folder or `s3://bucket/prefix`; `assertRoom` is called before a folder grows. */
export function openStore(place: string, assertRoom: (folder: string) => void): BackupStore {
  const bucket = parseBucketPlace(place)
  return bucket === undefined
    ? createFolderStore(place, () => assertRoom(place))
    : createS3Store(bucket)
}
