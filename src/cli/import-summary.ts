import type { ImportReport } from '#src/ingest/import-run.ts'

import { count, formatCount } from './table.ts'

/** Puts what an import did into a few lines. */
export function summarize(report: ImportReport): string[] {
  return [
    describeWork(report),
    ...describeKnown(report),
    ...describeHashes(report),
    ...describeLosses(report),
    ...describeNothing(report),
  ]
}

/** The counts that are not zero, in words; with `fallback` if there are none. */
function listCounts(counts: readonly [number, string, string?][], fallback = ''): string {
  const parts = counts.filter(([number]) => number > 0).map((each) => count(...each))
  const last = parts.pop() ?? fallback
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`
}

const factsOf = (number: number): [number, string, string] => [
  number,
  'fact of a market',
  'facts of markets',
]

function describeWork(report: ImportReport): string {
  const { accepted, trades, facts, lines, entries, seconds, linesPerSecond } = report
  const kept = listCounts(
    [[accepted, 'snapshot'], [trades.accepted, 'trade'], factsOf(facts.accepted)],
    count(0, 'snapshot'),
  )
  const read = listCounts(
    [
      [lines, 'line'],
      [entries, 'entry', 'entries'],
    ],
    count(0, 'line'),
  )
  return `imported ${kept} from ${read} in ${seconds.toFixed(1)} s (${formatCount(linesPerSecond)} lines/s)`
}

function describeKnown(report: ImportReport): string[] {
  const { linesSkipped, documentsSkipped, duplicates, trades, facts } = report
  const before = listCounts([
    [linesSkipped, 'line'],
    [documentsSkipped, 'JSON document'],
  ])
  const held = listCounts([
    [duplicates, 'snapshot'],
    [trades.duplicates, 'trade'],
    factsOf(facts.duplicates),
  ])
  return [
    ...(before === '' ? [] : [`imported before: ${before}`]),
    ...(held === '' ? [] : [`held already: ${held}`]),
  ]
}

function describeHashes({ hashes }: ImportReport): string[] {
  const { held, verified, mismatched, gaps } = hashes
  if (verified + mismatched === 0) return []
  const lines = [
    `verified by the venue's hash: ${formatCount(verified)} of ${count(held, 'book')} held of these markets`,
  ]
  if (mismatched > 0) {
    const left = gaps > 0 ? `; ${count(gaps, 'gap')} until the next verified book` : ''
    lines.push(
      `warning: ${count(mismatched, 'book contradicts its', 'books contradict their')} hash${left}`,
    )
  }
  return lines
}

function describeLosses(report: ImportReport): string[] {
  const { windowsNotHeld, leftOutReasons, factsLeftOut, invalid, lines, entries } = report
  const losses = [...leftOutReasons].map(
    ([reason, number]) => `left out ${count(number, 'record')} of markets: ${reason}`,
  )
  if (windowsNotHeld > 0) {
    losses.push(`${count(windowsNotHeld, 'window is', 'windows are')} not held`)
  }
  if (factsLeftOut > 0) losses.push(`warning: left out ${count(factsLeftOut, 'fact')} of markets`)
  if (invalid > 0) {
    losses.push(`warning: left out ${count(invalid, ...badThings({ lines, entries }))}`)
  }
  const refused = report.filesRefused.map((file) => `warning: nothing of ${file} could be kept`)
  return [...losses, ...refused]
}

function badThings({ lines, entries }: { lines: number; entries: number }): [string, string] {
  if (entries === 0) return ['bad line', 'bad lines']
  return lines === 0 ? ['bad entry', 'bad entries'] : ['bad line or entry', 'bad lines or entries']
}

function describeNothing(report: ImportReport): string[] {
  const { ending, accepted, trades, facts } = report
  const changes = accepted + trades.accepted + facts.accepted
  if (ending !== 'complete' || changes > 0) return []
  const { linesSkipped, documentsSkipped, duplicates } = report
  const known = linesSkipped + documentsSkipped + duplicates + trades.duplicates + facts.duplicates
  return [known > 0 ? 'already imported: nothing changed' : 'nothing to keep: nothing changed']
}
