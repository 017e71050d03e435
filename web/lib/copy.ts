/** Copies a text; resolves with the word that says what became of it. */
export const copyText = (text: string): Promise<string> =>
  navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'Select and copy',
  )
