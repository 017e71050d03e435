/** Puts objects into an archive, for a test that stands still until they are there. */

import { openArchive } from '#src/extensions/archive/range-reader.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

const PUT_MS_MAX = 60_000

type Put = { name: string; bytes: Uint8Array }

export function createBlockingPut(place: string) {
  const thread = putWorker.startBlocking(place)
  return {
    /** Returns its SHA-256. */
    put: (name: string, bytes: Uint8Array) => thread.ask<string>({ name, bytes }, PUT_MS_MAX),
    close: thread.close,
  }
}

const putWorker = defineWorker(
  { name: 'put', purpose: 'puts objects', file: import.meta.filename },
  (place: string, parent: Parent<never, Put>) => {
    const store = openArchive(place)
    return parent.receive(({ name, bytes }) => store.put(name, bytes).catch(String))
  },
)
