import { Fault } from './fault.ts'

/** The message of a thrown value, which may not be an Error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** The same as a sentence with one period at its end. */
export const sentenceOf = (error: unknown): string => `${messageOf(error).replace(/\.+$/, '')}.`

/** The system's code of a failure, such as `ENOENT`; the error as text if it has none. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Fault ? error.message : String(error)
}

/** True if a message is about a certificate whose authority this machine does not trust. */
export const isUntrusted = (message: string): boolean =>
  /unable to (verify|get) .*(certificate|issuer)|self.signed certificate/i.test(message)
