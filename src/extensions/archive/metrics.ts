/** The metrics of the bucket for `/metrics`, besides the requests that serving threads count. */
import { printFamily } from '#src/platform/exposition.ts'
import type { MetricsSource } from '#src/server/extension.ts'

import { openArchive } from './range-reader.ts'

/** The lifetime of a cached result: each look is a paid request. */
const LOOK_MS = 60_000

export function createBucketMetrics(place: string): MetricsSource {
  const store = openArchive(place)
  let lookedMs = Number.NEGATIVE_INFINITY
  let answer: Promise<boolean> = Promise.resolve(false)

  function isUp(): Promise<boolean> {
    if (performance.now() - lookedMs < LOOK_MS) return answer
    lookedMs = performance.now()
    answer = store.probe().then(
      () => true,
      () => {
        lookedMs = Number.NEGATIVE_INFINITY
        return false
      },
    )
    return answer
  }

  return {
    print: async () =>
      printFamily({
        name: 'bookfeed_bucket_up',
        type: 'gauge',
        help: '1 if the bucket of BOOKFEED_ARCHIVE answered within the last minute, otherwise 0.',
        samples: [[{}, Number(await isUp())]],
      }),
    dispose() {},
  }
}
