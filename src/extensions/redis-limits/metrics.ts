/** What `/metrics` has of the Redis in which servers count together. */
import { answerBoundsSeconds } from '#src/platform/answer-times.ts'
import { printFamily, printHistogram } from '#src/platform/exposition.ts'
import type { MetricsSource } from '#src/server/extension.ts'

import { answers } from './link.ts'

/** Of the first thread, which asks ten times a second at least. */
export const redisMetrics: MetricsSource = {
  async print() {
    const { isUp, times } = answers
    const { failures, ...series } = times.read()
    return [
      ...printFamily({
        name: 'bookfeed_redis_up',
        type: 'gauge',
        help: 'Whether the Redis of BOOKFEED_LIMITS answers.',
        samples: [[{}, Number(isUp)]],
      }),
      ...printHistogram({
        name: 'bookfeed_redis_request_duration_seconds',
        help: 'Time until Redis answers the first thread.',
        bounds: answerBoundsSeconds,
        series: [{ labels: {}, ...series }],
      }),
      ...printFamily({
        name: 'bookfeed_redis_request_failures_total',
        type: 'counter',
        help: 'Requests of the first thread to Redis without an answer.',
        samples: [[{}, failures]],
      }),
    ]
  },
  dispose() {},
}
