import { Presets, SingleBar } from 'cli-progress'

import type { CliContext } from './context.ts'

/** Between two lines of progress where nothing can be redrawn. */
const LINE_INTERVAL_MS = 5000

/** Shows how far a command has come. */
export type Progress = {
  /** `fraction` is from 0 to 1; undefined where it is not known. */
  update(text: string, fraction: number | undefined): void
  /** Prints a line without disturbing the display. */
  note(line: string): void
  end(): void
}

/**
 * Creates a bar on a terminal, and elsewhere a line every few seconds that
 * begins with what is being done.
 */
export function createProgress(
  { isTty, clock, printError }: CliContext,
  activity: string,
): Progress {
  const bar = isTty ? startBar() : undefined
  let printedMs = clock()
  return {
    update(text, fraction) {
      bar?.update(fraction ?? 0, { text })
      const nowMs = clock()
      if (bar !== undefined || nowMs - printedMs < LINE_INTERVAL_MS) return
      printedMs = nowMs
      printError(`${activity}: ${text}`)
    },
    // Clears the bar's line; the next update draws it again below.
    note: (line) => printError(bar === undefined ? line : `\r\u001b[2K${line}`),
    end: () => bar?.stop(),
  }
}

function startBar(): SingleBar {
  const bar = new SingleBar(
    { format: ' {bar} {text}', hideCursor: true, clearOnComplete: true, stopOnComplete: false },
    Presets.shades_classic,
  )
  bar.start(1, 0, { text: 'starting' })
  return bar
}
