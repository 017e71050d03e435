import { aRecord } from '../support/snapshot-lines.ts'

const startMs = Date.UTC(2026, 3, 14, 8)

type LineOptions = { isSound?: boolean; lastTradePrice?: string; isUnknown?: boolean }

/**
 * A recorded line of the second `second` whose id is the venue's hash of it, or of another book; or
 * made by a recipe that nobody knows.
 */
export function aHashedLine(
  second: number,
  { isSound = true, lastTradePrice = '0.500', isUnknown = false }: LineOptions = {},
): string {
  const timestampMs = startMs + second * 1000
  const bids = [{ price: '0.5', size: `${second + 1}` }]
  const record = aRecord({ timestamp: new Date(timestampMs).toISOString(), bids })
  const book = {
    market: record.conditionId,
    asset_id: record.assetId,
    timestamp: String(timestampMs),
    hash: '',
    bids: isSound ? bids : [],
    asks: record.asks,
    min_order_size: '5',
    tick_size: '0.01',
    neg_risk: false,
    last_trade_price: lastTradePrice,
    ...(isUnknown && { status: 'open' }),
  }
  const id = new Bun.CryptoHasher('sha1').update(JSON.stringify(book)).digest('hex')
  return `${JSON.stringify({ ...record, id })}\n`
}

/** Lines of the seconds from 0; those in `unsound` contradict their hash. */
export const someHashedLines = (count: number, unsound: readonly number[] = []): string =>
  Array.from({ length: count }, (_, second) =>
    aHashedLine(second, { isSound: !unsound.includes(second) }),
  ).join('')

/** The gap from one second to another. */
export const hashGap = (fromSecond: number, toSecond: number) => ({
  outcome: 'down' as const,
  fromMs: startMs + fromSecond * 1000,
  toMs: startMs + toSecond * 1000,
  reason: 'hash_mismatch' as const,
})
