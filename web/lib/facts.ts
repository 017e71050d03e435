/** What the server said with the page, so that nothing has to be asked for it. */

import type { Sample } from './bodies.ts'

type Facts = {
  /** Names of all coins by their symbols. */
  coins?: Readonly<Record<string, string>>
  /** What may be read without a key; undefined where the server could not say. */
  sample?: Sample
  /** Where recorded markets are traded; host and path of its page of a market, up to the slug. */
  venue?: { name: string; marketPage: string }
  /** Whether the server is set up to sell; purchases may be paused nevertheless. */
  isSelling?: boolean
  /** Whether payments can be asked for: also those of before, where nothing is sold any more. */
  hasPayments?: boolean
  /** Whether a wallet can get a key by itself. */
  isSignupOpen?: boolean
  /** The operator's page: there is none, or it opens for this visitor, or with the token. */
  operator?: 'off' | 'open' | 'token'
}

export const facts = JSON.parse(document.getElementById('facts')?.textContent ?? '{}') as Facts
