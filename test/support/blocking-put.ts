/** Puts objects into an archive, for a test that stands still until they are there. */
import { workerData } from 'node:worker_threads'

import { openArchive } from '#src/archive/range-reader.ts'
import { answerFor, type Line, openBlocking } from '#src/platform/blocking.ts'

const PUT_MS_MAX = 60_000

type Start = { putsInto: string; line: Line }
type Put = { name: string; bytes: Uint8Array }

export function createBlockingPut(place: string) {
  const thread = openBlocking<string>(import.meta.filename, { putsInto: place })
  return {
    /** Returns its SHA-256. */
    put: (name: string, bytes: Uint8Array) => thread.ask({ name, bytes } satisfies Put, PUT_MS_MAX),
    close: thread.close,
  }
}

function serve({ putsInto, line }: Start): void {
  const store = openArchive(putsInto)
  answerFor(line, (message) => {
    const { name, bytes } = message as Put
    return store.put(name, bytes).catch(String)
  })
}

if ((workerData as Start | null)?.putsInto !== undefined) serve(workerData as Start)
