/** The progress of a command. */
import { Presets, SingleBar } from 'cli-progress'

import { formatCount } from '#src/platform/count.ts'

import type { CliContext } from './extension.ts'

/** The interval between lines of progress if the bar cannot be redrawn. */
const LINE_INTERVAL_MS = 5000

export type Progress = ReturnType<typeof createProgress>

/** A bar on a terminal; elsewhere a line every few seconds that begins with the `activity`. */
export function createProgress(context: CliContext, activity: string, noun: string) {
  const { isTty, clock, printError } = context
  const options = { hideCursor: true, clearOnComplete: true, stopOnComplete: false }
  const bar = isTty
    ? new SingleBar({ format: ' {bar} {text}', ...options }, Presets.shades_classic)
    : undefined
  bar?.start(1, 0, { text: 'starting' })
  const startedMs = clock()
  let printedMs = startedMs
  const seconds = () => Math.max((clock() - startedMs) / 1000, 0.001)
  const rateOf = (done: number) => `${formatCount(Math.round(done / seconds()))} ${noun}/s`
  return {
    seconds,
    rateOf,
    /** `fraction` is from 0 to 1; undefined if it is unknown. */
    update(done: number, fraction: number | undefined, more: readonly string[] = []): void {
      const percent = fraction === undefined ? [] : [`${Math.floor(fraction * 100)} %`]
      const made = [`${formatCount(done)} ${noun}`, rateOf(done)]
      const text = [...percent, ...made, ...more].join(', ')
      bar?.update(fraction ?? 0, { text })
      const nowMs = clock()
      if (bar !== undefined || nowMs - printedMs < LINE_INTERVAL_MS) return
      printedMs = nowMs
      printError(`${activity}: ${text}`)
    },
    /** Prints a line in place of the bar; the next update draws the bar below it. */
    note: (line: string) => printError(bar === undefined ? line : `\r\u001b[2K${line}`),
    end: () => bar?.stop(),
  }
}
