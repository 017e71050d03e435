/** The archive: books of old markets in a bucket, from which they are served. */
import { join } from 'node:path'

import { settingsOf } from '#src/config/config.ts'
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

export const archive: Extension = {
  name: 'archive',
  variables,
  commands: {
    archive: {
      group: 'Markets and books',
      load: async () => (await import('./command.ts')).archiveCommand,
    },
  },
  workers: { archive: () => import('./range-reader.ts') },
  stores: {
    objects: {
      isArchive: (place) => place.startsWith('s3://'),
      load: async () => (await import('./range-reader.ts')).createRangeReader,
    },
  },
  historyOptions(config) {
    const { archive: place, archiveCacheBytes: bytesMax } = settingsOf(config, variables)
    const path = join(config.dataPath, 'chunks.db')
    return { isArchiving: place !== '', chunkCache: { path, bytesMax } }
  },
  checks: { archive: async ({ config }) => (await import('./check.ts')).checkArchive(config()) },
  /** A recorder reads nothing of the archive. */
  async metrics({ config }, purpose) {
    const { archive: place } = settingsOf(config(), variables)
    if (place === '' || purpose === 'record') return undefined
    return (await import('./metrics.ts')).createBucketMetrics(place)
  },
  load: async () => (await import('./server.ts')).archiveServer,
}
