/** A venue's catalogue: which markets it has, and what became of them. */

import type { Coin, MarketFacts, Timeframe } from '#src/domain/market.ts'
import { Fault } from '#src/platform/fault.ts'

/** `endMs` is exclusive. */
export type MarketWindow = {
  coin: Coin
  timeframe: Timeframe
  startMs: number
  endMs: number
}

/** Facts of a market, of which the importer says whether it is recorded or simulated. */
export type KnownFacts = Omit<MarketFacts, 'source'>

/** URLs have no slash at their end. */
export type CataloguePorts = {
  url: string
  /** The page with the prices of windows, where it is to be asked. */
  pricesUrl?: string | undefined
  fetch: (url: string, options: { signal: AbortSignal }) => Promise<Response>
  /** Called for a market that is usable only by an assumption. */
  warn?: ((text: string) => void) | undefined
}

/** Why a market that is listed cannot be recorded: the member that is wrong. */
export type UnusableMarket = { unusable: string }

export const isUsable = (found: KnownFacts | UnusableMarket | undefined): found is KnownFacts =>
  found !== undefined && !('unusable' in found)

/** Its methods reject with a `catalogue` fault, or with what `fetch` rejects with. */
export type Catalogue = {
  /** The market of a window; undefined while it is not listed. */
  find(
    window: MarketWindow,
    request: { nowMs: number; signal: AbortSignal },
  ): Promise<KnownFacts | UnusableMarket | undefined>
  /** The strike of a window as soon as it is known; absent where no page is to be asked. */
  strike?:
    | ((window: MarketWindow, request: { signal: AbortSignal }) => Promise<string | undefined>)
    | undefined
  /** What is known by now of a market that was found. */
  read(
    slug: string,
    request: { nowMs: number; signal: AbortSignal },
  ): Promise<KnownFacts | undefined>
}

/** The fault of a response whose status is not the expected one. */
export function catalogueFault({ status, headers }: Response, name = 'catalogue'): Fault {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined
  return new Fault(`The ${name} answered with status ${status}.`, {
    kind: 'catalogue',
    retryAfterMs,
  })
}
