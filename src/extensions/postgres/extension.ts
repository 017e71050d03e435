/** PostgreSQL: books, accounts and payments in a database that several servers share. */
import { settingsOf } from '#src/config/config.ts'
import { storeNames } from '#src/database/stores.ts'
import type { Extension } from '#src/server/extension.ts'

import { isPostgres } from './address.ts'
import { variables } from './variables.ts'

export const postgres: Extension = {
  name: 'postgres',
  variables,
  commands: {
    copy: {
      group: 'Copies of the data',
      load: async () => (await import('./command.ts')).copyCommand,
      upgradesNothing: () => true,
    },
    migrate: {
      group: 'Copies of the data',
      load: async () => (await import('./migrate-command.ts')).migrateCommand,
      upgradesNothing: () => true,
    },
  },
  examples: {
    'bookfeed copy --to postgres://db/books': 'copy all data to PostgreSQL',
  },
  workers: {
    copy: () => import('./copy-worker.ts'),
    postgres: () => import('./bridge.ts'),
    'postgres-state': () => import('./state-worker.ts'),
    replica: () => import('./replica-worker.ts'),
  },
  stores: {
    engine: {
      isAddress: isPostgres,
      load: async () => (await import('./engine.ts')).postgresEngine,
    },
  },
  places: (config) => settingsOf(config, variables),
  checks: { postgres: async (context) => (await import('./check.ts')).checkPostgres(context) },
  async metrics({ config }, purpose) {
    const settings = settingsOf(config(), variables)
    // A recorder has no accounts.
    const stores = purpose === 'record' ? (['history'] as const) : storeNames
    const places = stores
      .map((store) => ({ store, place: settings[store] }))
      .filter(({ place }) => place !== '')
    if (places.length === 0) return undefined
    return (await import('./metrics.ts')).createPostgresMetrics(places)
  },
}
