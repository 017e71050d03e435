/**
 * What time it is for a payment. The chain alone decides whether a payment is in time, so its
 * newest block is asked: the clock of this server may be wrong, and never runs backwards after it
 * was ahead.
 */

import type { ChainView } from '#src/domain/selling/chain-view.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import type { Clock } from '#src/domain/time.ts'

/** `chainMs` is the time of the newest block; where that is not known, the time of this server. */
export type Moment = { chainMs: number; serverMs: number }

/** So old a block may be: payments need ten times as long to end. */
const BLOCK_AGE_MS_MAX = 3000
/** Blocks of every chain sold on are seconds apart, and nodes lag by less. */
const AHEAD_MS_MAX = 120_000
/** A block's time may lie a little ahead. */
const BEHIND_MS_MAX = 30_000

export async function readMoment(
  clock: Clock,
  view: Pick<ChainView, 'head'> | undefined,
): Promise<Moment> {
  const head = await view?.head(BLOCK_AGE_MS_MAX)
  const serverMs = clock()
  return { chainMs: head?.latestMs ?? serverMs, serverMs }
}

/** Milliseconds that the clock of this server is ahead of the chain; 0 while that is usual. */
export function clockAheadMs({ chainMs, serverMs }: Moment): number {
  const aheadMs = serverMs - chainMs
  return aheadMs > AHEAD_MS_MAX || aheadMs < -BEHIND_MS_MAX ? aheadMs : 0
}

/** Says by how much the clocks differ, for people; undefined while that is usual. */
export function describeDrift(
  moment: Moment,
  { name }: Pick<PaymentChain, 'name'>,
): string | undefined {
  const aheadMs = clockAheadMs(moment)
  if (aheadMs === 0) return undefined
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  // The time of a server whose clock was ahead is not the clock: it goes on from the latest time.
  return aheadMs > 0
    ? `The time that this server goes by is ${seconds} s ahead of the newest block of ${name}: its clock is ahead, or was ahead and the server waits for it at half speed, or the node lags.`
    : `The clock of this server is ${seconds} s behind the newest block of ${name}: the clock, or the node, is wrong.`
}
