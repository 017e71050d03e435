/** What `bookfeed doctor` finds. `wrong` makes the command fail; `skipped` is what does not apply, or cannot be known now. */
export type Finding = {
  check: string
  state: 'ok' | 'skipped' | 'warning' | 'wrong'
  text: string
  /** What to do about it. */
  todo?: string | undefined
}

/** A finding of one check; the last is what to do. */
export const finder =
  (check: string) =>
  (state: Finding['state'], text: string, todo?: string): Finding => ({ check, state, text, todo })
