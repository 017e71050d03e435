import { formatMillionths } from '#src/domain/decimal.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { toIso } from '#src/domain/time.ts'

/**
 * Prints a snapshot in the form of recordings: decimals quoted, the best level of a side last. A
 * book that the venue has not hashed has an id that is not a hash.
 */
export function toRecordedLine(snapshot: Snapshot): string {
  const { sourceHash, assetId, conditionId, coin, outcome, timeframe, timestampMs } = snapshot
  const timestamp = toIso(timestampMs)
  const id = sourceHash ?? `${assetId}-${timestampMs}`
  const head = { id, assetId, conditionId, symbol: coin, outcome, timeframe, timestamp }
  const sides = `"bids":[${toLevels(snapshot.bids)}],"asks":[${toLevels(snapshot.asks)}]`
  return `${JSON.stringify(head).slice(0, -1)},${sides}}`
}

function toLevels({ prices, sizes }: Ladder): string {
  const levels = prices.map(
    (price, index) =>
      `{"price":"${formatMillionths(price)}","size":"${formatMillionths(sizes[index] ?? 0)}"}`,
  )
  return levels.reverse().join(',')
}
