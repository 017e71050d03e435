/**
 * A circuit breaker: opens when a call fails. While it is open, one call at a time may try, no
 * sooner than `pauseMs` after the last failure; a success closes it.
 */
export function createCircuitBreaker(pauseMs: number) {
  let failedAtMs: number | undefined
  let answeredAtMs = Number.NEGATIVE_INFINITY
  let isTrying = false
  return {
    /** True if a call may be made; the caller must then report its result to `end`. */
    begin(): boolean {
      if (failedAtMs === undefined) return true
      if (isTrying || performance.now() - failedAtMs < pauseMs) return false
      isTrying = true
      return true
    },

    /** A call that fails does not open the breaker if another succeeded since it began. */
    end(hasAnswered: boolean, begunMs: number): void {
      isTrying = false
      if (hasAnswered) {
        answeredAtMs = performance.now()
        failedAtMs = undefined
      } else if (answeredAtMs < begunMs) failedAtMs = performance.now()
    },
  }
}
