/** Threads that answer requests for data beside the first, one for each core. */
import { settingsOf } from '#src/config/config.ts'
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

export const threads: Extension = {
  name: 'threads',
  variables,
  workers: { serve: async (context) => (await import('./serve-thread.ts')).serveWorker(context) },
  load: async () => ({
    async openThreads(context) {
      if (settingsOf(context.config(), variables).workers === 0) return undefined
      const { openThreads } = await import('./threads.ts')
      return openThreads(context)
    },
  }),
}
