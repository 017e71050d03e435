import { DAY_MS } from './time.ts'
import type { StoredTrade, Trade } from './trade.ts'

/** States of the transaction of a trade on the chain. */
export const chainStates = ['confirmed', 'failed', 'pending', 'unknown'] as const
export type ChainState = (typeof chainStates)[number]

/** Trades are checked until they are this old. */
export const CHECKED_MS = DAY_MS

/** A final receipt of the transaction of a trade. */
export type TradeReceipt = { tradeId: number; isSuccess: boolean }

/** A trade whose transaction has no receipt yet. */
export type UncheckedTrade = Pick<StoredTrade, 'id' | 'timestampMs'> & { transactionHash: string }

/** Trades after `afterId`, up to `upToId`, later than `sinceMs`. */
export type UncheckedQuery = { afterId: number; upToId: number; sinceMs: number }

/** Only a receipt makes a trade `confirmed` or `failed`; a missing one decides nothing. */
export function chainStateOf(
  { transactionHash, timestampMs }: Trade,
  receipt: Pick<TradeReceipt, 'isSuccess'> | undefined,
  nowMs: number,
): ChainState {
  if (receipt !== undefined) return receipt.isSuccess ? 'confirmed' : 'failed'
  return transactionHash !== undefined && timestampMs > nowMs - CHECKED_MS ? 'pending' : 'unknown'
}
