/** Trust: changes of served data, chained and signed manifests, and citations. */
import type { Extension } from '#src/server/extension.ts'

export const trust: Extension = {
  name: 'trust',
  commands: {
    verify: {
      group: 'Markets and books',
      load: async () => (await import('./verify.ts')).verifyCommand,
      upgradesNothing: ({ manifest }) => manifest !== undefined,
    },
    cite: {
      group: 'Markets and books',
      load: async () => (await import('./cite.ts')).citeCommand,
      upgradesNothing: () => true,
    },
  },
  examples: {
    'bookfeed verify --manifest https://…': 'check a server by its manifests',
  },
  workers: {
    manifests: async (context) => (await import('./manifest-worker.ts')).manifestWorker(context),
  },
  async tasks() {
    const [{ citeTask, manifestsTask }, { revisionsTask }] = await Promise.all([
      import('./manifests.ts'),
      import('./routes.ts'),
    ])
    return [citeTask, manifestsTask, revisionsTask]
  },
  load: async () => (await import('./server.ts')).trustServer,
}
