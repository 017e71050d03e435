/** Gamma, the venue's catalogue of markets, over HTTP. */

import { isRecordFault } from '#src/domain/record-fault.ts'
import { Fault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'
import { catalogueFault } from '#src/venue/catalogue.ts'

import {
  type Catalogue,
  type CataloguePorts,
  isUsable,
  type KnownFacts,
  type MarketWindow,
  type UnusableMarket,
} from '../catalogue.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'
import type { MarketRecord } from '../venue.ts'
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

/** Makes the client; nothing is asked before a method is called. */
export function createCatalogue({ url, pricesUrl, fetch, warn }: CataloguePorts): Catalogue {
  /** The markets of an answer, with the reason for each one that cannot be recorded. */
  function toListings(read: () => MarketRecord[]): (KnownFacts | UnusableMarket)[] {
    try {
      return read().flatMap((record): (KnownFacts | UnusableMarket)[] => {
        if (record.kind === 'trade' || record.kind === 'more') return []
        if (record.kind !== 'facts') return [{ unusable: withoutPath(record.reason) }]
        if (record.hasNoVersion === true) warn?.(versionText(record.facts))
        return [record.facts]
      })
    } catch (error) {
      if (isRecordFault(error)) return [{ unusable: withoutPath(error.message) }]
      throw error
    }
  }

  /** Undefined for one of the `absent` statuses. Throws a `catalogue` fault for other failures. */
  async function get(
    address: string,
    signal: AbortSignal,
    name = 'catalogue',
    absent: readonly number[] = [404],
  ): Promise<unknown> {
    const response = await fetch(address, { signal })
    if (absent.includes(response.status)) return undefined
    if (!response.ok) throw catalogueFault(response, name)
    const value = parseJson(await response.text())
    if (value !== undefined) return value
    throw new Fault(`The ${name} did not answer with JSON.`, { kind: 'catalogue' })
  }

  /** Reads the event of a slug, which has what its market lacks: strike and final price. */
  async function findBySlug(slug: string, nowMs: number, signal: AbortSignal) {
    const event = await get(`${url}/events/slug/${slug}`, signal)
    return isRecord(event) ? toListings(() => readEvent(event, { nowMs, isStrict: false })) : []
  }

  /** Looks through the lists of markets that end near the window's end. */
  async function findInLists(window: MarketWindow, nowMs: number, signal: AbortSignal) {
    const query = new URLSearchParams({
      tag_id: UP_OR_DOWN_TAG,
      closed: 'false',
      limit: PAGE_MARKETS,
      end_date_min: new Date(window.endMs - HOUR_MS).toISOString(),
      end_date_max: new Date(window.endMs + HOUR_MS).toISOString(),
    })
    const names = [slugOf(window), ...namesOf(window)]
    const kind = recordKinds.find(({ name }) => name === "the venue's market")
    for (let page = 0; page < PAGES_MAX; page++) {
      const answer = await get(`${url}/markets/keyset?${query}`, signal)
      if (!isRecord(answer) || !Array.isArray(answer.markets)) return undefined
      const listings = answer.markets.flatMap((market: unknown) => {
        if (!isRecord(market) || kind === undefined) return []
        const read = toListings(() => kind.read(market, { nowMs, isStrict: false }))
        // A market that cannot be read may be of any window: only its name tells.
        return read.filter((each) => isUsable(each) || names.includes(String(market.slug)))
      })
      const found = chooseListing(listings, window)
      if (found !== undefined || typeof answer.next_cursor !== 'string') return found
      query.set('after_cursor', answer.next_cursor)
    }
    return undefined
  }

  return {
    async find(window, { nowMs, signal }) {
      let unusable: UnusableMarket | undefined
      for (const slug of namesOf(window)) {
        const found = chooseListing(await findBySlug(slug, nowMs, signal), window)
        if (isUsable(found)) return found
        unusable ??= found
      }
      return unusable ?? findInLists(window, nowMs, signal)
    },

    strike:
      pricesUrl === undefined
        ? undefined
        : async (window, { signal }) => {
            // Hours and days are settled by spot, other windows by an average of a minute.
            const isSpot = window.timeframe === '1h' || window.timeframe === '1d'
            const address = `${pricesUrl}${pricePath(window, isSpot ? 0 : 60)}`
            // The page does not have the prices of every window.
            const prices = await get(address, signal, 'page', [400, 404])
            return isRecord(prices) ? exactDecimal(prices.openPrice, 0) : undefined
          },

    async read(slug, { nowMs, signal }) {
      const listings = await findBySlug(slug, nowMs, signal)
      return listings.filter(isUsable).find((facts) => facts.slug === slug)
    },
  }
}

const versionText = ({ slug, conditionId }: KnownFacts): string =>
  `The catalogue states no version for the market ${slug ?? conditionId}: its ids are read as those of v1.`

/** Without the market's name the same reason of many markets is one text. */
const withoutPath = (reason: string): string =>
  reason.replace(/^markets\[\d+\]\./, '').replace(/ \(market [^)]*\)$/, '')

/** The market of a window that can be recorded; else why one that is listed for it cannot. */
function chooseListing(
  listings: readonly (KnownFacts | UnusableMarket)[],
  window: MarketWindow,
): KnownFacts | UnusableMarket | undefined {
  const { coin, timeframe, startMs } = window
  const found = listings
    .filter(isUsable)
    .find(
      (facts) =>
        facts.coin === coin && facts.timeframe === timeframe && facts.windowStartMs === startMs,
    )
  return found ?? listings.find((each) => !isUsable(each))
}
