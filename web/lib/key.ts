/**
 * The visitor's API key. It is in memory, or, where that is asked for, in the session of this tab;
 * never in an address, nor in storage that outlives the tab.
 */

import { createStore } from './store.ts'

const KEPT = 'bookfeed.key'
/** The word that reads the sample in place of a key. */
export const SAMPLE = 'sample'

const keyStore = createStore<string | undefined>(sessionStorage.getItem(KEPT) ?? undefined)

/** The key that the server refused as unknown; undefined if there is none. */
export const unknownKey = createStore<string | undefined>(undefined)

export const apiKey = {
  store: keyStore,
  isKept: () => sessionStorage.getItem(KEPT) !== null,
  set(key: string, isKept: boolean): void {
    if (isKept) sessionStorage.setItem(KEPT, key)
    else sessionStorage.removeItem(KEPT)
    keyStore.set(key)
  },
  forget(): void {
    sessionStorage.removeItem(KEPT)
    keyStore.set(undefined)
  },
  /** True if a path is read from the sample although there is a key. */
  sampleOnly: (_path: string): boolean => false,
  /** Value of the `Authorization` header: the key, or the sample without one. */
  authorization: (path: string): string =>
    `Bearer ${apiKey.sampleOnly(path) ? SAMPLE : (keyStore.get() ?? SAMPLE)}`,
}

/** The public test key: `domain/selling/api-key.ts` computes it. */
export const PUBLIC_TEST_KEY = 'bf_test_PublicKeyForTestsOfBookfeed2uYmF1'

/** A test key reads only simulated data. */
export const isTestKey = (key: string | undefined): boolean => key?.startsWith('bf_test_') ?? false

/** The operator's token, kept in memory only: it opens everything. */
export const tokenStore = createStore<string | undefined>(undefined)
