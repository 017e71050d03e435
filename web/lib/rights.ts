/**
 * What the visitor may read: that of the key's tier, and the sample. It is asked for once, so that
 * a page asks for nothing that would be refused, and can say what is missing.
 */

import { useEffect } from 'preact/hooks'

import { request } from './api.ts'
import type { Sample } from './bodies.ts'
import { apiKey } from './key.ts'
import { createStore, useStore } from './store.ts'

type Tier = { name: string; coins: readonly string[]; routes: readonly string[] }
export type Rights = { tier: Tier; sample: Sample | undefined }
type Wanted = {
  route: 'markets' | 'prices' | 'snapshots' | 'quotes'
  coin: string
  market?: string
}

const store = createStore<{ of?: string | undefined; rights?: Rights }>({})
let asked: string | undefined | null = null

async function load(key: string | undefined): Promise<void> {
  try {
    const sample = await request<Sample>('/v1/sample')
    const usage = key === undefined ? undefined : await request<{ tier: Tier }>('/v1/usage')
    const tier = usage?.tier ?? { ...sample, name: 'sample' }
    store.set({ of: key, rights: { tier, sample } })
  } catch {
    // Whoever asks for data learns why it fails; here it is only that nothing is known to be.
    const all = { name: '', coins: ['btc', 'eth', 'sol', 'xrp'], routes: everything }
    store.set({ of: key, rights: { tier: all, sample: undefined } })
  }
}
const everything = ['markets', 'prices', 'snapshots', 'quotes']

/** Undefined until it is known. */
export function useRights(): Rights | undefined {
  const key = useStore(apiKey.store)
  const { of, rights } = useStore(store)
  useEffect(() => {
    if (asked === key) return
    asked = key
    void load(key)
  }, [key])
  return of === key ? rights : undefined
}

const isOfTier = ({ tier }: Rights, { route, coin }: Wanted): boolean =>
  tier.routes.includes(route) && tier.coins.includes(coin)

const isSampled = ({ sample }: Rights, { market }: Wanted): boolean =>
  market !== undefined && sample?.market?.conditionId === market

export const mayRead = (rights: Rights, wanted: Wanted): boolean =>
  isOfTier(rights, wanted) || isSampled(rights, wanted)

// A key of a small tier is no reason to see less of the sample's market than without one.
apiKey.sampleOnly = (path) => {
  const { rights } = store.get()
  const market = rights?.sample?.market?.conditionId
  return market !== undefined && path.includes(market) && !rights?.tier.routes.includes('snapshots')
}
