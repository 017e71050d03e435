import { useState } from 'preact/hooks'

import { copyText } from '../lib/copy.ts'
import { Button } from './button.tsx'

const SHOWN_MS = 2000

/** Copies a text, and says that it did. */
export function CopyButton({
  text,
  name = 'Copy',
  size = 'small',
}: {
  text: string | (() => string)
  name?: string
  size?: 'small' | 'tiny'
}) {
  const [said, setSaid] = useState('')
  const say = (word: string) => {
    setSaid(word)
    setTimeout(() => setSaid(''), SHOWN_MS)
  }
  const copy = () => void copyText(typeof text === 'string' ? text : text()).then(say)
  return (
    <Button look={size} onClick={copy}>
      <span aria-live="polite">{said === '' ? name : said}</span>
    </Button>
  )
}
