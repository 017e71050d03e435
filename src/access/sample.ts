/**
 * The data readable with `Bearer sample` in place of a key: everything in the Free tier, the same
 * for coins without recordings, every simulated market, and one complete ended recorded market.
 * Each address is a separate caller.
 */
import { ifSound } from '#src/domain/errors.ts'
import { type Coin, coins, type Market, type Source } from '#src/domain/market.ts'
import { tokenOf } from '#src/domain/selling/api-key.ts'
import { unauthenticatedError } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Sample } from '#src/http/rights.ts'

const TOKEN = 'sample'
/** The limit per minute; a page of the dashboard uses up to ten requests. */
export const SAMPLE_REQUESTS_PER_MINUTE = 120
/**
 * The interval at which a better market is searched for while the chosen one is simulated or badly
 * covered.
 */
const LOOK_MS = 60_000
/** The maximum age of the cached sources of coins. */
const SOURCES_MS = 1_000

/** The chosen condition id, shared by all threads that serve. */
export type SampleChoice = {
  read: () => string | undefined
  /** Replaces the previous choice, unless another thread has done so; returns the current one. */
  replace: (before: string | undefined, conditionId: string) => string
}

export function createSampleChoice(): SampleChoice {
  let chosen: string | undefined
  return {
    read: () => chosen,
    replace: (_, conditionId) => (chosen = conditionId),
  }
}

type Options = {
  /** `auto`, `off`, or the name of a market. */
  choice: string
  listTiers: () => readonly Tier[]
  findMarket: (name: string) => Market | undefined
  /** The sources of the stored markets of a coin. */
  sourcesOf: (coin: Coin) => readonly Source[]
  /** Finds the best market to show. */
  findExample: () => Market | undefined
  /** True if almost nothing of a market is missing. */
  isWellCovered: (market: Market) => boolean
  chosen: SampleChoice
  timer: Clock
}

export function createSample({
  choice,
  listTiers,
  findMarket,
  sourcesOf,
  findExample,
  isWellCovered,
  chosen,
  timer,
}: Options): Sample {
  const sources = choice === 'off' ? [] : (['simulated'] as const)
  let lookAtMs = 0
  let simulatedCoins: readonly Coin[] = []
  let readSourcesAtMs = Number.NEGATIVE_INFINITY

  function market(): Market | undefined {
    if (choice === 'off') return undefined
    const found = choice === 'auto' ? choose() : findMarket(choice)
    return found?.isClosed ? found : undefined
  }

  /**
   * Chooses the market. A chosen market stays until it is deleted, so that the sample does not give
   * away one market after another. A simulated market is replaced only by a recorded one, and a
   * badly covered market only by a well covered one.
   */
  function choose(): Market | undefined {
    const before = chosen.read()
    const held = before === undefined ? undefined : findMarket(before)
    if (held !== undefined && timer() < lookAtMs) return held
    const example = findExample()
    const found = example?.isClosed ? example : undefined
    const kept = held && found && qualityOf(found) > qualityOf(held) ? found : (held ?? found)
    if (kept === undefined) return undefined
    lookAtMs = qualityOf(kept) === BEST ? Number.POSITIVE_INFINITY : timer() + LOOK_MS
    if (kept === held) return kept
    const now = chosen.replace(before, kept.conditionId)
    return now === kept.conditionId ? kept : findMarket(now)
  }

  function qualityOf(market: Market): number {
    if (market.source === 'simulated') return 0
    return isWellCovered(market) ? BEST : 1
  }

  /** True if every route of a market is readable. */
  function isWhole(coin: string | undefined, name: string): boolean {
    if (coin === undefined || name === '') return false
    // A damaged market is refused like one outside the sample.
    const named = sources.length === 0 ? undefined : ifSound(() => findMarket(name))
    if (named?.source === 'simulated' && named.coin === coin.toLowerCase()) return true
    return isNamed(market(), coin, name)
  }

  /** Coins whose markets are all simulated. */
  function listSimulatedCoins(): readonly Coin[] {
    if (sources.length > 0 && timer() >= readSourcesAtMs) {
      readSourcesAtMs = timer() + SOURCES_MS
      simulatedCoins = coins.filter((coin) => {
        const held = sourcesOf(coin)
        return held.includes('simulated') && !held.includes('recorded')
      })
    }
    return simulatedCoins
  }

  const free = () => {
    const tier = listTiers().find(({ tierId }) => tierId === FREE_TIER_ID)
    const simulated = listSimulatedCoins()
    return {
      coins: coins.filter((coin) => tier?.coins.includes(coin) || simulated.includes(coin)),
      routes: tier?.routes ?? [],
    }
  }

  return {
    market,
    sources,
    terms: () => ({
      tierId: TOKEN,
      name: 'Sample',
      rank: 0,
      ...free(),
      requestsPerMinute: SAMPLE_REQUESTS_PER_MINUTE,
    }),
    assertIncluded({ method, access, coin, conditionId: name = '', isOfOwnCoins = false }) {
      const { coins: own, routes } = free()
      const isFree =
        routes.some((route) => route === access) &&
        (isOfOwnCoins || own.some((each) => each === coin?.toLowerCase()))
      if (method === 'GET' && (isFree || (access !== 'key' && isWhole(coin, name)))) return
      throw unauthenticatedError(
        'GET /v1/sample lists what can be read without a key; this is not part of it.',
      )
    },
  }
}

/** The highest score: recorded and well covered. */
const BEST = 2

export const isSampleToken = (authorization: string | null): boolean =>
  tokenOf(authorization) === TOKEN

function isNamed(market: Market | undefined, coin: string, name: string): boolean {
  if (market?.coin !== coin.toLowerCase()) return false
  const { conditionId, slug, assetIds } = market
  return [conditionId, slug, assetIds.up, assetIds.down].includes(name.toLowerCase())
}
