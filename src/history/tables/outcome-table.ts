/** Rows of the window_outcome table: outcomes of windows from tables. */
import { windowOutcome } from '#db/history/schema.ts'
import { assertSealed, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { outcomes } from '#src/domain/market.ts'
import { joinOutcomes, type MarketWindow, type WindowOutcome } from '#src/domain/window-outcome.ts'

import { type LogMeta, verifyLog } from './meta-table.ts'

type Texts = Pick<WindowOutcome, 'coin' | 'timeframe' | 'source' | 'winner'>
type OutcomeRow = Omit<typeof windowOutcome.$inferSelect, keyof Texts> & Texts

/** The rows of a window before and after a row was stored; the first of a list counts. */
export type KeptOutcome = {
  outcome: WindowOutcome
  before: readonly WindowOutcome[]
  after: readonly WindowOutcome[]
  isNew: boolean
}

/** Creates the table; the verbs that write need the transaction of the change. */
export function createOutcomeTable(db: Database, meta: LogMeta) {
  const sql = sqlOf(windowOutcome)
  const ofWindow = db.prepare<OutcomeRow, [MarketWindow]>(
    `SELECT ${sql.columns()} FROM window_outcome
     WHERE window_start_ms = $windowStartMs AND coin = $coin AND timeframe = $timeframe
       AND source = $source`,
  )
  const key = 'window_start_ms, coin, timeframe, source, winner'
  const upsert = db.prepare<unknown, [OutcomeRow]>(
    `${sql.insert()} ON CONFLICT (${key})
     DO UPDATE SET ${sql.setExcluded(['strike', 'finalPrice', 'checksum'])}`,
  )
  const all = db.prepare<OutcomeRow, []>(`SELECT ${sql.columns()} FROM window_outcome`)
  const remove = db.prepare<Pick<OutcomeRow, 'checksum'>, [{ beforeMs: number; limit: number }]>(
    `DELETE FROM window_outcome WHERE (${key}) IN (
       SELECT ${key} FROM window_outcome WHERE window_start_ms < $beforeMs LIMIT $limit)
     RETURNING checksum`,
  )

  function list(window: MarketWindow): WindowOutcome[] {
    const rows = ofWindow.all(window)
    for (const row of rows) assertSealed(row, `an outcome of ${row.coin} at ${row.windowStartMs}`)
    return rows.map(toOutcome).sort(byWinner)
  }

  return {
    /** Rows of a window: up before down, so that up counts independent of the order of import. */
    list,

    put(said: readonly WindowOutcome[]): KeptOutcome[] {
      let sumAdded = 0
      const kept = said.map((outcome): KeptOutcome => {
        const before = list(outcome)
        const held = before.find(({ winner }) => winner === outcome.winner)
        const joined = joinOutcomes(held, outcome)
        if (held !== undefined && Bun.deepEquals(joined, held))
          return { outcome, before, after: before, isNew: false }
        const row = toRow(joined)
        upsert.run(row)
        sumAdded += row.checksum - (held === undefined ? 0 : toRow(held).checksum)
        const after = [...before.filter((each) => each !== held), joined].sort(byWinner)
        return { outcome, before, after, isNew: true }
      })
      const sum = ((sumAdded % SUM_END) + SUM_END) % SUM_END
      if (kept.some(({ isNew }) => isNew)) meta.addToSum('window_outcome', sum)
      return kept
    },

    /** Removes some windows that began before a moment; returns the number of rows. */
    remove(range: { beforeMs: number; limit: number }): number {
      const gone = remove.all(range)
      const sum = gone.reduce((total, { checksum }) => total + checksum, 0) % SUM_END
      if (gone.length > 0) meta.addToSum('window_outcome', SUM_END - sum)
      return gone.length
    },

    /** Faults, each a sentence. */
    verify: (): string[] => verifyLog(all.iterate(), 'window_outcome', meta),
  }
}

export type OutcomeTable = ReturnType<typeof createOutcomeTable>

const byWinner = (a: WindowOutcome, b: WindowOutcome): number =>
  outcomes.indexOf(a.winner) - outcomes.indexOf(b.winner)

const toOutcome = ({ checksum: _, strike, finalPrice, ...row }: OutcomeRow): WindowOutcome => ({
  ...row,
  strike: strike ?? undefined,
  finalPrice: finalPrice ?? undefined,
})

function toRow({ windowStartMs, coin, timeframe, source, ...said }: WindowOutcome): OutcomeRow {
  const row: OutcomeRow = {
    windowStartMs,
    coin,
    timeframe,
    source,
    winner: said.winner,
    strike: said.strike ?? null,
    finalPrice: said.finalPrice ?? null,
    checksum: 0,
  }
  row.checksum = checksumOf(row)
  return row
}
