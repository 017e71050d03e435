/**
 * Data that the visitor may read: that of the key's tier, which is requested once, and the sample.
 * A page therefore sends no request that would be refused, and can name the missing tier.
 */

import { useEffect } from 'preact/hooks'

import { request } from './api.ts'
import type { Sample } from './bodies.ts'
import { facts } from './facts.ts'
import { apiKey } from './key.ts'
import { createStore, useStore } from './store.ts'

type Tier = { name: string; coins: readonly string[]; routes: readonly string[] }
export type Rights = { tier: Tier; sample: Sample | undefined }
type Wanted = {
  route: 'markets' | 'prices' | 'snapshots' | 'quotes'
  coin: string
  market?: string | undefined
}

const { sample } = facts
const ofSample = sample && { tier: { ...sample, name: 'sample' }, sample }
const store = createStore<{ of?: string | undefined; rights?: Rights | undefined }>({
  rights: ofSample,
})
let asked: string | undefined

async function load(key: string | undefined): Promise<void> {
  if (asked === key) return
  asked = key
  if (key === undefined) return store.set({ rights: ofSample ?? { tier: everything, sample } })
  try {
    const { tier } = await request<{ tier: Tier }>('/v1/usage')
    store.set({ of: key, rights: { tier, sample } })
  } catch {
    // Allows everything: a request that is refused reports its own problem.
    store.set({ of: key, rights: { tier: everything, sample } })
  }
}
const everything: Tier = {
  name: '',
  coins: Object.keys(facts.coins ?? {}),
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
}

/** To be called when the tier may be another: after a payment. */
export function refreshRights(): void {
  asked = undefined
  void load(apiKey.store.get())
}

// Sent before anything is drawn, because all requests wait for it.
void load(apiKey.store.get())

/** Undefined until the rights are known. */
export function useRights(): Rights | undefined {
  const key = useStore(apiKey.store)
  const { of, rights } = useStore(store)
  useEffect(() => void load(key), [key])
  return of === key ? rights : undefined
}

type Included = Pick<Tier, 'coins' | 'routes'>

const isOfTier = ({ tier }: { tier: Included }, { route, coin }: Wanted): boolean =>
  tier.routes.includes(route) && tier.coins.includes(coin)

const isSampled = ({ sample }: Rights, { route, coin, market }: Wanted): boolean =>
  (sample !== undefined && isOfTier({ tier: sample }, { route, coin })) ||
  (market !== undefined && (isSimulatedOpen(sample, market) || namesOf(sample).includes(market)))

/** Prefixes of simulated ids and slugs: `simulated` in ASCII, and `sim-`. */
const simulatedName = /^(0x73696d756c61746564|sim-)/

/** True if a market is simulated and simulated markets may be read. */
const isSimulatedOpen = (sample: Sample | undefined, market: string): boolean =>
  sample?.sources.includes('simulated') === true && simulatedName.test(market)

/** The sample's market as addresses have it. */
const namesOf = (sample: Sample | undefined): string[] =>
  [sample?.market?.conditionId, sample?.market?.slug].flatMap((name) => name ?? [])

export const mayRead = (rights: Rights, wanted: Wanted): boolean =>
  isOfTier(rights, wanted) || isSampled(rights, wanted)

// A visitor with a key of a small tier can still read all of the sample.
apiKey.sampleOnly = (path) => {
  const { rights } = store.get()
  const [, coin, market] = /^\/v1\/(\w+)\/(?:markets\/([^/]+))?/.exec(path) ?? []
  if (rights === undefined || coin === undefined) return false
  // A market of the sample may be read whole; of a coin, what all tiers include.
  const wanted = { route: market === undefined ? 'markets' : 'snapshots', coin, market } as const
  return isSampled(rights, wanted) && !isOfTier(rights, wanted)
}
