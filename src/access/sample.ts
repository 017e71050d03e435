/**
 * What may be read with `Bearer sample` in place of a key: what the Free tier includes, and one
 * market that is over, whole. Each address is a caller of its own.
 */
import type { Market } from '#src/domain/market.ts'
import { tokenOf } from '#src/domain/selling/api-key.ts'
import { unauthenticatedError } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Tier } from '#src/domain/selling/tier.ts'
import type { Sample } from '#src/http/gate.ts'

const TOKEN = 'sample'
/** A page of the dashboard takes up to ten. */
export const SAMPLE_REQUESTS_PER_MINUTE = 120

/** `choice`: `auto`, `off`, or what names a market. `findExample`: the market that shows most. */
export function createSample({
  choice,
  listTiers,
  findMarket,
  findExample,
}: {
  choice: string
  listTiers: () => readonly Tier[]
  findMarket: (name: string) => Market | undefined
  findExample: () => Market | undefined
}): Sample {
  let chosen: string | undefined = choice === 'auto' ? undefined : choice

  function market(): Market | undefined {
    if (choice === 'off') return undefined
    const held = chosen === undefined ? undefined : findMarket(chosen)
    // One that was chosen stays until it is deleted: no market after the other is given away.
    const found = held ?? (choice === 'auto' ? findExample() : undefined)
    if (found?.isClosed !== true) return undefined
    if (choice === 'auto') chosen = found.conditionId
    return found
  }

  const free = () => {
    const tier = listTiers().find(({ tierId }) => tierId === FREE_TIER_ID)
    return { coins: tier?.coins ?? [], routes: tier?.routes ?? [] }
  }

  return {
    market,
    terms: () => ({
      tierId: TOKEN,
      name: 'Sample',
      rank: 0,
      ...free(),
      requestsPerMinute: SAMPLE_REQUESTS_PER_MINUTE,
    }),
    assertIncluded({ method, access, coin, conditionId: name = '' }) {
      const { coins, routes } = free()
      const isFree =
        routes.some((route) => route === access) &&
        coins.some((each) => each === coin?.toLowerCase())
      if (method === 'GET' && (isFree || (access !== 'key' && isNamed(market(), coin, name))))
        return
      throw unauthenticatedError('GET /v1/sample says what may be read without a key; this is not.')
    },
  }
}

export const isSampleToken = (authorization: string | null): boolean =>
  tokenOf(authorization) === TOKEN

function isNamed(market: Market | undefined, coin = '', name = ''): boolean {
  if (market?.coin !== coin.toLowerCase()) return false
  const { conditionId, slug, assetIds } = market
  return [conditionId, slug, assetIds.up, assetIds.down].includes(name.toLowerCase())
}
