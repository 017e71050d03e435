/**
 * A request as it arrived. The plugin `promises` makes its `Call` and binds it to the request; the
 * macro `access` binds the `Entry`, which is what the matched route admits and what its path names.
 * Both are read-only. `Ending` is bound to the response: it is read when the request ends.
 */

import type { AppError } from '#src/domain/errors.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import { type Caller, levelOf, type RateState } from '#src/domain/selling/caller.ts'
import type { TierRoute } from '#src/domain/selling/tier.ts'

import type { Allowance, RequestTarget } from './target.ts'

/** Where a request came from, and how long it may stay idle; Bun's server is one. */
export type PeerSource = {
  requestIP(request: Request): { address: string } | null
  timeout?(request: Request, seconds: number): void
  /**
   * Takes `Ending.onSent`, if the response reaches its connection by other means, to be called from
   * there.
   */
  deliver?(onSent: (isWhole: boolean) => void): void
  /** Makes a WebSocket of the connection; false if it was not asked for properly. */
  upgrade?(request: Request, options: { data: unknown; headers?: Bun.HeadersInit }): boolean
}

export type Arrival = { request: Request; allowance: Allowance; peers: PeerSource | undefined }

/** The sender of a request, and the state of the rate window that the request was taken from. */
export type Sender = Readonly<{
  /** Undefined without a valid key. */
  caller: Caller | undefined
  /** A caller that asks for the sample instead of sending a key. */
  guest?: Caller | undefined
  /** The network address of a request without a valid key; of IPv6 the network. */
  address?: string | undefined
  rate: RateState
  /** When `rate` was read, on the monotonic clock: less is left of the window later. */
  enteredMs: number
  /** True if the request was counted in its rate window. */
  isCounted: boolean
  refusal: AppError | undefined
}>

export type Call = Sender &
  Readonly<{
    /** Names the request in lines of the log. */
    requestId: string
    /** The trace that the request is part of. */
    traceparent: string | undefined
    target: RequestTarget
    startedMs: number
    peers: PeerSource | undefined
    /** True of a request that answers a part of another one, which is counted and logged for both. */
    isInner?: boolean
    /** True of the GET that answers a HEAD. */
    isHead?: boolean
    /** The buyer, while a request is rehearsed before it is paid for: its route sends nothing. */
    rehearsedFor?: Caller | undefined
    /** Results of long work by the name of its task, kept from the rehearsal for the response. */
    rehearsed?: Map<string, unknown>
    /** False if the payment that came with the request is used up even if the request fails. */
    keepsPayment?: boolean
    /** The header `PAYMENT-RESPONSE`, if the request was paid for. */
    receipt?: string
  }>

/** Members that become known later: the window that is charged, and the payment. */
type Amendment = Partial<
  Pick<Call, 'caller' | 'rate' | 'enteredMs' | 'keepsPayment' | 'receipt' | 'isCounted'>
>

/**
 * Who may call a route. Outside of `/v1`, where requests are not counted: anyone (`none`), or the
 * operator. In `/v1`: anyone (`open`), anyone and their address is charged (`signup`), every valid
 * `key`, or the tiers that include a route of this name.
 */
export type Access = 'none' | 'operator' | 'open' | 'signup' | 'key' | TierRoute

/** The rights that a route requires. The coin and the market of the path may not exist. */
export type Admission = {
  access: Exclude<Access, 'none'>
  coin: string | undefined
  conditionId: string | undefined
  /** True if the response is about the caller's own coins. */
  isOfOwnCoins?: boolean | undefined
  /** True if the response can be bought by itself. */
  isSold?: boolean | undefined
}

/**
 * How a response is cached. `digest`: data, whose `ETag` is its digest. `page`: a page of a market,
 * whose `ETag` is known before its rows are read. `tag`: the handler sets the `ETag` and answers 304
 * itself. `unkept`: data without an `ETag`. Any other value is the `Cache-Control` of a JSON body.
 */
export type Caching =
  'digest' | 'page' | 'tag' | 'unkept' | 'no-store' | 'no-cache' | 'private, no-store'

export type Entry = Readonly<{
  /** The route, such as `GET /v1/usage`. */
  route: string
  caching: Caching
  admission: Admission
  /** Undefined if the route is open. */
  caller: Caller | undefined
  coin: Coin | undefined
  market: Market | undefined
}>

/** A body that is made while it is sent. */
export type SentBody = {
  /** Resolves when it has ended. */
  ended: Promise<{ bytes: number; error?: unknown }>
  /** Called with the length of each piece that is sent; to be set before the first. */
  onPiece: (bytes: number) => void
}

export type Ending = {
  stream?: SentBody
  /** Called when the body has ended: with true if the connection took all of it. */
  onSent?: (isWhole: boolean) => void
  /** The text of a fault of the server, for the log. */
  fault?: string | undefined
  /** The route that answered, such as `GET /v1/usage`. */
  route?: string | undefined
}

const CALL = Symbol('call')
const ENTRY = Symbol('entry')
const PEERS = Symbol('peers')
const ENDING = Symbol('ending')

// A property of the object itself takes a tenth of a microsecond less than a `WeakMap`.
type Bound = Request & { [CALL]?: Call; [ENTRY]?: Entry; [PEERS]?: PeerSource | undefined }
type Ended = Response & { [ENDING]?: Ending }

export const findCall = (request: Bound): Call | undefined => request[CALL]

export function callOf(request: Bound): Call {
  const call = request[CALL]
  if (call === undefined) throw new Error('The request did not come through `promises`.')
  return call
}

export function bindCall(request: Bound, call: Call): Request {
  request[CALL] = call
  return request
}

/** Replaces members of a call that became known later. */
export function amendCall(request: Bound, amendment: Amendment): void {
  request[CALL] = { ...callOf(request), ...amendment }
}

/** Undefined before a route is matched, and for routes outside of `/v1` that are open to all. */
export const entryOf = (request: Bound): Entry | undefined => request[ENTRY]

export function bindEntry(request: Bound, entry: Entry): void {
  request[ENTRY] = entry
}

/** Notes where a request came from; without it, all callers without a key are one. */
export function bindPeers(request: Bound, peers: PeerSource | undefined): Request {
  request[PEERS] = peers
  return request
}

export const peersOf = (request: Bound): PeerSource | undefined => request[PEERS]

/** Keeps the connection of a request for so many idle seconds: the response takes that long at most. */
export const keepOpen = (request: Request, seconds: number): void =>
  callOf(request).peers?.timeout?.(request, seconds)

export const endingOf = (response: Ended): Ending => response[ENDING] ?? {}

/** Adds to what is known of the end of a response, and returns the response. */
export function withEnding(response: Ended, ending: Ending): Response {
  response[ENDING] = { ...response[ENDING], ...ending }
  return response
}

/** The account that a request's resources are counted under; without a key, its address. */
export type Holder = { owner: string; level: number; group?: string | undefined }

export function holderOf({ caller, guest, address }: Sender): Holder {
  const holder = caller ?? guest
  return {
    owner: holder?.accountId ?? `address ${address}`,
    level: levelOf(holder),
    group: holder?.address,
  }
}
