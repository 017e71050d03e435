/** Rows of the recorder table: the last sign of life of each recorder that did not end in order. */
import { recorder } from '#db/history/schema.ts'
import { checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { RecorderSign } from '#src/domain/recorder-sign.ts'

/** A recorder whose last sign is older than another's by this much is dead. */
const DEAD_MS = 60_000

type RecorderRow = typeof recorder.$inferSelect

/** Creates the table; the verbs that write need the transaction of the change. */
export function createRecorderTable(db: Database) {
  const sql = sqlOf(recorder)
  const all = db.prepare<RecorderRow, []>(`SELECT ${sql.columns()} FROM recorder ORDER BY id`)
  const upsert = db.prepare<unknown, [RecorderRow]>(
    `${sql.insert()} ON CONFLICT (id) DO UPDATE SET ${sql.setExcluded(['signMs', 'checksum'])}`,
  )
  const removeRow = db.prepare<unknown, [Pick<RecorderRow, 'id'>]>(
    'DELETE FROM recorder WHERE id = $id',
  )
  const isSound = (row: RecorderRow): boolean => row.checksum === checksumOf(row)

  /** Damaged rows are ignored. */
  const list = (): RecorderSign[] => all.all().filter(isSound).map(toSign)

  return {
    list,

    /** Also removes dead recorders whose markets this one records. */
    put(sign: RecorderSign): void {
      const row = toRow(sign)
      upsert.run(row)
      for (const other of list())
        if (other.signMs < sign.signMs - DEAD_MS && isWithin(other, sign))
          removeRow.run({ id: other.id })
    },

    remove: (id: string): void => void removeRow.run({ id }),

    verify: (): string[] =>
      all.all().every(isSound) ? [] : ['recorder table: it is not as it was written'],
  }
}

const isWithin = (a: RecorderSign, b: RecorderSign): boolean =>
  a.coins.every((coin) => b.coins.includes(coin)) &&
  a.timeframes.every((timeframe) => b.timeframes.includes(timeframe))

function toRow({ id, name, coins, timeframes, startedMs, signMs }: RecorderSign): RecorderRow {
  // In the order of the columns.
  const row = {
    id,
    name,
    coins: coins.join(),
    timeframes: timeframes.join(),
    startedMs,
    signMs,
  }
  return { ...row, checksum: checksumOf(row) }
}

const toSign = ({ checksum: _, coins, timeframes, ...sign }: RecorderRow): RecorderSign => ({
  ...sign,
  coins: coins.split(',') as RecorderSign['coins'],
  timeframes: timeframes.split(',') as RecorderSign['timeframes'],
})
