/** Limits in a Redis: several servers count the requests of keys and addresses together. */
import { settingsOf } from '#src/config/config.ts'
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

export const redisLimits: Extension = {
  name: 'redis-limits',
  variables,
  checks: { limits: async ({ config }) => (await import('./check.ts')).checkLimits(config()) },
  /** A recorder counts no requests. */
  metrics: async ({ config }, purpose) =>
    purpose === 'record' || settingsOf(config(), variables).limits === ''
      ? undefined
      : (await import('./metrics.ts')).redisMetrics,
  load: async () => ({
    async shareWindows(config, options) {
      const { limits: url } = settingsOf(config, variables)
      if (url === '') return undefined
      const { shareWindows } = await import('./shared-windows.ts')
      return shareWindows({ url, ...options })
    },
  }),
}
