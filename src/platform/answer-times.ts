/**
 * Latency and failures of another program, counted in memory that threads may share, and printed as
 * metrics.
 */

import { type Labels, printFamily, printHistogram } from './exposition.ts'

/** Upper bounds in milliseconds; a last bucket counts slower answers. */
const boundsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000]
const MS = 1000
const MICROSECONDS = 1000

/** Cells: one count per bound, one above the last bound, the sum, and the failures. */
const SUM = boundsMs.length + 1
const FAILURES = SUM + 1
const CELLS = FAILURES + 1

export type AnswerTimes = ReturnType<typeof createAnswerTimes>

export function createAnswerTimes(
  memory = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT),
) {
  const cells = new BigInt64Array(memory)
  const add = (at: number, value: number): void =>
    void Atomics.add(cells, at, BigInt(Math.round(value)))
  return {
    memory,

    answered(ms: number): void {
      const bound = boundsMs.findIndex((boundMs) => ms <= boundMs)
      add(bound === -1 ? boundsMs.length : bound, 1)
      add(SUM, ms * MICROSECONDS)
    },

    failed: (): void => add(FAILURES, 1),

    /** The data for a `printHistogram` series, and the number of failures. */
    read() {
      const values = Array.from(cells, (_, at) => Number(Atomics.load(cells, at)))
      return {
        counts: values.slice(0, SUM),
        sum: (values[SUM] ?? 0) / MICROSECONDS / MS,
        failures: values[FAILURES] ?? 0,
      }
    },
  }
}

/** Prints the metrics `NAME_duration_seconds` and `NAME_failures_total`. */
export function printAnswerTimes({
  name,
  durationHelp,
  failuresHelp,
  samples,
}: {
  name: string
  durationHelp: string
  failuresHelp: string
  samples: readonly (readonly [labels: Labels, times: AnswerTimes])[]
}): string[] {
  const series = samples.map(([labels, times]) => ({ labels, ...times.read() }))
  return [
    ...printHistogram({
      name: `${name}_duration_seconds`,
      help: durationHelp,
      bounds: boundsMs.map((ms) => ms / MS),
      series,
    }),
    ...printFamily({
      name: `${name}_failures_total`,
      type: 'counter',
      help: failuresHelp,
      samples: series.map(({ labels, failures }) => [labels, failures]),
    }),
  ]
}
