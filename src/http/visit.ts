/**
 * What is known of a request before its route reads it: where it came from and what it addresses,
 * who sends it, and what the route needs of them. The front door binds it to the request.
 */

import type { AppError } from '#src/domain/errors.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Caller, RateState } from '#src/domain/selling/caller.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'

import type { PageAnswer } from './answer.ts'

export type Visit = {
  /** Undefined without a valid key. */
  caller: Caller | undefined
  /** The caller asks for the sample instead of sending a key. */
  guest?: Caller | undefined
  /** Of a request without a valid key: where it came from; of IPv6 the network. */
  address?: string | undefined
  rate: RateState
  /** True if the request took one from its window. */
  isCounted: boolean
  /** What a caller without a key, or with the key of a pack, requests, where it can pay for it. */
  asked?: Unpaid
  /** True of HEAD, which is answered as GET and then loses its body. */
  isHead?: boolean
  /**
   * Set while a request is rehearsed before it is paid for: whom the answer would be for. The route
   * reads and refuses the request as ever, and makes no answer.
   */
  rehearsedFor?: Caller | undefined
  /**
   * Whether the payment that came with the request stays usable if the request fails; undefined
   * before it is looked at, when it does.
   */
  keepsPayment?: boolean
  /** Called once the body has ended: with true if the whole body was handed to the connection. */
  onSent?: (isWhole: boolean) => void
  /** The header PAYMENT-RESPONSE of what was paid for here. */
  receipt?: string
  /** On the monotonic clock: what was left of the window then is less now. */
  enteredMs: number
  refusal: AppError | undefined
  peers?: PeerSource | undefined
  /** What the route needs of the caller, and the caller that has it, where it needs one. */
  admission?: Admission
  admitted?: Caller | undefined
  /** What the path names. */
  coin?: Coin
  market?: Market
  /** The query and the body, as the route reads them. */
  query?: unknown
  json?: unknown
  reading?: Promise<unknown>
  target?: RequestTarget
  /** Names the request in lines of the log; the front door sets it. */
  requestId?: string
  /** True of long work, for which there must be room before it is begun. */
  isLong?: boolean | undefined
  /** What usage is counted under; the route names it. */
  route: string
  /** What its time is counted under. */
  timedAs?: string | undefined
  /** True of a body that all answers share, or that is on the disk: it takes no memory. */
  isShared?: boolean
  /** Set when the body is made while it is sent. */
  body?: SentBody
  /** True once bytes of the body were counted while it was sent. */
  isCountedAsSent?: boolean
  /** Keeps the connection for so many idle seconds: the answer takes that long at most. */
  keepOpen?: (seconds: number) => void
}

export type SentBody = {
  /** Resolves when it has ended. */
  ended: Promise<{ bytes: number; error?: unknown }>
  /** Called with the length of each piece that is sent; to be set before the first. */
  onPiece: (bytes: number) => void
}

/** Where a request came from, and how long it may stay idle; Bun's server is one. */
export type PeerSource = {
  requestIP(request: Request): { address: string } | null
  timeout?(request: Request, seconds: number): void
  /**
   * Given where the answer reaches its connection by other means: takes `Visit.onSent`, to be
   * called from there.
   */
  deliver?(onSent: (isWhole: boolean) => void): void
  /** Makes a WebSocket of the connection; false where it was not asked for properly. */
  upgrade?(request: Request, options: { data: unknown; headers?: Bun.HeadersInit }): boolean
}

/** `isSold`: true of an answer that may be paid for by itself. */
export type Unpaid = { access: 'key' | TierRoute; coin: string | undefined; isSold: boolean }

/** The rate window that a request is taken from; nothing outside of `/v1` takes from any. */
export type Allowance = 'none' | 'data' | 'billing'

export type Arrival = { request: Request; allowance: Allowance; peers: PeerSource | undefined }

/** What a route is asked. */
export type Arrived = { request: Request; target: RequestTarget; visit: Visit }

/**
 * `none` and, for the operator alone, `operator` outside of `/v1`, where nothing is counted; else
 * `open` to everybody, also for a `signup`, which the address is charged for; to every valid `key`;
 * or to tiers that include a route of this name.
 */
export type Access = 'none' | 'operator' | 'open' | 'signup' | 'key' | TierRoute

/** What a route needs of a caller. What the path names is not known to exist yet. */
export type Admission = {
  access: Exclude<Access, 'none'>
  coin: string | undefined
  conditionId: string | undefined
  /** Whether the answer is of the caller's own coins. */
  isOfOwnCoins?: boolean | undefined
  isSold?: boolean | undefined
}

/** What follows from the address of a request alone. */
export type RequestTarget = {
  url: string
  /** As sent. */
  pathAndQuery: string
  /** Still percent-encoded. */
  path: string
  isAbsolute: boolean
  /** The percent-encoding of its path is malformed. */
  isMalformed: boolean
  allowance: Allowance
  /** True of what is answered in overload, too: billing, health, the operator. */
  isUrgent: boolean
  /** True where no page of another origin may read: in the areas of the operator. */
  isPrivate: boolean
  /** Of a page that is asked for again: without coding, and in gzip. */
  answers?: { [coding in 'plain' | 'gzip']?: KeptAnswer }
}

type KeptAnswer = {
  market: Market
  answer: PageAnswer
  admission: Admission
  timedAs: string | undefined
  isLong: boolean | undefined
}

const VISIT = Symbol('visit')
type Visited = Request & { [VISIT]?: Visit }

/** On the request itself, which costs a tenth of a microsecond less than a `WeakMap`. */
export function bindVisit(request: Visited, visit: Visit): void {
  request[VISIT] = visit
}

export function visitOf(request: Visited): Visit {
  const visit = request[VISIT]
  if (!visit) throw new Error('The request did not come through the front door.')
  return visit
}
