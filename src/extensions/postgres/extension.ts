/** PostgreSQL: books, accounts and payments in a database that several servers share. */
import { settingsOf } from '#src/config/config.ts'
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
    'bookfeed copy --to postgres://db/books': 'copy books and accounts to PostgreSQL',
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
    const { history, ledger } = settingsOf(config(), variables)
    const places = [
      ...(history === '' ? [] : [{ store: 'history', place: history } as const]),
      // A recorder has no accounts.
      ...(ledger === '' || purpose === 'record'
        ? []
        : [{ store: 'ledger', place: ledger } as const]),
    ]
    if (places.length === 0) return undefined
    return (await import('./metrics.ts')).createPostgresMetrics(places)
  },
}
