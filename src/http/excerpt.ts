import { redactKeys } from '#src/core/api-key.ts'

const LENGTH_MAX = 40

/** Returns at most 40 characters of the caller's own text for a message about it, keys hidden. */
export function excerpt(sent: string): string {
  const text = redactKeys(sent)
  if (text.length <= LENGTH_MAX) return text.toWellFormed()
  return `${text.slice(0, LENGTH_MAX - 1).toWellFormed()}…`
}
