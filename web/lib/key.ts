/**
 * The visitor's API key. It is in memory, or, where that is asked for, in the session of this tab;
 * never in an address, nor in storage that outlives the tab.
 */

import { createStore } from './store.ts'

const KEPT = 'bookfeed.key'
/** What the server takes in place of a key for its sample. */
export const SAMPLE = 'sample'

const keyStore = createStore<string | undefined>(sessionStorage.getItem(KEPT) ?? undefined)

/** The key that the server answered it does not know; undefined while there is none. */
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
  /** Whether a path is read from the sample although there is a key. */
  sampleOnly: (_path: string): boolean => false,
  /** Of a request: the key, or the sample where there is none. */
  authorization: (path: string): string =>
    `Bearer ${apiKey.sampleOnly(path) ? SAMPLE : (keyStore.get() ?? SAMPLE)}`,
}

/** The test key that everybody may use: `domain/selling/api-key.ts` computes it. */
export const PUBLIC_TEST_KEY = 'bf_test_PublicKeyForTestsOfBookfeed2uYmF1'

/** A test key reads simulated data alone. */
export const isTestKey = (key: string | undefined): boolean => key?.startsWith('bf_test_') ?? false

/** That of the operator, in memory alone: it opens everything. */
export const tokenStore = createStore<string | undefined>(undefined)
