/** Trust: what changed after it was served, manifests that are chained and signed, and citations. */
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
  load: async () => (await import('./server.ts')).trustServer,
}
