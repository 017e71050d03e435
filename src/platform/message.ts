import { Fault } from './fault.ts'

/** The message of anything that was thrown; not everything thrown is an Error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** The same as the end of a sentence, with one period. */
export const sentenceOf = (error: unknown): string => `${messageOf(error).replace(/\.+$/, '')}.`

/** What the system calls a failure, such as `ENOENT`; the error as text if it has no such name. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Fault ? error.message : String(error)
}

/** Whether a message is about a certificate of an authority that this machine does not trust. */
export const isUntrusted = (message: string): boolean =>
  /unable to (verify|get) .*(certificate|issuer)|self.signed certificate/i.test(message)
