/** A folder, or a bucket of an S3-compatible service. */
import { createFolderStore } from './folder-store.ts'
import { createS3Store } from './s3-store.ts'
import type { BackupStore } from './store.ts'

const bucket = /^s3:\/\/([^/]+)\/?(.*?)\/*$/

/** `place` is a folder or `s3://bucket/prefix`; `assertRoom` is called before a folder grows. */
export function openStore(place: string, assertRoom: (folder: string) => void): BackupStore {
  const [, name, prefix = ''] = bucket.exec(place) ?? []
  if (name === undefined) return createFolderStore(place, () => assertRoom(place))
  return createS3Store(name, prefix === '' ? '' : `${prefix}/`)
}
