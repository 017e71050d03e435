/**
 * Exports into files, for Node, Bun and Deno.
 * @module
 */
import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'

import type { Bookfeed } from './client.ts'
import { BookfeedError } from './errors.ts'
import { backoffMs, sleep } from './request.ts'

type Query<N> = Parameters<Bookfeed<N>['export']>[0]
export type Saved = {
  exportId: string
  bytes: number
  snapshots: number
  /** Of the file, and of what the server sent: they are the same. */
  sha256: string
}

const ATTEMPTS = 4

/**
 * Downloads an export into a file, which is there only once it is whole and its SHA-256 is that of
 * what was sent. One that is cut off, or differs (`digest_mismatch`), is begun again, four times at
 * most.
 */
export async function saveExport<N>(
  bookfeed: Bookfeed<N>,
  query: Query<N>,
  path: string,
): Promise<Saved> {
  const part = `${path}.part`
  for (let failures = 0; ;) {
    try {
      const saved = await download(bookfeed, query, part)
      await rename(part, path)
      return saved
    } catch (error) {
      await rm(part, { force: true })
      query.signal?.throwIfAborted()
      const isKnown = error instanceof BookfeedError && error.code !== 'digest_mismatch'
      // Of the disk: waiting mends nothing.
      const isOfDisk = error instanceof Error && 'syscall' in error && 'path' in error
      if (isKnown || isOfDisk || ++failures >= ATTEMPTS) throw error
      await sleep(backoffMs(failures), query.signal)
    }
  }
}

async function download<N>(bookfeed: Bookfeed<N>, query: Query<N>, path: string): Promise<Saved> {
  const { exportId, body } = await bookfeed.export(query)
  const digest = createHash('sha256')
  const file = await open(path, 'w')
  try {
    const reader = body.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      digest.update(next.value)
      await file.write(next.value)
    }
  } finally {
    await file.close()
  }
  const sha256 = digest.digest('hex')
  const sent = await bookfeed.findExport(exportId)
  if (sent?.sha256 === sha256)
    return { exportId, sha256, bytes: sent.bytes, snapshots: sent.snapshots }
  throw new BookfeedError('digest_mismatch', `${path} is not what the server sent.`)
}
