/** Imports CSV and Parquet tables in the forms of `table-forms.ts`. */

import { createHash } from 'node:crypto'

import { ifSound } from '#src/domain/errors.ts'
import type { Source } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { timeFault } from '#src/domain/time.ts'

import { appendBySource, countVerdicts, createBookCheck } from './import-lines.ts'
import {
  attempt,
  batchIdOf,
  type ImportPlace,
  type ImportRun,
  keepRecords,
  type PlacedRecord,
  refuse,
} from './import-run.ts'
import { createFindMarket, findForms, type Row, type TableForm } from './table-forms.ts'

/** Snapshots per transaction. */
const ROWS_MAX = 2000

/** A cell, quoted or not, with its separator. */
const cellPattern = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/y

export function splitCells(line: string): string[] {
  const text = line.replace(/\r$/, '')
  if (!text.includes('"')) return text.split(',').map((cell) => cell.trim())
  const cells: string[] = []
  cellPattern.lastIndex = 0
  for (let isLast = false; !isLast;) {
    const [whole = '', quoted, plain = ''] = cellPattern.exec(text) ?? []
    cells.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'))
    isLast = !whole.endsWith(',')
  }
  return cells
}

/**
 * Creates the import of the rows of one file, in order; call `end` after the last row.
 * `takeMessage` takes messages like `createMessageImport`.
 */
export function createTableImport(
  run: ImportRun,
  form: TableForm,
  takeMessage: (place: ImportPlace, text: string) => Promise<void>,
) {
  const { history } = run
  const find = createFindMarket(history)
  const check = createBookCheck(run)
  /** Caches, by condition id, if the history has the market. */
  const known = new Map<string, boolean>()
  /** Rows of the record that is read next. */
  let group: { key: string; place: ImportPlace; rows: Row[] } | undefined
  let records: PlacedRecord[] = []
  let held: { snapshot: Snapshot; place: ImportPlace; source: Source }[] = []
  let rowsTaken = 0

  function isHeld(conditionId: string): boolean {
    const found =
      known.get(conditionId) ?? ifSound(() => history.findMarket(conditionId)) !== undefined
    known.set(conditionId, found)
    return found
  }

  async function readGroup(): Promise<void> {
    if (group === undefined) return
    const { place, rows } = group
    group = undefined
    await attempt(run, place, async () => {
      const record = form.read(rows, find, { nowMs: run.clock(), isStrict: run.isStrict })
      if ('message' in record) {
        await takeMessage(place, record.message)
        return
      }
      if ('records' in record) {
        records.push(...record.records.map((each) => ({ place, record: each })))
        return
      }
      const { snapshot, source = run.source } = record
      const fault = timeFault(snapshot.timestampMs, run.clock())
      if (fault === undefined) held.push({ snapshot, place, source })
      else refuse(run, place, `timestamp: ${fault}`)
    })
    if (held.length + records.length >= ROWS_MAX) await store()
  }

  async function storeRecords(): Promise<void> {
    const batch = records
    records = []
    if (batch.length === 0 || run.report.ending !== 'complete') return
    const text = JSON.stringify(batch.map(({ record }) => record))
    await keepRecords(run, batchIdOf(run, Buffer.from(text)), batch)
  }

  async function store(): Promise<void> {
    await storeRecords()
    const batch = held
    held = []
    if (batch.length === 0 || run.report.ending !== 'complete') return
    const checked = check.check(batch.map(({ snapshot }) => snapshot))
    countVerdicts(run, checked)
    const hash = createHash('sha256').update(JSON.stringify(checked)).digest('hex')
    await appendBySource(
      run,
      batch[0]?.place.file ?? '',
      `import:${run.source}:${hash}`,
      batch.map(({ place }) => place.line ?? 0),
      checked,
      batch.map(({ source }) => source),
    )
  }

  return {
    async take(place: ImportPlace, row: Row): Promise<void> {
      if (form.marketOf !== undefined && !isHeld(form.marketOf(row))) {
        run.report.rowsNotHeld++
        return
      }
      rowsTaken++
      const key = form.keyOf(row)
      if (group !== undefined && key !== '' && group.key === key) {
        group.rows.push(row)
        return
      }
      await readGroup()
      group = { key, place, rows: [row] }
    },
    /** Ends the file; returns the number of imported rows. */
    async end(): Promise<number> {
      await readGroup()
      await store()
      return rowsTaken
    },
  }
}

/** True if the first line of a text is the header of a known table. */
export const isTableHeader = (line: string): boolean => findForms(splitCells(line)).length > 0
