/**
 * An operation that failed, described to the operator in a sentence; `kind` is for the code that
 * handles it.
 */
export class Fault extends Error {
  override name = 'Fault'
  readonly kind: FaultKind
  /** The value that is wrong. */
  readonly param: string | undefined
  /** Milliseconds for which another service asks not to be called. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: FaultOptions) {
    super(message, options)
    this.kind = options.kind
    this.param = options.param
    this.retryAfterMs = options.retryAfterMs
  }
}

type FaultOptions = ErrorOptions & {
  kind: FaultKind
  param?: string
  retryAfterMs?: number | undefined
}

export type FaultKind =
  /** A command failed, or was called with wrong arguments. */
  | 'command'
  | 'usage'
  /** A configuration variable, or a file that it names, cannot be used. */
  | 'config'
  | 'secret_file'
  /** The operator's request has a wrong value, or the state does not allow it. */
  | 'wrong_value'
  | 'wrong_state'
  /** Stored data is not what was written. */
  | 'damage'
  /** A chunk was rewritten after its id was read; damage if nothing can have rewritten it. */
  | 'chunk_gone'
  /**
   * One transfer for two payments, or two payments for one offer: the only failure that means more
   * money was taken than was due.
   */
  | 'ledger_rule'
  /** The wallet has already paid for this, so nothing is settled. */
  | 'paid_before'
  /** A backup cannot be made or used. */
  | 'backup'
  /** The bucket does not have an object, or it is unknown whether it has it. */
  | 'object_missing'
  | 'object_unreachable'
  /** Another machine did not answer in time, or all connections to it are in use. */
  | 'no_answer'
  | 'no_connection'
  /** A node of a chain gave no reliable answer. */
  | 'rpc'
  /** A node serves another chain than the configured one. */
  | 'other_chain'
  /** The venue's catalogue answered, but not with what was requested. */
  | 'catalogue'
  /** A sanctions list must not be used. The message is its predicate: "is cut off". */
  | 'sanctions_list'
  /** A file cannot be read to its end. The message is the reason, without the file's name. */
  | 'source'
  /** A recorded object is invalid. */
  | 'record'
  /** A recorded object is of a coin or kind that is not recorded. */
  | 'not_kept'
  /** The failure of a thread. */
  | 'thread'
  /** A turn in a pool was cancelled while it ran. */
  | 'cancelled'
  /** A thread ended without an error. */
  | 'thread_ended'

export const isFault = (error: unknown, ...kinds: readonly FaultKind[]): error is Fault =>
  error instanceof Fault && kinds.includes(error.kind)
