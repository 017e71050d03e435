/** Arithmetic of spans of time. */
import type { Span } from './coverage.ts'
import type { TimeRange } from './time.ts'

/** The part of a span that is within a range; `toMs` is not after `fromMs` if there is none. */
export const overlapOf = (
  span: Span,
  { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER }: TimeRange,
): Span => ({ fromMs: Math.max(span.fromMs, fromMs), toMs: Math.min(span.toMs, toMs) })

/** The parts of a span, or of an object with a span, that no other span covers. */
export const subtractSpans = <Of extends Span>(span: Of, others: readonly Span[]): Of[] =>
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
