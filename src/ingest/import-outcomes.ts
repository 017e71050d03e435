/**
 * Imports tables (CSV) of the outcomes of 5-minute windows of a coin. The tables name no market, so
 * outcomes are stored by window, and added to the markets of the window that exist or are stored
 * later.
 */

import { isCoin, timeframeMs } from '#src/domain/market.ts'
import { recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'
import type { PutOutcome } from '#src/history/history.ts'
import { readOptionalDecimal, readOutcome, readTimeMs, tolerate } from '#src/venue/json-fields.ts'

import { attempt, type ImportPlace, type ImportRun, refusalOf, refuse, warn } from './import-run.ts'
import type { LineBatch } from './line-source.ts'

/** The index of each column; the names of two of them contain the coin. */
type Columns = {
  coin: string
  timestamp: number
  outcome: number
  open: number
  close: number
}

const openPattern = /^([a-z0-9]{1,20})_open$/

/** Reads the header; undefined for the first line of another table. */
function readHeader(line: string): Columns | undefined {
  const names = cellsOf(line).map((name) => name.toLowerCase())
  const coins = names.flatMap((name) => openPattern.exec(name)?.[1] ?? [])
  const coin = coins.find((each) => names.includes(`${each}_close`))
  if (coin === undefined || !names.includes('timestamp') || !names.includes('outcome'))
    return undefined
  return {
    coin,
    timestamp: names.indexOf('timestamp'),
    outcome: names.indexOf('outcome'),
    open: names.indexOf(`${coin}_open`),
    close: names.indexOf(`${coin}_close`),
  }
}

export const isOutcomeHeader = (line: string): boolean => readHeader(line) !== undefined

const cellsOf = (line: string): string[] => line.split(',').map((cell) => cell.trim())

export function createOutcomeImport(
  run: ImportRun,
): (file: string, batch: LineBatch) => Promise<void> {
  const { report } = run
  const decoder = new TextDecoder()
  let header: { columns: Columns | undefined; width: number } | undefined

  async function readLine(place: ImportPlace, line: string): Promise<PlacedOutcome[]> {
    if (line.trim() === '') return []
    const cells = cellsOf(line)
    if (header === undefined) {
      header = { columns: readHeader(line), width: cells.length }
      return []
    }
    const { columns, width } = header
    const read: PlacedOutcome[] = []
    await attempt(run, place, () => {
      if (columns === undefined || cells.length !== width)
        throw recordFault(`${cells.length} columns where the first line has ${width}`)
      read.push({ place, outcome: readRow(run, place, columns, cells) })
    })
    return read
  }

  return async (file, { bytes, firstLine }) => {
    const rows: PlacedOutcome[] = []
    for (const [index, line] of decoder.decode(bytes).split('\n').entries()) {
      rows.push(...(await readLine({ file, line: firstLine + index }, line)))
      if (report.ending !== 'complete') return
    }
    // The fault that ends a strict import must be the last.
    if (!run.isStrict) await keepAll(run, rows)
    else
      for (const row of rows) {
        await keepAll(run, [row])
        if (report.ending !== 'complete') return
      }
  }
}

type PlacedOutcome = { place: ImportPlace; outcome: WindowOutcome }

function readRow(
  run: ImportRun,
  place: ImportPlace,
  columns: Columns,
  cells: readonly string[],
): WindowOutcome {
  const { source, isStrict } = run
  const leftOut: string[] = []
  const { coin } = columns
  const readPrice = (which: 'open' | 'close'): string | undefined => {
    const read = () => readOptionalDecimal(cells[columns[which]], `${coin}_${which}`)
    return isStrict ? read() : tolerate(leftOut, read)
  }
  if (!isCoin(coin)) throw skippedRecord(`${coin} is not a supported coin`)
  const windowStartMs = readTimeMs(cells[columns.timestamp], 'timestamp')
  if (windowStartMs % timeframeMs['5m'] !== 0)
    throw recordFault('timestamp: no window of 5m starts then')
  const winner = readOutcome(cells[columns.outcome], 'outcome')
  const strike = readPrice('open')
  const finalPrice = readPrice('close')
  if (windowStartMs > run.clock()) throw skippedRecord('windows that have not opened')
  warn(run, place, leftOut)
  return { coin, timeframe: '5m', source, windowStartMs, winner, strike, finalPrice }
}

/** Stores the rows in one transaction, or one by one if the market of a row is damaged. */
async function keepAll(run: ImportRun, rows: readonly PlacedOutcome[]): Promise<void> {
  let results: PutOutcome[] = []
  const refusal = await refusalOf(async () => {
    results = await run.history.putOutcomes(rows.map(({ outcome }) => outcome))
  })
  const [first] = rows
  if (refusal !== undefined && rows.length > 1) for (const row of rows) await keepAll(run, [row])
  else if (refusal !== undefined && first !== undefined) refuse(run, first.place, refusal)
  for (const [at, result] of results.entries()) {
    const { place } = rows[at] ?? { place: { file: '' } }
    countOutcome(run, place, result)
  }
}

function countOutcome(
  run: ImportRun,
  place: ImportPlace,
  { isNew, isWaiting, isChanged, conflict }: PutOutcome,
): void {
  const { facts, waiting } = run.report
  if (conflict !== undefined) refuse(run, place, conflict)
  else if (isWaiting) waiting[isNew ? 'accepted' : 'duplicates']++
  else facts[isChanged ? 'accepted' : 'duplicates']++
}
