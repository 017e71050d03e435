/** The tables of each coin, as a file in the data folder that every thread reads. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { CalibrationTable } from '#src/domain/calibration.ts'
import { type Coin, coins } from '#src/domain/market.ts'

type Stored = { changedMs: number; tables: CalibrationTable[] }

export type TableStore = ReturnType<typeof createTableStore>

export function createTableStore(dataPath: string) {
  const folder = join(dataPath, 'calibration')
  const known = new Map<Coin, Stored>()
  const pathOf = (coin: Coin) => join(folder, `${coin}.json`)

  return {
    /** Tables by length, shortest first; empty if there are none or the file is unreadable. */
    read(coin: Coin): readonly CalibrationTable[] {
      const changedMs = statSync(pathOf(coin), { throwIfNoEntry: false })?.mtimeMs
      if (changedMs === undefined) return []
      const before = known.get(coin)
      if (before?.changedMs === changedMs) return before.tables
      const tables = parseTables(readFileSync(pathOf(coin), 'utf8'))
      known.set(coin, { changedMs, tables })
      return tables
    },

    /** The creation time of the oldest tables, in Unix milliseconds; undefined without tables. */
    oldestMs(): number | undefined {
      const made = coins.flatMap((coin) => {
        const [table] = this.read(coin)
        return table === undefined ? [] : Date.parse(table.madeAt)
      })
      return made.length === 0 ? undefined : Math.min(...made)
    },

    write(coin: Coin, tables: readonly CalibrationTable[]): void {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const draft = `${pathOf(coin)}.new`
      writeFileSync(draft, JSON.stringify(tables), { mode: 0o600 })
      renameSync(draft, pathOf(coin))
    },
  }
}

/** Parses tables; damage is not an error, because they are made again within a day. */
function parseTables(text: string): CalibrationTable[] {
  try {
    const tables: unknown = JSON.parse(text)
    return Array.isArray(tables) ? tables : []
  } catch {
    return []
  }
}
