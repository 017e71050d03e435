import type { Config } from '#src/config/config.ts'
import type { Clock } from '#src/domain/time.ts'
import { Fault } from '#src/platform/fault.ts'
import type { Log } from '#src/platform/log.ts'

import type { Extension } from './extension.ts'

/** What a command may use of the outside world; `main.ts` makes the real one, tests a fake. */
export type CliContext = {
  env: Readonly<Record<string, string | undefined>>
  /** Reads the configuration at first use, so that `--help` works with a broken one. */
  config(): Config
  clock: Clock
  /** Returns a fresh unguessable name: lower-case letters and digits, no prefix. */
  createId: () => string
  /** Returns fresh random bytes, fit for secrets. */
  randomBytes: (length: number) => Uint8Array
  /** Of this program: those of `src/extensions.ts`. */
  extensions: readonly Extension[]
  /** What to type in front of a command's name to run this program, as a shell reads it. */
  invocation: string
  version: string
  /** The file that the process began with: further threads begin with it, too. */
  program: string
  /** Writes one line of the command's result to standard output. */
  print(line: string): void
  /** Writes one line of progress or failure to standard error; a service says how bad it is. */
  printError: Log
  /** Writes lines of the access log, as they are, to standard error. */
  writeLog(lines: string): void
  /** True when standard error is a terminal, so that progress may be redrawn in place. */
  isTty: boolean
  /** Width of the terminal in characters; 80 without a terminal. */
  columns: number
  /**
   * Sets a variable for this process, as if the environment had it: `env` has it, the configuration
   * is read again, and threads that start later see it too. `option` is the option that was given in
   * its place, such as `--data`, which messages then name.
   */
  setVariable(name: string, value: string, option?: string): void
  /**
   * Runs `stop` at the first SIGTERM or SIGINT; a second one, or one without any registration, ends
   * the process at once. Returns what takes the registration back.
   */
  onStop(stop: () => void): () => void
}

/** Ends a command with one line on standard error and exit code 1. */
export const commandError = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'command', ...options })

/** The same for a wrong call, with exit code 2. */
export const usageError = (message: string): Fault => new Fault(message, { kind: 'usage' })

/** A signal that SIGTERM and SIGINT abort, for as long as it is not disposed of. */
export function stopSignal({ onStop }: CliContext): Disposable & { signal: AbortSignal } {
  const stop = new AbortController()
  return { signal: stop.signal, [Symbol.dispose]: onStop(() => stop.abort()) }
}
