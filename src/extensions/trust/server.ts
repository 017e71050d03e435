/** What trust adds to a server. */
import { createFileStore, filesPathOf } from '#src/files/store.ts'
import type { ServerExtension } from '#src/server/extension.ts'

import { makeManifests } from './day-manifest.ts'
import { startManifests } from './manifest-worker.ts'
import { trustRoutes } from './routes.ts'

export const trustServer: ServerExtension = {
  dataRoutes: trustRoutes,
  jobs: [
    {
      name: 'manifests',
      about: 'Signs the digests of days that are over, every hour.',
      start: startManifests,
    },
  ],
  makeDays(history, { dataPath, nowMs }) {
    const { digestsOf } = createFileStore(filesPathOf(dataPath))
    for (const _ of makeManifests(history, nowMs, digestsOf));
  },
}
