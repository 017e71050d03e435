/** PostgreSQL: books, accounts and payments in a database that is shared by several servers. */
import { type Config, settingsOf } from '#src/config/config.ts'
import { type StoreName, storeNames } from '#src/database/stores.ts'
import type { Extension } from '#src/server/extension.ts'

import { variables } from './variables.ts'

/** The stores that are in a database, and where. */
const placesIn = (config: Config, stores: readonly StoreName[]) => {
  const settings = settingsOf(config, variables)
  return stores
    .map((store) => ({ store, place: settings[store] }))
    .filter(({ place }) => place !== '')
}

export const postgres: Extension = {
  name: 'postgres',
  variables,
  commands: {
    copy: {
      group: 'Copies of the data',
      load: async () => (await import('./command.ts')).copyCommand,
      upgradesNothing: () => true,
    },
  },
  examples: {
    'bookfeed copy --to postgres://db/books': 'copy all data to PostgreSQL',
  },
  workers: {
    'postgres-state': () => import('./state-worker.ts'),
    replica: () => import('./replica-worker.ts'),
  },
  stores: {
    engine: async () => (await import('./engine.ts')).postgresEngine,
  },
  places: (config) => settingsOf(config, variables),
  async watchClock(context) {
    const [used] = placesIn(context.config(), storeNames)
    return used && (await import('./clock-watch.ts')).watchClock(context, used)
  },
  checks: { postgres: async (context) => (await import('./check.ts')).checkPostgres(context) },
  async metrics({ config }, purpose) {
    // A recorder has no accounts.
    const places = placesIn(config(), purpose === 'record' ? ['history'] : storeNames)
    if (places.length === 0) return undefined
    return (await import('./metrics.ts')).createPostgresMetrics(places)
  },
}
