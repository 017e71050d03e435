import { polymarket } from './polymarket/polymarket.ts'
import type { Venue } from './venue.ts'

/** To add a venue, add a folder beside `polymarket` and a line here. */
export const venues = { polymarket } as const satisfies Record<string, Venue>

/** The venue of all markets and recordings: none names its venue while there is only one. */
export const homeVenue: Venue = venues.polymarket
