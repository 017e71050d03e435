/** Gamma, the venue's catalogue of markets, over HTTP. */

import { isRecordFault } from '#src/domain/record-fault.ts'
import { Fault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'
import { catalogueFault } from '#src/venue/catalogue.ts'

import { type Catalogue, type CataloguePorts, isUsable, type UnusableMarket } from '../catalogue.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'
import type { KnownFacts, MarketWindow } from '../venue.ts'
import { pricePath } from './price-page.ts'
import { readEvent, recordKinds } from './records.ts'
import { slugOf } from './slug.ts'
import { namesOf } from './windows.ts'

/** The venue's tag of up-or-down markets. */
const UP_OR_DOWN_TAG = '102127'
const HOUR_MS = 3_600_000
/** The venue's own bound of a page. */
const PAGE_MARKETS = '100'
/** Some forty markets end in an hour of all coins that the venue has. */
const PAGES_MAX = 10

/** Where Gamma is when no other address is configured. */
export const GAMMA_URL = 'https://gamma-api.polymarket.com'

/** Windows of these lengths are settled by an average of a minute, the others by spot. */
const strikeSeconds = ({ timeframe }: MarketWindow): number =>
  timeframe === '1h' || timeframe === '1d' ? 0 : 60

/** Makes the client; nothing is asked before a verb is called. */
export function createCatalogue({ url, pricesUrl, fetch }: CataloguePorts): Catalogue {
  /** Undefined for what is not there. Throws a `catalogue` fault for any other failure. */
  async function get(path: string, signal: AbortSignal): Promise<unknown> {
    const response = await fetch(`${url}${path}`, { signal })
    if (response.status === 404) return undefined
    if (!response.ok) throw catalogueFault(response)
    const value = parseJson(await response.text())
    if (value === undefined)
      throw new Fault('The catalogue did not answer with JSON.', { kind: 'catalogue' })
    return value
  }

  /** An event has what its market lacks: the strike and the final price. */
  async function bySlug(slug: string, reading: { nowMs: number; signal: AbortSignal }) {
    const event = await get(`/events/slug/${slug}`, reading.signal)
    return isRecord(event)
      ? listingsIn(() => readEvent(event, { ...reading, isStrict: false }))
      : []
  }

  /** Looks through the lists of what ends near the window's end. */
  async function listed(window: MarketWindow, signal: AbortSignal, nowMs: number) {
    const query = new URLSearchParams({
      tag_id: UP_OR_DOWN_TAG,
      closed: 'false',
      limit: PAGE_MARKETS,
      end_date_min: new Date(window.endMs - HOUR_MS).toISOString(),
      end_date_max: new Date(window.endMs + HOUR_MS).toISOString(),
    })
    const names = [slugOf(window), ...namesOf(window)]
    for (let page = 0; page < PAGES_MAX; page++) {
      const answer = await get(`/markets/keyset?${query}`, signal)
      if (!isRecord(answer) || !Array.isArray(answer.markets)) return undefined
      const listings = answer.markets.flatMap((market: unknown) => {
        const kind = recordKinds.find(({ name }) => name === "the venue's market")
        if (!isRecord(market) || kind === undefined) return []
        const read = listingsIn(() => kind.read(market, { nowMs, isStrict: false }))
        // A market that cannot be read may be of any window: only its name tells.
        return read.filter((each) => isUsable(each) || names.includes(String(market.slug)))
      })
      const found = chooseListing(listings, window)
      if (found !== undefined || typeof answer.next_cursor !== 'string') return found
      query.set('after_cursor', answer.next_cursor)
    }
    return undefined
  }

  async function strikeAt(page: string, signal: AbortSignal): Promise<string | undefined> {
    const response = await fetch(page, { signal })
    // It does not have the prices of every window.
    if (response.status === 400 || response.status === 404) return undefined
    if (!response.ok) throw catalogueFault(response, 'page')
    const prices = parseJson(await response.text())
    if (prices === undefined)
      throw new Fault('The page did not answer with JSON.', { kind: 'catalogue' })
    return isRecord(prices) ? exactDecimal(prices.openPrice, 0) : undefined
  }

  return {
    async find(window, reading) {
      let unusable: UnusableMarket | undefined
      for (const slug of namesOf(window)) {
        const found = chooseListing(await bySlug(slug, reading), window)
        if (isUsable(found)) return found
        unusable ??= found
      }
      return unusable ?? listed(window, reading.signal, reading.nowMs)
    },

    strike:
      pricesUrl === undefined
        ? undefined
        : (window, { signal }) =>
            strikeAt(`${pricesUrl}${pricePath(window, strikeSeconds(window))}`, signal),

    async read(slug, reading) {
      return (await bySlug(slug, reading)).filter(isUsable).find((facts) => facts.slug === slug)
    },
  }
}

/** What an answer lists, with the reason for each market that cannot be recorded. */
function listingsIn(read: () => ReturnType<typeof readEvent>): (KnownFacts | UnusableMarket)[] {
  try {
    return read().flatMap((record): (KnownFacts | UnusableMarket)[] => {
      if (record.kind === 'facts') return [record.facts]
      return record.kind === 'trade' ? [] : [{ unusable: withoutPlace(record.reason) }]
    })
  } catch (error) {
    if (isRecordFault(error)) return [{ unusable: withoutPlace(error.message) }]
    throw error
  }
}

/** The window says which market it is, so that the same reason of many is one. */
const withoutPlace = (reason: string): string =>
  reason.replace(/^markets\[\d+\]\./, '').replace(/ \(market [^)]*\)$/, '')

/** The market of a window that can be recorded; else why one that is listed for it cannot. */
function chooseListing(
  listings: readonly (KnownFacts | UnusableMarket)[],
  window: MarketWindow,
): KnownFacts | UnusableMarket | undefined {
  const found = listings.filter(isUsable).find((facts) => isMarketOf(facts, window))
  return found ?? listings.find((each) => !isUsable(each))
}

const isMarketOf = (facts: KnownFacts, { coin, timeframe, startMs }: MarketWindow): boolean =>
  facts.coin === coin && facts.timeframe === timeframe && facts.windowStartMs === startMs
