/** What `/metrics` has of the Redis in which servers count together. */
import { printAnswerTimes } from '#src/platform/answer-times.ts'
import { printFamily } from '#src/platform/exposition.ts'
import type { MetricsSource } from '#src/server/extension.ts'

import { answers } from './link.ts'

/** Of the first thread, which asks ten times a second at least. */
export const redisMetrics: MetricsSource = {
  async print() {
    const { isUp, times } = answers
    return [
      ...printFamily({
        name: 'bookfeed_redis_up',
        type: 'gauge',
        help: 'Whether the Redis of BOOKFEED_LIMITS answers.',
        samples: [[{}, Number(isUp)]],
      }),
      ...printAnswerTimes({
        name: 'bookfeed_redis_request',
        durationHelp: 'Time until Redis answers the first thread.',
        failuresHelp: 'Requests of the first thread to Redis without an answer.',
        samples: [[{}, times]],
      }),
    ]
  },
  dispose() {},
}
