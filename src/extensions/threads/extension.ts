/** Threads that answer requests for data beside the first, one for each core. */
import { settingsOf } from '#src/config/config.ts'
import { isAddress } from '#src/database/stores.ts'
import type { Extension } from '#src/server/extension.ts'
import { historyOf, ledgerOf } from '#src/server/open-data-folder.ts'

import { variables } from './variables.ts'

export const threads: Extension = {
  name: 'threads',
  variables,
  workers: { serve: async (context) => (await import('./serve-thread.ts')).serveWorker(context) },
  load: async () => ({
    async openThreads(context) {
      const isShared = [historyOf(context), ledgerOf(context)].some(isAddress)
      // A thread that serves does not wait for another machine, and the first one does.
      if (settingsOf(context.config(), variables).workers === 0 && !isShared) return undefined
      const { openThreads } = await import('./threads.ts')
      return openThreads(context)
    },
  }),
}
