import { useState } from 'preact/hooks'

const SHOWN_MS = 2000

/** Copies a text, and says that it did. */
export function CopyButton({
  text,
  name = 'Copy',
}: {
  text: string | (() => string)
  name?: string
}) {
  const [said, setSaid] = useState('')
  const say = (word: string) => {
    setSaid(word)
    setTimeout(() => setSaid(''), SHOWN_MS)
  }
  const copy = () =>
    navigator.clipboard.writeText(typeof text === 'string' ? text : text()).then(
      () => say('Copied'),
      () => say('Select it and copy'),
    )
  return (
    <button type="button" class="button small" onClick={copy}>
      <span aria-live="polite">{said === '' ? name : said}</span>
    </button>
  )
}
