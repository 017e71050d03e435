/** A venue's catalogue: its markets, and their results. */

import type { Coin, FeeSchedule, MarketFacts, Timeframe } from '#src/domain/market.ts'
import { Fault } from '#src/platform/fault.ts'

/** `endMs` is exclusive. */
export type MarketWindow = {
  coin: Coin
  timeframe: Timeframe
  startMs: number
  endMs: number
}

/** Facts of a market. The importer adds whether it is recorded or simulated. */
export type KnownFacts = Omit<MarketFacts, 'source'>

/** Facts of a market that their source names only by its condition id. */
export type MoreFacts = Pick<
  KnownFacts,
  'assetIds' | 'tickSize' | 'winner' | 'winnerSource' | 'takerDelayMs' | 'orderAgeMs'
> & {
  /** The fee schedule without the rebate, which the source does not state. */
  fees?: Omit<FeeSchedule, 'rebateRate'> | undefined
}

/** Adds facts to a known market. Fees replace its schedule, whose rebate stays. */
export function addFacts(
  { conditionId, coin, timeframe, feeSchedule }: KnownFacts,
  { fees, ...facts }: MoreFacts,
): KnownFacts {
  const named = { conditionId, coin, timeframe, ...facts }
  if (fees === undefined || feeSchedule === undefined) return named
  const known = JSON.parse(feeSchedule) as FeeSchedule
  const isSame =
    Number(known.rate) === Number(fees.rate) &&
    Number(known.exponent) === Number(fees.exponent) &&
    known.takerOnly === fees.takerOnly
  return isSame
    ? named
    : { ...named, feeSchedule: JSON.stringify({ ...fees, rebateRate: known.rebateRate }) }
}

/** URLs have no trailing slash. */
export type CataloguePorts = {
  url: string
  /** URL of the page with prices of windows; undefined if it is not to be used. */
  pricesUrl?: string | undefined
  /** URL of the order book API; undefined if it is not to be used. */
  orderBookUrl?: string | undefined
  fetch: (url: string, options: { signal: AbortSignal }) => Promise<Response>
  /** Called for a market that is usable only under an assumption. */
  warn?: ((text: string) => void) | undefined
}

/** The reason why a listed market cannot be recorded: the member that is wrong. */
export type UnusableMarket = { unusable: string }

export const isUsable = (found: KnownFacts | UnusableMarket | undefined): found is KnownFacts =>
  found !== undefined && !('unusable' in found)

/** All methods reject with a `catalogue` fault, or with the error of `fetch`. */
export type Catalogue = {
  /** The market of a window; undefined while it is not listed. */
  find(
    window: MarketWindow,
    request: { nowMs: number; signal: AbortSignal },
  ): Promise<KnownFacts | UnusableMarket | undefined>
  /** The strike of a window as soon as it is known; absent if the price page is not used. */
  strike?:
    | ((window: MarketWindow, request: { signal: AbortSignal }) => Promise<string | undefined>)
    | undefined
  /**
   * The delays and fees of a market by its order book; undefined if that does not know the market;
   * absent if the order book API is not used.
   */
  costs?:
    | ((conditionId: string, request: { signal: AbortSignal }) => Promise<MoreFacts | undefined>)
    | undefined
  /** The current facts of a market that was found. */
  read(
    slug: string,
    request: { nowMs: number; signal: AbortSignal },
  ): Promise<KnownFacts | undefined>
}

/** The fault of a response with an unexpected status. */
export function catalogueFault({ status, headers }: Response, name = 'catalogue'): Fault {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined
  return new Fault(`The ${name} answered with status ${status}.`, {
    kind: 'catalogue',
    retryAfterMs,
  })
}
