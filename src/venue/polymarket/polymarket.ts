import type { Venue } from '../venue.ts'
import { createBookVerifier } from './book-hash.ts'
import { CLOB_URL, createCatalogue, GAMMA_URL } from './catalogue.ts'
import { feed } from './feed.ts'
import { pricePage } from './price-page.ts'
import { toRecordedLine } from './recorded-line.ts'
import { recordKinds } from './records.ts'
import { isRestart } from './restart.ts'
import { settlementRuleOf } from './settlement.ts'
import { slugOf, titleOf, whyNotKept } from './slug.ts'
import { live, rtds } from './spot.ts'
import { windowStarts } from './windows.ts'

/** Up-or-down markets of Polymarket: Gamma is its catalogue, the CLOB its order books. */
export const polymarket: Venue = {
  name: 'Polymarket',
  // An up-or-down market is the only one of its event, and shares its slug.
  marketPage: 'polymarket.com/event/',
  kinds: recordKinds,
  toRecordedLine,
  createBookVerifier,
  slugOf,
  titleOf,
  settlementRuleOf,
  whyNotKept,
  windowStarts,
  isRestart,
  catalogueUrl: GAMMA_URL,
  orderBookUrl: CLOB_URL,
  createCatalogue,
  feed,
  spotFeeds: { live, rtds },
  pricePage,
}
