import { redactKeys } from './api-key.ts'

const LENGTH_MAX = 40
/** Holds a key that begins in what is shown, also with each character percent-encoded twice. */
const LOOKED_AT_MAX = 512

/** Returns at most 40 characters of the caller's own text for a message about it, keys hidden. */
export function excerpt(sent: string): string {
  const text = redactKeys(sent.slice(0, LOOKED_AT_MAX))
  if (text.length <= LENGTH_MAX) return text.toWellFormed()
  return `${text.slice(0, LENGTH_MAX - 1).toWellFormed()}…`
}
