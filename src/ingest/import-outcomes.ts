/**
 * Takes tables (CSV) of how 5-minute windows of a coin ended. They know no market's id, so they add to
 * markets that are held by the name of their window, and never replace what is known of these.
 */

import { ifSound } from '#src/domain/errors.ts'
import {
  finalPriceFacts,
  isCoin,
  SIMULATED_SLUG,
  strikeFacts,
  timeframeMs,
} from '#src/domain/market.ts'
import { notKept, recordFault } from '#src/domain/record-fault.ts'
import { readOptionalDecimal, readOutcome, readTimeMs, tolerate } from '#src/venue/json-fields.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { attempt, type ImportPlace, type ImportRun, keepFacts, warn } from './import-run.ts'
import type { LineBatch } from './line-source.ts'

/** Which column holds what; the names of two of them hold the coin. */
type Columns = {
  coin: string
  timestamp: number
  outcome: number
  open: number
  close: number
}

const openPattern = /^([a-z0-9]{1,20})_open$/

/** Undefined for the first line of another table. */
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

export function createOutcomeImport(run: ImportRun): (file: string, batch: LineBatch) => void {
  const decoder = new TextDecoder()
  let header: { columns: Columns | undefined; width: number } | undefined

  function takeLine(place: ImportPlace, line: string): void {
    if (line.trim() === '') return
    const cells = cellsOf(line)
    if (header === undefined) {
      header = { columns: readHeader(line), width: cells.length }
      return
    }
    const { columns, width } = header
    attempt(run, place, () => {
      if (columns === undefined || cells.length !== width)
        throw recordFault(`${cells.length} columns where the first line has ${width}`)
      keepRow(run, place, columns, cells)
    })
  }

  return (file, { bytes, firstLine }) => {
    for (const [index, line] of decoder.decode(bytes).split('\n').entries()) {
      takeLine({ file, line: firstLine + index }, line)
      if (run.report.ending !== 'complete') return
    }
  }
}

function keepRow(
  run: ImportRun,
  place: ImportPlace,
  columns: Columns,
  cells: readonly string[],
): void {
  const { history, report, source, isStrict } = run
  const leftOut: string[] = []
  const { coin } = columns
  const readPrice = (which: 'open' | 'close'): string | undefined => {
    const read = () => readOptionalDecimal(cells[columns[which]], `${coin}_${which}`)
    return isStrict ? read() : tolerate(leftOut, read)
  }
  if (!isCoin(coin)) throw notKept(`${coin} is not a coin that is kept`)
  const startMs = readTimeMs(cells[columns.timestamp], 'timestamp')
  if (startMs % timeframeMs['5m'] !== 0) throw recordFault('timestamp: no window of 5m starts then')
  const winner = readOutcome(cells[columns.outcome], 'outcome')
  const strike = readPrice('open')
  const finalPrice = readPrice('close')
  const named = homeVenue.slugOf({ coin, timeframe: '5m', startMs })
  const slug = source === 'simulated' ? SIMULATED_SLUG + named : named
  const market = ifSound(() => history.findMarketBySlug(slug))
  if (market === undefined || market.source !== source) {
    report.windowsNotHeld++
    return
  }
  const { conditionId, timeframe } = market
  warn(run, place, leftOut)
  const of = { ...market, source: 'dataset' } as const
  keepFacts(run, place, {
    ...{ conditionId, source },
    coin,
    timeframe,
    ...(market.strike === undefined ? strikeFacts(strike, of) : {}),
    ...(market.finalPrice === undefined ? finalPriceFacts(finalPrice, of) : {}),
    winner,
    winnerSource: 'dataset',
  })
}
