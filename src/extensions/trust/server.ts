/** The server extension of trust. */
import type { ManifestBody } from '#src/domain/manifest.ts'
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
  async makeDays(history, { nowMs, listFiles }) {
    for await (const _ of makeManifests(history, nowMs, listFiles));
  },
  findExamples({ history: { manifests } }) {
    const newest = manifests.newest()
    const found = newest && manifests.ofDay(newest.day)
    const { series = [] } = found ? (JSON.parse(found.body) as ManifestBody) : {}
    return {
      dayOf(coin) {
        if (newest === undefined) return {}
        const { day } = newest
        const cited = series.find((each) => each.coin === coin) ?? series[0]
        if (cited === undefined) return { day }
        const citation = `bookfeed:${cited.coin}/${cited.timeframe}/${day}@r${cited.revision}`
        return { day, citation }
      },
    }
  },
}
