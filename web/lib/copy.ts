/** Copies a text; resolves with a word for the result. */
export const copyText = (text: string): Promise<string> =>
  navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'Select and copy',
  )
