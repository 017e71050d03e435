import { Presets, SingleBar } from 'cli-progress'

import type { CliContext } from './context.ts'
import { formatCount } from './import-progress.ts'

/** Between two lines of progress where nothing can be redrawn. */
const LINE_INTERVAL_MS = 5_000

/** Shows how far a simulation has come. */
export type SimulateProgress = {
  update(fraction: number, snapshots: number): void
  end(): void
}

/** Creates a bar on a terminal, and elsewhere a line every few seconds. */
export function createSimulateProgress(context: CliContext): SimulateProgress {
  const startedMs = context.clock()
  const describe = (fraction: number, snapshots: number) => {
    const rate = toRate(snapshots, context.clock() - startedMs)
    return `${Math.floor(fraction * 100)} %, ${formatCount(snapshots)} snapshots, ${rate}`
  }
  return context.isTty ? createBar(describe) : createLines(context, describe)
}

/** Prints a rate: `98,304 snapshots/s`. */
export function toRate(snapshots: number, durationMs: number): string {
  return `${formatCount(Math.round((snapshots * 1_000) / Math.max(1, durationMs)))} snapshots/s`
}

type Describe = (fraction: number, snapshots: number) => string

function createBar(describe: Describe): SimulateProgress {
  const bar = new SingleBar(
    { format: ' {bar} {text}', hideCursor: true, clearOnComplete: true, stopOnComplete: false },
    Presets.shades_classic,
  )
  bar.start(1, 0, { text: 'starting' })
  return {
    update: (fraction, snapshots) => bar.update(fraction, { text: describe(fraction, snapshots) }),
    end: () => bar.stop(),
  }
}

function createLines(context: CliContext, describe: Describe): SimulateProgress {
  let printedMs = context.clock()
  return {
    update(fraction, snapshots) {
      const nowMs = context.clock()
      if (nowMs - printedMs < LINE_INTERVAL_MS) return
      printedMs = nowMs
      context.printError(`simulating: ${describe(fraction, snapshots)}`)
    },
    end: () => {},
  }
}
