/** The faults that requests to the test server may ask for, and the mark of its responses. */

import { AppError } from '#src/domain/errors.ts'
import type { Arrival } from '#src/http/call.ts'
import { isPreflight } from '#src/http/promises.ts'

/** A header of every response to a test key, and of no other. */
const MODE_HEADER = 'Bookfeed-Mode'
/** The header that requests a fault; ignored without a test key. */
const FAULT_HEADER = 'Bookfeed-Fault'

const testFaults = ['rate_limited', 'stale', 'gap', 'slow', 'payment_pending'] as const
export type TestFault = (typeof testFaults)[number]

/** The delay of the fault `slow`; no client gives up earlier. */
export const SLOW_MS = 3_000

/** The wait of the fault `rate_limited`; shorter than a window, so that tests end soon. */
const FAULT_RETRY_SECONDS = 1

/** The fault that a request asks for; undefined for none or an unknown one. */
export function faultOf({ headers }: Request): TestFault | undefined {
  const sent = headers.get(FAULT_HEADER)
  return testFaults.find((fault) => fault === sent)
}

/** Refuses a request that asks for `rate_limited` or for an unknown fault. */
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

/** Marks a response of the test server; pages of other origins may read the mark. */
export function markAsTest(response: Response): Response {
  const { headers } = response
  headers.set(MODE_HEADER, 'test')
  const exposed = headers.get('Access-Control-Expose-Headers')
  if (exposed !== null) headers.set('Access-Control-Expose-Headers', `${exposed}, ${MODE_HEADER}`)
  return response
}
