/**
 * What is before every route: who asks, how much they may still ask, and what was used. The front
 * door calls it around each request; routes ask it about the caller.
 */
import type { AppError } from '#src/core/errors.ts'
import type { Caller, RateState } from '#src/selling/caller.ts'

/** One request on its way through. */
export type Visit = {
  /** Undefined without a valid key. */
  caller: Caller | undefined
  /** The window that the headers report. */
  rate: RateState
  /** True if the request took one from its window. */
  isCounted: boolean
  /** On the monotonic clock: what was left of the window then is less now. */
  enteredMs: number
  /** Set when the request must not reach a route. */
  refusal: AppError | undefined
  peers?: PeerSource | undefined
  /** What usage is counted under; the route names it. */
  route: string
  /** Set when the body is made while it is sent. */
  body?: SentBody
  /** True once bytes of the body were counted while it was sent. */
  isCountedAsSent?: boolean
  /** Keeps the connection for so many idle seconds: the answer takes that long at most. */
  keepOpen?: (seconds: number) => void
}

/** A body that is made while it is sent. */
export type SentBody = {
  /** Resolves when it has ended. */
  ended: Promise<{ bytes: number; error?: unknown }>
  /**
   * Called with the length of each piece when it is handed to the
   * connection; to be set before the first.
   */
  onPiece: (bytes: number) => void
}

/**
 * Reports the address that a request came from, and sets how long it may
 * stay idle; Bun's server is one.
 */
export type PeerSource = {
  requestIP(request: Request): { address: string } | null
  timeout?(request: Request, seconds: number): void
  /** Makes a WebSocket of the connection; false where it was not asked for properly. */
  upgrade?(request: Request, options: { data: unknown }): boolean
}

/** The rate window that a request is taken from; nothing outside of `/v1` takes from any. */
export type Allowance = 'none' | 'data' | 'billing'

export type Arrival = { request: Request; allowance: Allowance; peers: PeerSource | undefined }

export type Gate = {
  /** Finds the caller and takes from its window. Must not throw. */
  enter(arrival: Arrival): Visit
  /** Reports its window to the caller. `headers` are those of any response. Must not throw. */
  mark(visit: Visit, headers: Headers): void
  /** Counts a piece of a body that is being sent; the request with the first. Must not throw. */
  send(visit: Visit, bytes: number): void
  /**
   * Counts what was answered, once all of it was, unless it was counted
   * piece by piece. Must not throw.
   */
  leave(visit: Visit, bytes: number | undefined): void
}

/**
 * Takes one from the signups of the address that a request came from, with a key or without. Throws
 * `rate_limited`, and then the headers report that window.
 */
export type TakeSignup = (request: Request, visit: Visit) => void

const visits = new WeakMap<Request, Visit>()

/** Remembers the visit of a request for the plugins that run inside. */
export const bindVisit = (request: Request, visit: Visit): void => void visits.set(request, visit)

/** The visit of a request that came through the front door. */
export function visitOf(request: Request): Visit {
  const visit = visits.get(request)
  if (!visit) throw new Error('The request did not come through the front door.')
  return visit
}
