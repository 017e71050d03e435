/** What `/metrics` has of the bucket, besides the requests that serving threads count. */
import { printFamily } from '#src/platform/exposition.ts'
import type { MetricsSource } from '#src/server/extension.ts'

import { openArchive } from './range-reader.ts'

/** How long an answer holds: each look is a request that is paid for. */
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
        help: 'Whether the bucket of BOOKFEED_ARCHIVE answers, within the last minute.',
        samples: [[{}, Number(await isUp())]],
      }),
    dispose() {},
  }
}
