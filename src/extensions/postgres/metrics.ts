/** Metrics of the PostgreSQL of each store. */

import type { StoreName } from '#src/database/stores.ts'
import { printAnswerTimes } from '#src/platform/answer-times.ts'
import { printFamily } from '#src/platform/exposition.ts'
import type { MetricsSource } from '#src/server/extension.ts'

import { answerTimes, operations } from './answer-times.ts'
import { watchStates } from './state-worker.ts'
import type { PostgresState, Standby } from './state.ts'

const MS = 1000

export type StorePlace = { store: StoreName; place: string }

export function createPostgresMetrics(places: readonly StorePlace[]): MetricsSource {
  const states = watchStates(places)
  return {
    async print() {
      const looks = places.map(async ({ store }) => ({ store, state: await states.look(store) }))
      return printStates(await Promise.all(looks))
    },
    dispose: states.close,
  }
}

type Look = { store: StoreName; state: PostgresState | undefined }

function printStates(looks: readonly Look[]): string[] {
  const gauge = (
    name: string,
    help: string,
    read: (state: PostgresState) => boolean | number | undefined,
  ) =>
    printFamily({
      name: `bookfeed_postgres_${name}`,
      help,
      type: 'gauge',
      samples: looks.map(({ store, state }) => {
        const value = state && read(state)
        return [{ store }, value === undefined ? undefined : Number(value)]
      }),
    })
  const lag = (name: string, help: string, lagOf: (standby: Standby) => number) =>
    printFamily({
      name: `bookfeed_postgres_standby_lag_${name}`,
      help,
      type: 'gauge',
      samples: looks.flatMap(({ store, state }) =>
        (state?.standbyList ?? []).map(
          (standby) => [{ store, standby: standby.name }, lagOf(standby)] as const,
        ),
      ),
    })
  return [
    ...printFamily({
      name: 'bookfeed_postgres_up',
      type: 'gauge',
      help: '1 if the database of a store responds, otherwise 0.',
      samples: looks.map(({ store, state }) => [{ store }, state === undefined ? 0 : 1]),
    }),
    ...gauge(
      'writable',
      '1 if the database accepts writes; 0 for a standby that was not promoted.',
      ({ isWritable }) => isWritable,
    ),
    ...gauge('has_room', '1 if the database can write 16 MiB.', ({ hasRoom }) => hasRoom),
    ...gauge('size_bytes', 'Size of the database.', ({ databaseBytes }) => databaseBytes),
    ...gauge(
      'connections',
      'Connections in use, of all clients.',
      ({ connections }) => connections,
    ),
    ...gauge(
      'connections_max',
      'Maximum number of client connections.',
      ({ connectionsMax }) => connectionsMax,
    ),
    ...gauge(
      'standbys_required',
      'Number of standbys that each commit waits for.',
      ({ standbysRequired }) => standbysRequired,
    ),
    ...gauge('standbys', 'Number of connected standbys.', ({ standbys }) => standbys),
    ...gauge(
      'standbys_synchronous',
      'Number of connected standbys that confirm commits.',
      ({ standbyList }) => standbyList?.filter(({ isSynchronous }) => isSynchronous).length,
    ),
    ...lag('bytes', 'Bytes written but not confirmed by a standby.', ({ lagBytes }) => lagBytes),
    ...lag(
      'seconds',
      'Time for which a standby has not confirmed them.',
      ({ lagMs }) => lagMs / MS,
    ),
    ...printAnswerTimes({
      name: 'bookfeed_postgres_request',
      durationHelp: 'Response time of the database; a commit includes the wait for standbys.',
      failuresHelp: 'Requests to the database that got no response.',
      samples: looks.flatMap(({ store }) =>
        operations.map(
          (operation) => [{ store, operation }, answerTimes[store][operation]] as const,
        ),
      ),
    }),
  ]
}
