import { Database } from 'bun:sqlite'

import { formatMillionths } from '#src/domain/decimal.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'

/** The file that both baselines read: one row a snapshot, levels as the JSON that is served. */
export type PlainDatabase = {
  append(snapshots: readonly Snapshot[]): void
  /** Makes the indexes and closes the file. */
  finish(): void
}

const tables = `
  CREATE TABLE market (condition_id TEXT PRIMARY KEY, symbol TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY,
    condition_id TEXT NOT NULL,
    asset_id TEXT NOT NULL,
    symbol TEXT NOT NULL,
    outcome TEXT NOT NULL,
    timeframe TEXT NOT NULL,
    timestamp_ms INTEGER NOT NULL,
    bids TEXT NOT NULL,
    asks TEXT NOT NULL
  );`

/** One for either form of the query; made last, which is how a bulk load is done. */
const indexes = `
  CREATE INDEX snapshot_market ON snapshot (condition_id, timestamp_ms, id);
  CREATE INDEX snapshot_outcome ON snapshot (condition_id, outcome, timestamp_ms, id);
  ANALYZE;`

/** Creates the file, which must not exist. */
export function createPlainDatabase(path: string): PlainDatabase {
  const db = new Database(path, { create: true, strict: true })
  db.run('PRAGMA journal_mode = OFF')
  db.run('PRAGMA synchronous = OFF')
  db.run(tables)
  const insertMarket = db.prepare('INSERT OR IGNORE INTO market VALUES ($conditionId, $coin)')
  const insert = db.prepare(`
    INSERT INTO snapshot
      (condition_id, asset_id, symbol, outcome, timeframe, timestamp_ms, bids, asks)
    VALUES ($conditionId, $assetId, $coin, $outcome, $timeframe, $timestampMs, $bids, $asks)`)
  const append = db.transaction((snapshots: readonly Snapshot[]) => {
    for (const snapshot of snapshots) {
      const { conditionId, assetId, coin, outcome, timeframe, timestampMs, bids, asks } = snapshot
      const row = { conditionId, assetId, coin, outcome, timeframe, timestampMs }
      insertMarket.run({ conditionId: row.conditionId, coin: row.coin })
      insert.run({ ...row, bids: toJson(bids), asks: toJson(asks) })
    }
  })
  return {
    append,
    finish() {
      db.run(indexes)
      db.close()
    },
  }
}

function toJson({ prices, sizes }: Ladder): string {
  const levels = prices.map(
    (price, index) =>
      `{"price":${formatMillionths(price)},"size":${formatMillionths(sizes[index] ?? 0)}}`,
  )
  return `[${levels.join(',')}]`
}
