/** Day files: Parquet files of days that are final, made once and served as they are. */
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

export const dayFiles: Extension = {
  name: 'day-files',
  variables,
  commands: {
    files: {
      group: 'Markets and books',
      load: async () => (await import('./command.ts')).filesCommand,
    },
  },
  checks: { files: async ({ config }) => (await import('./check.ts')).checkFiles(config()) },
  listFaults: async (dataPath) => {
    const { verifyDayFiles } = await import('./verify.ts')
    return verifyDayFiles(await storeIn(dataPath))
  },
  listFiles: async (dataPath) => (await storeIn(dataPath)).digestsOf,
  load: async () => (await import('./server.ts')).createDayFiles(),
}

async function storeIn(dataPath: string) {
  const { createFileStore, filesPathOf } = await import('./store.ts')
  return createFileStore(filesPathOf(dataPath))
}
