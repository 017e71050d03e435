/**
 * The current time for a payment. Only the chain decides if a payment is in time, so the time of
 * its newest block is used: the clock of this server may be wrong, and never runs backwards after
 * it was ahead.
 */

import type { ChainView } from '#src/domain/selling/chain-view.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import type { Clock } from '#src/domain/time.ts'

/** `chainMs` is the time of the newest block; if unknown, the time of this server. */
export type Moment = { chainMs: number; serverMs: number }

/** The maximum age of a block: payments take ten times as long to end. */
const BLOCK_AGE_MS_MAX = 3000
/** The tolerated lead of this server's clock: blocks are seconds apart, and nodes lag by less. */
const AHEAD_MS_MAX = 120_000
/** The tolerated lead of a block's time. */
const BEHIND_MS_MAX = 30_000

export async function readMoment(
  clock: Clock,
  view: Pick<ChainView, 'head'> | undefined,
): Promise<Moment> {
  const head = await view?.head(BLOCK_AGE_MS_MAX)
  const serverMs = clock()
  return { chainMs: head?.latestMs ?? serverMs, serverMs }
}

/** Milliseconds by which this server's clock is ahead of the chain; 0 within the tolerance. */
export function clockAheadMs({ chainMs, serverMs }: Moment): number {
  const aheadMs = serverMs - chainMs
  return aheadMs > AHEAD_MS_MAX || aheadMs < -BEHIND_MS_MAX ? aheadMs : 0
}

/** Describes the difference between the clocks; undefined within the tolerance. */
export function describeDrift(
  moment: Moment,
  { name }: Pick<PaymentChain, 'name'>,
): string | undefined {
  const aheadMs = clockAheadMs(moment)
  if (aheadMs === 0) return undefined
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  // The time of a server whose clock was ahead is not its clock: it continues from the latest time.
  return aheadMs > 0
    ? `The time that this server goes by is ${seconds} s ahead of the newest block of ${name}: its clock is ahead, or was ahead and the server waits for it at half speed, or the node lags.`
    : `The clock of this server is ${seconds} s behind the newest block of ${name}: the clock, or the node, is wrong.`
}
