import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { GapChange } from '#src/history/history.ts'

/** A row that waits to be written. */
export type Entry =
  /** A state; the book is known without a break since `knownFromMs`. */
  | { kind: 'state'; snapshot: Snapshot; knownFromMs?: number | undefined }
  | { kind: 'trade'; conditionId: string; trade: Trade }
  | GapChange

export const isGapChange = (entry: Entry): entry is GapChange =>
  entry.kind !== 'state' && entry.kind !== 'trade'

export const marketOf = (entry: Entry): string =>
  entry.kind === 'state' ? entry.snapshot.conditionId : entry.conditionId
