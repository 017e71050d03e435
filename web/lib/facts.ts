/** Facts about the server that come with the page, without a request. */

import type { Sample } from './bodies.ts'

type Facts = {
  /** Names of all coins by their symbols. */
  coins?: Readonly<Record<string, string>>
  /** Data that can be read without a key; undefined if the server did not know. */
  sample?: Sample
  /** The venue of recorded markets; host and path of its market pages, up to the slug. */
  venue?: { name: string; marketPage: string }
  /** True if the server is set up to sell; purchases may still be paused. */
  isSelling?: boolean
  /** True if payments can be looked up, also after selling has ended. */
  hasPayments?: boolean
  /** True if a wallet can get a key by itself. */
  isSignupOpen?: boolean
  /** The operator's page: there is none, or it opens for this visitor, or with the token. */
  operator?: 'off' | 'open' | 'token'
}

export const facts = JSON.parse(document.getElementById('facts')?.textContent ?? '{}') as Facts
