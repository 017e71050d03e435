/** Marks responses of the test server, and reads the faults that requests to it ask for. */

import { AppError } from '#src/domain/errors.ts'
import { isPreflight } from '#src/http/common-headers.ts'
import type { Arrival } from '#src/http/visit.ts'

/** On each response to a test key, and on no other. */
const MODE_HEADER = 'Bookfeed-Mode'
/** Requests a fault. Without a test key it is ignored. */
const FAULT_HEADER = 'Bookfeed-Fault'

const testFaults = ['rate_limited', 'stale', 'gap', 'slow', 'payment_pending'] as const
export type TestFault = (typeof testFaults)[number]

/** How late the answers of the fault `slow` are; well within the patience of any client. */
export const SLOW_MS = 3_000

/** Of the fault `rate_limited`: shorter than a window, so that tests of retries end soon. */
const FAULT_RETRY_SECONDS = 1

/** The fault that a request asks for; undefined for none, and for an unknown one. */
export function faultOf({ headers }: Request): TestFault | undefined {
  const sent = headers.get(FAULT_HEADER)
  return testFaults.find((fault) => fault === sent)
}

/** Refuses a request that asks for `rate_limited`, or for a fault that does not exist. */
export function refuseFaulty({ request, allowance }: Arrival): AppError | undefined {
  if (allowance === 'none' || isPreflight(request)) return undefined
  const fault = faultOf(request)
  if (fault === undefined && request.headers.has(FAULT_HEADER)) {
    const message = `\`${FAULT_HEADER}\` must be one of ${testFaults.join(', ')}.`
    return new AppError('invalid_parameter', message, { param: FAULT_HEADER })
  }
  if (fault !== 'rate_limited') return undefined
  const retryAfterSeconds = FAULT_RETRY_SECONDS
  const message = `The allowance is used up, because \`${FAULT_HEADER}\` asks for that. Wait ${retryAfterSeconds} s.`
  return new AppError('rate_limited', message, { retryAfterSeconds })
}

/** Marks a response as one of the test server, for pages of other origins too. */
export function markAsTest(response: Response): Response {
  const { headers } = response
  headers.set(MODE_HEADER, 'test')
  const exposed = headers.get('Access-Control-Expose-Headers')
  if (exposed !== null) headers.set('Access-Control-Expose-Headers', `${exposed}, ${MODE_HEADER}`)
  return response
}
