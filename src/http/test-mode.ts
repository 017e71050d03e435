/** What test mode is to whoever asks: a header of its answers, and faults that are asked for. */
import { AppError } from '#src/domain/errors.ts'

import { isPreflight } from './common-headers.ts'
import type { Arrival, PeerSource } from './gate.ts'

/** On every answer to a key of test mode, and on no other. */
export const MODE_HEADER = 'Bookfeed-Mode'
/** Of requests with such a key; of all others it is not read. */
export const FAULT_HEADER = 'Bookfeed-Fault'

export const testFaults = ['rate_limited', 'stale', 'gap', 'slow', 'payment_pending'] as const
export type TestFault = (typeof testFaults)[number]

/** Of the fault `rate_limited`: shorter than a window, so that tests of retries end soon. */
export const FAULT_RETRY_SECONDS = 1

/** Answers keys of test mode. */
export type TestMode = {
  /** Throws `unavailable` while its data are being made. */
  fetch(request: Request, peers?: PeerSource): Response | Promise<Response>
}

/** The fault that is asked for; undefined for none, and for one that there is not. */
export function faultOf({ headers }: Request): TestFault | undefined {
  const sent = headers.get(FAULT_HEADER)
  return testFaults.find((fault) => fault === sent)
}

/** Why a request is refused before anything else, if it is: as it asks for, or by mistake. */
export function faultRefusal({ request, allowance }: Arrival): AppError | undefined {
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

/** Says that an answer is one of test mode, to pages of other origins too. */
export function markAsTest(response: Response): Response {
  const { headers } = response
  headers.set(MODE_HEADER, 'test')
  const exposed = headers.get('Access-Control-Expose-Headers')
  if (exposed !== null) headers.set('Access-Control-Expose-Headers', `${exposed}, ${MODE_HEADER}`)
  return response
}
