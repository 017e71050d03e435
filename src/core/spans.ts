/** Arithmetic of spans of time. */
import type { Span } from './coverage.ts'

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
