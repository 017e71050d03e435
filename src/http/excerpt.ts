const LENGTH_MAX = 40

/** Returns at most 40 characters of the caller's own text for a message about it. */
export function excerpt(text: string): string {
  if (text.length <= LENGTH_MAX) return text.toWellFormed()
  return `${text.slice(0, LENGTH_MAX - 1).toWellFormed()}…`
}
