/** What a market may be called by in a request. All three kinds of names are opaque. */
import { createCache } from '#src/platform/cache.ts'

import { type Market, parseConditionId } from './market.ts'

const CONDITION_ID = '0[xX](?:[0-9a-fA-F]{62}|[0-9a-fA-F]{64})'

export const MARKET_NAME_PATTERN = `^(?:${CONDITION_ID}|[0-9]{1,78}|[a-zA-Z][a-zA-Z0-9_-]{0,199})$`

const shortIdPattern = /^0x[0-9a-f]{62}$/
const namePattern = new RegExp(MARKET_NAME_PATTERN)

export const marketNameText =
  'a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600'

/** Names that are remembered: those of markets never change. */
const NAMES_KEPT_MAX = 4_096

type MarketSource = {
  findMarket(conditionId: string): Market | undefined
  findMarketBySlug(slug: string): Market | undefined
  findMarketByAsset(assetId: string): Market | undefined
}

export type FindMarket = (name: string) => Market | undefined

export const isMarketName = (text: string): boolean => namePattern.test(text)

/** A folder of an earlier version may hold an id of 31 bytes as it came. */
const findByConditionId = ({ findMarket }: MarketSource, id: string): Market | undefined =>
  findMarket(parseConditionId(id) ?? id) ?? (shortIdPattern.test(id) ? findMarket(id) : undefined)

export function createMarketFinder(source: MarketSource): FindMarket {
  const conditionIds = createCache<string, string>(NAMES_KEPT_MAX)

  const toConditionId = (name: string): string | undefined => {
    const known = conditionIds.get(name)
    if (known !== undefined) return known
    const isAsset = /^\d/.test(name)
    const found = isAsset ? source.findMarketByAsset(name) : source.findMarketBySlug(name)
    if (found !== undefined) conditionIds.set(name, found.conditionId, { size: 1 })
    return found?.conditionId
  }

  return (name) => {
    const lower = name.toLowerCase()
    if (lower.startsWith('0x')) return findByConditionId(source, lower)
    const conditionId = toConditionId(lower)
    return conditionId === undefined ? undefined : source.findMarket(conditionId)
  }
}
