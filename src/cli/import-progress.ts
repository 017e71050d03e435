import { Presets, SingleBar } from 'cli-progress'

import type { ImportProgress } from '#src/ingest/import-run.ts'

import type { CliContext } from './context.ts'

/** Between two lines of progress where nothing can be redrawn. */
const LINE_INTERVAL_MS = 5000

/** Shows how far an import has come. */
export type ImportProgressView = {
  update(progress: ImportProgress): void
  /** Prints a line without disturbing the display. */
  note(line: string): void
  end(): void
}

/** Creates a bar on a terminal, and elsewhere a line every few seconds. */
export function createImportProgress(
  context: CliContext,
  sizes: ReadonlyMap<string, number | undefined>,
): ImportProgressView {
  const tracker = createTracker(context, sizes)
  return context.isTty ? createBar(context, tracker) : createLines(context, tracker)
}

/** Where all files together stand. `fraction` is undefined while a pipe hides its length. */
type Standing = {
  fraction: number | undefined
  lines: number
  linesPerSecond: number
  secondsLeft: number | undefined
}
type Tracker = (progress: ImportProgress) => Standing

function createTracker(
  { clock }: CliContext,
  sizes: ReadonlyMap<string, number | undefined>,
): Tracker {
  const startedMs = clock()
  const totals = [...sizes.values()]
  const total = totals.reduce<number>((sum, size) => sum + (size ?? 0), 0)
  const isKnown = total > 0 && totals.every((size) => size !== undefined)
  let file = ''
  let bytesBefore = 0
  let bytesHere = 0

  return (progress) => {
    if (progress.file !== file) {
      bytesBefore += bytesHere
      file = progress.file
    }
    bytesHere = progress.bytesRead
    const seconds = Math.max((clock() - startedMs) / 1000, 0.001)
    const fraction = isKnown ? Math.min(1, (bytesBefore + bytesHere) / total) : undefined
    return {
      fraction,
      lines: progress.lines,
      linesPerSecond: Math.round(progress.lines / seconds),
      secondsLeft: fraction ? Math.ceil((seconds * (1 - fraction)) / fraction) : undefined,
    }
  }
}

function createBar(context: CliContext, track: Tracker): ImportProgressView {
  const bar = new SingleBar(
    { format: ' {bar} {text}', hideCursor: true, clearOnComplete: true, stopOnComplete: false },
    Presets.shades_classic,
  )
  bar.start(1, 0, { text: 'starting' })
  return {
    update(progress) {
      const standing = track(progress)
      bar.update(standing.fraction ?? 0, { text: describe(standing) })
    },
    // Clears the bar's line; the next update draws it again below.
    note: (line) => context.printError(`\r\u001b[2K${line}`),
    end: () => bar.stop(),
  }
}

function createLines(context: CliContext, track: Tracker): ImportProgressView {
  let printedMs = context.clock()
  return {
    update(progress) {
      const standing = track(progress)
      const nowMs = context.clock()
      if (nowMs - printedMs < LINE_INTERVAL_MS) return
      printedMs = nowMs
      context.printError(`importing: ${describe(standing)}`)
    },
    note: (line) => context.printError(line),
    end: () => {},
  }
}

function describe({ fraction, lines, linesPerSecond, secondsLeft }: Standing): string {
  const parts = [`${formatCount(lines)} lines`, `${formatCount(linesPerSecond)} lines/s`]
  if (fraction !== undefined) parts.unshift(`${Math.floor(fraction * 100)} %`)
  if (secondsLeft !== undefined) parts.push(`${formatSeconds(secondsLeft)} left`)
  return parts.join(', ')
}

/** Prints a count with separators: 71400 is `71,400`. */
export const formatCount = (count: number): string => count.toLocaleString('en-US')

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
