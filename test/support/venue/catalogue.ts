/** The markets that a venue lists and has resolved as its clock moves on. */
import { announcedFrame, type Frame, resolvedFrame } from './frames.ts'
import type { Playbook, VenueMarket } from './playbook.ts'

/** The interval of its checks. */
const LOOK_MS = 100

/** Settings that can change while the venue plays. */
export type CatalogueSettings = { offsetMs: number; resolutionDelayMs: number }

export type Catalogue = {
  markets(): readonly VenueMarket[]
  find(conditionId: string): VenueMarket | undefined
  marketOf(assetId: string): VenueMarket | undefined
  isResolved(market: VenueMarket): boolean
  /** Lists and resolves due markets, now or soon; returns the announcing messages. */
  look(nowMs: number, isUrgent: boolean): Frame[]
}

export function createCatalogue(playbook: Playbook, settings: CatalogueSettings): Catalogue {
  const listed = new Map<string, VenueMarket>()
  const ofToken = new Map<string, VenueMarket>()
  const resolved = new Set<string>()
  let nextMs = Number.NEGATIVE_INFINITY

  function list(market: VenueMarket, timestampMs: number): Frame[] {
    if (listed.has(market.conditionId)) return []
    listed.set(market.conditionId, market)
    for (const assetId of market.assetIds) ofToken.set(assetId, market)
    return [announcedFrame(market, timestampMs)]
  }
  function resolve(market: VenueMarket, nowMs: number): Frame[] {
    const { conditionId, endMs } = market
    const isDue = nowMs >= endMs + settings.resolutionDelayMs
    if (!isDue || resolved.has(conditionId)) return []
    resolved.add(conditionId)
    return [resolvedFrame(market, nowMs + settings.offsetMs)]
  }

  return {
    markets: () => [...listed.values()],
    find: (conditionId) => listed.get(conditionId),
    marketOf: (assetId) => ofToken.get(assetId),
    isResolved: ({ conditionId }) => resolved.has(conditionId),
    look(nowMs, isUrgent) {
      if (nowMs < nextMs && !isUrgent) return []
      nextMs = nowMs + LOOK_MS
      return playbook
        .markets(nowMs)
        .flatMap((market) => [
          ...list(market, nowMs + settings.offsetMs),
          ...resolve(market, nowMs),
        ])
    },
  }
}
