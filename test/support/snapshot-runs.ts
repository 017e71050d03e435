import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory, RowRun, RunQuery } from '#src/history/history.ts'

/** The runs of a query as snapshots, with all additional columns. */
export function* snapshotRuns(
  history: Pick<MarketHistory, 'runs'>,
  query: RunQuery,
): Generator<StoredSnapshot[]> {
  for (const run of history.runs({ ...query, withReceived: true })) {
    yield run.rows.map((_, row) => toSnapshot(run, row, query))
  }
}

function toSnapshot(run: RowRun, row: number, { market }: RunQuery): StoredSnapshot {
  const { coin, conditionId, timeframe, assetIds } = market
  const { outcome = 'up', timestampMs = 0, id = 0 } = run.rows[row] ?? {}
  const ladder = (side: number) => {
    const from = run.ends[side - 1] ?? 0
    const to = run.ends[side] ?? 0
    return { prices: [...run.prices.slice(from, to)], sizes: [...run.sizes.slice(from, to)] }
  }
  return {
    coin,
    conditionId,
    timeframe,
    outcome,
    timestampMs,
    id,
    assetId: assetIds?.[outcome] ?? '',
    bids: ladder(row * 2),
    asks: ladder(row * 2 + 1),
    ...run.besides[row],
  }
}
