/**
 * What may be read with `Bearer sample` in place of a key: what the Free tier includes, the same of
 * coins of which nothing is recorded, every simulated market, and one recorded market that is over,
 * whole. Each address is a caller of its own.
 */
import { ifSound } from '#src/domain/errors.ts'
import { type Coin, coins, type Market, type Source } from '#src/domain/market.ts'
import { tokenOf } from '#src/domain/selling/api-key.ts'
import { unauthenticatedError } from '#src/domain/selling/caller.ts'
import { FREE_TIER_ID, type Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Sample } from '#src/http/gate.ts'

const TOKEN = 'sample'
/** A page of the dashboard takes up to ten. */
export const SAMPLE_REQUESTS_PER_MINUTE = 120
/** After so long a better market is looked for, where one is simulated or covered badly. */
const LOOK_MS = 60_000
/** So old what is known of the sources of coins may be. */
const SOURCES_MS = 1_000

/** The condition id that was chosen, of all threads that serve. */
export type SampleChoice = {
  read: () => string | undefined
  /** Replaces what was read before, unless another thread has done so; returns what is chosen now. */
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
  /** `auto`, `off`, or what names a market. */
  choice: string
  listTiers: () => readonly Tier[]
  findMarket: (name: string) => Market | undefined
  /** Which kinds of markets are held of a coin. */
  sourcesOf: (coin: Coin) => readonly Source[]
  /** The market that shows most. */
  findExample: () => Market | undefined
  /** Whether next to nothing of a market is missing. */
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
   * One that was chosen stays until it is deleted, so that no market after the other is given away.
   * Only a recorded one replaces one that is simulated, and one that is covered well one that is
   * not.
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

  /** Whether every route of a market may be read. */
  function isWhole(coin: string | undefined, name: string): boolean {
    if (coin === undefined || name === '') return false
    // A damaged market is refused like one that is not part of the sample.
    const named = sources.length === 0 ? undefined : ifSound(() => findMarket(name))
    if (named?.source === 'simulated' && named.coin === coin.toLowerCase()) return true
    return isNamed(market(), coin, name)
  }

  /** Coins of which all that is held is simulated. */
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

/** Recorded, and covered well. */
const BEST = 2

export const isSampleToken = (authorization: string | null): boolean =>
  tokenOf(authorization) === TOKEN

function isNamed(market: Market | undefined, coin: string, name: string): boolean {
  if (market?.coin !== coin.toLowerCase()) return false
  const { conditionId, slug, assetIds } = market
  return [conditionId, slug, assetIds.up, assetIds.down].includes(name.toLowerCase())
}
