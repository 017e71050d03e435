/**
 * Takes tables (CSV) of how BTC 5-minute windows ended. They know no market's id, so they add to
 * markets that are held by the name of their window, and never replace what is known of these.
 */
import { ifSound } from '#src/core/errors.ts'
import { finalPriceFacts, strikeFacts, timeframeMs } from '#src/core/market.ts'
import { RecordFault } from '#src/core/record-fault.ts'
import { readOptionalDecimal, readOutcome, readTimeMs, tolerate } from '#src/venue/json-fields.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { attempt, type ImportPlace, type ImportRun, keepFacts, warn } from './import-run.ts'
import type { LineBatch } from './line-source.ts'

const columns = ['timestamp', 'outcome', 'btc_open', 'btc_close'] as const
type Column = (typeof columns)[number]

export const isOutcomeHeader = (line: string): boolean => {
  const names = cellsOf(line)
  return columns.every((column) => names.includes(column))
}

const cellsOf = (line: string): string[] => line.split(',').map((cell) => cell.trim())

export function createOutcomeImport(run: ImportRun): (file: string, batch: LineBatch) => void {
  const decoder = new TextDecoder()
  let header: string[] | undefined

  function takeLine(place: ImportPlace, line: string): void {
    if (line.trim() === '') return
    const cells = cellsOf(line)
    if (header === undefined) {
      header = cells
      return
    }
    const names = header
    attempt(run, place, () => {
      if (cells.length !== names.length) {
        throw new RecordFault(`${cells.length} columns where the first line has ${names.length}`)
      }
      keepRow(run, place, (column) => cells[names.indexOf(column)])
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
  cell: (column: Column) => string | undefined,
): void {
  const { history, report, source, isStrict } = run
  const leftOut: string[] = []
  const readPrice = (column: Column): string | undefined => {
    const read = () => readOptionalDecimal(cell(column), column)
    return isStrict ? read() : tolerate(leftOut, read)
  }
  const startMs = readTimeMs(cell('timestamp'), 'timestamp')
  if (startMs % timeframeMs['5m'] !== 0)
    throw new RecordFault('timestamp: no window of 5m starts then')
  const winner = readOutcome(cell('outcome'), 'outcome')
  const [strike, finalPrice] = [readPrice('btc_open'), readPrice('btc_close')]
  const slug = homeVenue.slugOf({ coin: 'btc', timeframe: '5m', startMs })
  const market = ifSound(() => history.findMarketBySlug(slug))
  if (market === undefined || market.source !== source) {
    report.windowsNotHeld++
    return
  }
  const { conditionId, coin, timeframe } = market
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
