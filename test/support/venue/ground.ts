/** The environment of the venue's tests: a generated venue that starts at a fixed moment. */
import { type GeneratedOptions, generatedPlaybook } from './generated.ts'
import { connect, type PlainClient } from './plain-client.ts'
import type { VenueMarket } from './playbook.ts'
import { createVenueClock, startVenue, type Venue, type VenueOptions } from './venue.ts'

/** 2026-11-22T10:02:00Z: two minutes into a window of five. */
export const START_MS = 1_795_341_720_000

type Setup = Partial<GeneratedOptions> & Partial<VenueOptions> & { clock?: () => number }

export const startGround = ({
  clock = createVenueClock(START_MS),
  ...options
}: Setup = {}): Promise<Venue> =>
  startVenue({
    playbook: generatedPlaybook({
      seed: 'test',
      startMs: START_MS,
      stepsPerSecond: 200,
      ...options,
    }),
    pace: { by: 'clock', clock },
    ...options,
  })

/** The market in whose window the venue starts. */
export function openMarket(venue: Venue): VenueMarket {
  const isOpen = ({ startMs, endMs }: VenueMarket) => startMs <= START_MS && endMs > START_MS
  const market = venue.markets().find(isOpen)
  if (market === undefined) throw new Error('no open market')
  return market
}

export const subscription = (assetIds: readonly string[], rest: object = {}): object => ({
  assets_ids: assetIds,
  type: 'market',
  ...rest,
})

/** A client of both tokens of the open market. */
export const follow = (venue: Venue, rest: object = {}): Promise<PlainClient> =>
  connect(venue.marketUrl, subscription(openMarket(venue).assetIds, rest))
