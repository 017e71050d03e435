/** What cannot be done, in a sentence for the operator; `kind` is for the code that handles it. */
export class Fault extends Error {
  override name = 'Fault'
  readonly kind: FaultKind
  /** The value that is wrong. */
  readonly param: string | undefined
  /** Milliseconds that another service asks to be left alone for. */
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
  /** A command failed, or was called wrongly. */
  | 'command'
  | 'usage'
  /** A variable of the configuration, or a file that it names, cannot be used. */
  | 'config'
  | 'secret_file'
  /** The operator asked for something with a wrong value, or in a state that does not allow it. */
  | 'wrong_value'
  | 'wrong_state'
  /** What is stored is not what was written. */
  | 'damage'
  /** A chunk was written again after its id was read; damage where nothing can have been written. */
  | 'chunk_gone'
  /**
   * One transfer for two payments, or two payments of one offer: the only failure that means more
   * money than was asked for.
   */
  | 'ledger_rule'
  /** A wallet has paid before for what it asks for, so nothing is settled. */
  | 'paid_before'
  /** A backup cannot be made or used. */
  | 'backup'
  /** The bucket says that an object is not there, or it is not known whether it is. */
  | 'object_missing'
  | 'object_unreachable'
  /** Another machine did not answer in time, or all connections to it are taken. */
  | 'no_answer'
  | 'no_connection'
  /** A node of a chain gave no answer that can be relied upon. */
  | 'rpc'
  /** A node is on another chain than the one that it is configured for. */
  | 'other_chain'
  /** The catalogue of the venue answered, and not with what was asked. */
  | 'catalogue'
  /** A sanctions list must not be used. The message is its predicate: "is cut off". */
  | 'sanctions_list'
  /** A file cannot be read to its end. The message is a reason without the name of the file. */
  | 'source'
  /** A recorded object is not sound. */
  | 'record'
  /** A recorded object is of a coin or kind that is not kept. */
  | 'not_kept'
  /** What a thread failed with. */
  | 'thread'
  /** A thread ended, and did not say why. */
  | 'thread_ended'

export const isFault = (error: unknown, ...kinds: readonly FaultKind[]): error is Fault =>
  error instanceof Fault && kinds.includes(error.kind)
