/** Takes tables, CSV and Parquet, of the forms in `table-forms.ts`. */

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
import { createFindMarket, findForm, type Row, type TableForm } from './table-forms.ts'

/** Snapshots of a transaction. */
const ROWS_MAX = 2000

/** A cell, quoted or not, with what ends it. */
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
 * Takes the rows of one file, in their order; `end` after the last. `takeMessage` takes messages as
 * `createMessageImport` does.
 */
export function createTableImport(
  run: ImportRun,
  form: TableForm,
  takeMessage: (place: ImportPlace, text: string) => void,
) {
  const { history } = run
  const find = createFindMarket(history)
  const check = createBookCheck(run)
  /** By condition id, whether the history has the market. */
  const known = new Map<string, boolean>()
  /** The rows of the record that is read next. */
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

  function readGroup(): void {
    if (group === undefined) return
    const { place, rows } = group
    group = undefined
    attempt(run, place, () => {
      const record = form.read(rows, find, { nowMs: run.clock(), isStrict: run.isStrict })
      if ('message' in record) {
        takeMessage(place, record.message)
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
    if (held.length + records.length >= ROWS_MAX) store()
  }

  function storeRecords(): void {
    const batch = records
    records = []
    if (batch.length === 0 || run.report.ending !== 'complete') return
    const text = JSON.stringify(batch.map(({ record }) => record))
    keepRecords(run, batchIdOf(run, Buffer.from(text)), batch)
  }

  function store(): void {
    storeRecords()
    const batch = held
    held = []
    if (batch.length === 0 || run.report.ending !== 'complete') return
    const checked = check.check(batch.map(({ snapshot }) => snapshot))
    countVerdicts(run, checked)
    const hash = createHash('sha256').update(JSON.stringify(checked)).digest('hex')
    appendBySource(
      run,
      batch[0]?.place.file ?? '',
      `import:${run.source}:${hash}`,
      batch.map(({ place }) => place.line ?? 0),
      checked,
      batch.map(({ source }) => source),
    )
  }

  return {
    take(place: ImportPlace, row: Row): void {
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
      readGroup()
      group = { key, place, rows: [row] }
    },
    /** Returns how many rows were taken. */
    end(): number {
      readGroup()
      store()
      return rowsTaken
    },
  }
}

/** Whether the first line of a text names the columns of a table. */
export const isTableHeader = (line: string): boolean => findForm(splitCells(line)) !== undefined
