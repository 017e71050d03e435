/**
 * How long another program takes to answer, and how often it does not, in memory that threads may
 * share.
 */

/** Upper bounds in milliseconds; what is above the last one is counted, too. */
const boundsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000]
const MS = 1000
const MICROSECONDS = 1000
export const answerBoundsSeconds = boundsMs.map((ms) => ms / MS)

/** Behind a count for each bound and those above. */
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

    /** For `printHistogram` with `answerBoundsSeconds`. */
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
