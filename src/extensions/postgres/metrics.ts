/** What `/metrics` has of the PostgreSQL of each store. */

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
      help: 'Whether the database of a store answers.',
      samples: looks.map(({ store, state }) => [{ store }, state === undefined ? 0 : 1]),
    }),
    ...gauge(
      'writable',
      'Whether it takes writes; 0 for a standby that was not promoted.',
      ({ isWritable }) => isWritable,
    ),
    ...gauge('has_room', 'Whether it can write 16 MiB.', ({ hasRoom }) => hasRoom),
    ...gauge('size_bytes', 'Size of the database.', ({ databaseBytes }) => databaseBytes),
    ...gauge('connections', 'Connections of all its clients.', ({ connections }) => connections),
    ...gauge(
      'connections_max',
      'Connections that clients may have.',
      ({ connectionsMax }) => connectionsMax,
    ),
    ...gauge(
      'standbys_required',
      'Standbys that each commit waits for.',
      ({ standbysRequired }) => standbysRequired,
    ),
    ...gauge('standbys', 'Standbys that are connected.', ({ standbys }) => standbys),
    ...gauge(
      'standbys_synchronous',
      'Standbys that are connected and confirm commits.',
      ({ standbyList }) => standbyList?.filter(({ isSynchronous }) => isSynchronous).length,
    ),
    ...lag(
      'bytes',
      'What was written and a standby has not confirmed.',
      ({ lagBytes }) => lagBytes,
    ),
    ...lag('seconds', 'For how long it has not.', ({ lagMs }) => lagMs / MS),
    ...printAnswerTimes({
      name: 'bookfeed_postgres_request',
      durationHelp: 'Time until the database answers; a commit waits for standbys.',
      failuresHelp: 'Requests to the database without an answer.',
      samples: looks.flatMap(({ store }) =>
        operations.map(
          (operation) => [{ store, operation }, answerTimes[store][operation]] as const,
        ),
      ),
    }),
  ]
}
