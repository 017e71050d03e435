/** What cannot be done, in a sentence for the operator; `kind` is for code that handles it. */
export class Fault extends Error {
  override name = 'Fault'
  readonly kind: FaultKind

  constructor(kind: FaultKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

export type FaultKind =
  /** What a thread failed with. */
  | 'thread'
  /** A thread is gone, and did not say why. */
  | 'thread_ended'

export const isFault = (error: unknown, kind: FaultKind): error is Fault =>
  error instanceof Fault && error.kind === kind
