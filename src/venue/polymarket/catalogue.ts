/** Gamma, the venue's catalogue of markets, and the terms of its order books, over HTTP. */

import { shortConditionId } from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { Fault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'
import { catalogueFault } from '#src/venue/catalogue.ts'

import {
  type Catalogue,
  type CataloguePorts,
  isUsable,
  type KnownFacts,
  type MarketWindow,
  type MoreFacts,
  type UnusableMarket,
} from '../catalogue.ts'
import { exactDecimal, parseJson } from '../json-fields.ts'
import type { MarketRecord } from '../venue.ts'
import { pricePath } from './price-page.ts'
import { readEvent, readShortMarket, recordKinds } from './records.ts'
import { slugOf } from './slug.ts'
import { namesOf } from './windows.ts'

/** The venue's tag of up-or-down markets. */
const UP_OR_DOWN_TAG = '102127'
const HOUR_MS = 3_600_000
/** The venue's maximum page size. */
const PAGE_MARKETS = '100'
/** Some forty markets, of all the venue's coins, end in an hour. */
const PAGES_MAX = 10

/** URL of Gamma, unless another one is configured. */
export const GAMMA_URL = 'https://gamma-api.polymarket.com'
/** URL of the order book API, unless another one is configured. */
export const CLOB_URL = 'https://clob.polymarket.com'
const CLOB_NAME = 'order book API'

/** Creates the client; the first call of a method sends the first request. */
export function createCatalogue({
  url,
  pricesUrl,
  orderBookUrl,
  fetch,
  warn,
}: CataloguePorts): Catalogue {
  /** The markets in a response, with the reason for each that cannot be recorded. */
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

  /** Searches the lists of markets that end near the window's end. */
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
        // A market that cannot be read may belong to any window: only its name says which.
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
            // Hours and days settle on the spot price, other windows on an average of a minute.
            const isSpot = window.timeframe === '1h' || window.timeframe === '1d'
            const address = `${pricesUrl}${pricePath(window, isSpot ? 0 : 60)}`
            // The page does not have the prices of all windows.
            const prices = await get(address, signal, 'page', [400, 404])
            return isRecord(prices) ? exactDecimal(prices.openPrice, 0) : undefined
          },

    costs:
      orderBookUrl === undefined
        ? undefined
        : async (conditionId, { signal }) => {
            // A market of the second protocol may be known by the id before it was padded.
            for (const id of [conditionId, shortConditionId(conditionId)]) {
              if (id === undefined) continue
              const answer = await get(`${orderBookUrl}/clob-markets/${id}`, signal, CLOB_NAME)
              if (answer !== undefined) return readCosts(answer, conditionId)
            }
            return undefined
          },

    async read(slug, { nowMs, signal }) {
      const listings = await findBySlug(slug, nowMs, signal)
      return listings.filter(isUsable).find((facts) => facts.slug === slug)
    },
  }
}

/** Undefined for a market of other outcomes. Throws a `catalogue` fault for another answer. */
function readCosts(answer: unknown, conditionId: string): MoreFacts | undefined {
  try {
    if (!isRecord(answer)) throw recordFault('not an object')
    const record = readShortMarket({ c: conditionId, ...answer })
    if (record.kind !== 'more') return undefined
    if (record.conditionId !== conditionId) throw recordFault(`c: not ${conditionId}`)
    return record.facts
  } catch (error) {
    if (!isRecordFault(error)) throw error
    const text = `The ${CLOB_NAME} did not answer with the terms of a market: ${error.message}.`
    throw new Fault(text, { kind: 'catalogue', cause: error })
  }
}

const versionText = ({ slug, conditionId }: KnownFacts): string =>
  `The catalogue states no version for the market ${slug ?? conditionId}: its ids are read as those of v1.`

/** Removes the market's name, so that the same reason for many markets is one text. */
const withoutPath = (reason: string): string =>
  reason.replace(/^markets\[\d+\]\./, '').replace(/ \(market [^)]*\)$/, '')

/** The market of a window that can be recorded, or the reason why a listed one cannot. */
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
