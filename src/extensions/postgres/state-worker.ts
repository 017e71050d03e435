/**
 * Checks the databases on a separate thread: the first thread may wait seconds for a standby, and
 * would mistake its own silence for that of the database.
 */

import type { StoreName } from '#src/database/stores.ts'
import { defineWorker, type Parent, type Thread } from '#src/platform/worker.ts'

import { answerTimes, memoryOf, openTimes, type TimesMemory } from './answer-times.ts'
import { openState, type PostgresState } from './state.ts'

type WatchedStore = { store: StoreName; place: string; times: TimesMemory }

/** The state of each store; undefined if its database does not answer. */
export function watchStates(places: readonly { store: StoreName; place: string }[]) {
  let thread: Thread<never, StoreName> | undefined

  return {
    async look(store: StoreName): Promise<PostgresState | undefined> {
      if (thread === undefined || thread.hasEnded())
        thread = stateWorker.start(
          places.map((each) => ({ ...each, times: memoryOf(answerTimes[each.store]) })),
        )
      return thread.ask<PostgresState | undefined>(store).catch(() => undefined)
    },

    close: (): void => void thread?.terminate(),
  }
}

function watch(stores: readonly WatchedStore[], parent: Parent<never, StoreName>): Promise<never> {
  const states = new Map(
    stores.map(({ store, place, times }) => [
      store,
      openState(place, store, openTimes(times).read),
    ]),
  )
  return parent.receive((store) => states.get(store)?.look())
}

const stateWorker = defineWorker(
  { name: 'postgres-state', purpose: 'looks at PostgreSQL', file: import.meta.filename },
  watch,
)
