/** Arithmetic of spans of time. */
import type { Span } from './coverage.ts'

/**
 * Returns what tells whether a time is in one of the spans, which are in order of their starts; each
 * question costs a search by halves.
 */
export function createInside(spans: readonly Span[]): (timeMs: number) => boolean {
  const starts: number[] = []
  const ends: number[] = []
  for (const { fromMs, toMs } of spans) {
    const endMs = ends.at(-1)
    if (endMs !== undefined && fromMs <= endMs) ends[ends.length - 1] = Math.max(endMs, toMs)
    else {
      starts.push(fromMs)
      ends.push(toMs)
    }
  }
  return (timeMs) => {
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= timeMs) low = middle + 1
      else high = middle
    }
    return timeMs < (ends[low - 1] ?? 0)
  }
}

/** What is left of a span, or of what has one, without others. */
export const cutFrom = <Of extends Span>(span: Of, others: readonly Span[]): Of[] =>
  others.reduce<Of[]>(
    (parts, { fromMs, toMs }) =>
      parts
        .flatMap((part) => [
          { ...part, toMs: Math.min(part.toMs, fromMs) },
          { ...part, fromMs: Math.max(part.fromMs, toMs) },
        ])
        .filter((part) => part.fromMs < part.toMs),
    [span],
  )
