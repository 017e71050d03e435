import { polymarket } from './polymarket/polymarket.ts'
import type { Venue } from './venue.ts'

/**
 * The venues whose markets are kept: another one is a folder beside `polymarket`, and a line here.
 */
export const venues = { polymarket } as const satisfies Record<string, Venue>
