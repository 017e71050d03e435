import { polymarket } from './polymarket/polymarket.ts'
import type { Venue } from './venue.ts'

/** Another venue is a folder beside `polymarket`, and a line here. */
export const venues = { polymarket } as const satisfies Record<string, Venue>

/** The venue of markets and recordings: none of them says which it is of, while there is one. */
export const homeVenue: Venue = venues.polymarket
