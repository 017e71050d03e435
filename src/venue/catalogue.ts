/** A venue's catalogue: which markets it has, and what became of them. */

import { Fault } from '#src/platform/fault.ts'

import type { KnownFacts, MarketWindow } from './venue.ts'

export type CataloguePorts = {
  /** Without a slash at its end. */
  url: string
  /** Of the page with the prices of windows, where it is to be asked; likewise. */
  pricesUrl?: string | undefined
  fetch: (url: string, options: { signal: AbortSignal }) => Promise<Response>
}

type Asking = { nowMs: number; signal: AbortSignal }

/** A market that is listed and cannot be recorded: `reason` names the member that is wrong. */
export type UnusableMarket = { unusable: string }

export const isUsable = (found: KnownFacts | UnusableMarket | undefined): found is KnownFacts =>
  found !== undefined && !('unusable' in found)

/** Both verbs reject with a `catalogue` fault, or with what `fetch` rejects with. */
export type Catalogue = {
  /** The market of a window; undefined while it is not listed. */
  find(window: MarketWindow, asking: Asking): Promise<KnownFacts | UnusableMarket | undefined>
  /** The strike of a window as soon as it is known; undefined where nobody is to be asked. */
  strike?: ((window: MarketWindow, asking: Asking) => Promise<string | undefined>) | undefined
  /** What is known by now of a market that was found. */
  read(slug: string, asking: Asking): Promise<KnownFacts | undefined>
}

/** What a response with another status than was expected means. */
export function catalogueFault({ status, headers }: Response, name = 'catalogue'): Fault {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined
  return new Fault(`The ${name} answered with status ${status}.`, {
    kind: 'catalogue',
    retryAfterMs,
  })
}
