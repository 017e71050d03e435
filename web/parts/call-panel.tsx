import { useEffect, useState } from 'preact/hooks'

import { type Call, type Language, languages, toCode } from '../lib/calls.ts'
import { apiKey, isTestKey, SAMPLE } from '../lib/key.ts'
import { createStore, useStore } from '../lib/store.ts'
import { Choice } from './choice.tsx'
import { CopyButton } from './copy-button.tsx'

const options = languages.map((each) => [each, each] as const)

/** Names the part of the page whose panel is open; one is open at a time. */
const opened = createStore<object | undefined>(undefined)

/** Whether the panel of a part of the page is open. Opening another closes it, and so does Escape. */
export function useCallPanel(): [isOpen: boolean, toggle: () => void] {
  const [own] = useState({})
  const isOpen = useStore(opened) === own
  useEffect(() => {
    if (!isOpen) return
    const button = document.activeElement
    const press = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape' || document.querySelector('dialog[open]') !== null) return
      // The focus would be lost with the panel.
      const isWithin = document.activeElement?.closest('.calls') != null
      opened.set(undefined)
      if (isWithin && button instanceof HTMLElement) button.focus()
    }
    addEventListener('keydown', press)
    return () => {
      removeEventListener('keydown', press)
      if (opened.get() === own) opened.set(undefined)
    }
  }, [isOpen])
  return [isOpen, () => opened.set(isOpen ? undefined : own)]
}

type Props = {
  calls: readonly Call[]
  /** What was sent in place of a key, which is no secret; the sample's if it is left out. */
  guestToken?: string | undefined
}

/** The requests behind a picture, ready to copy. */
export function CallPanel({ calls, guestToken = SAMPLE }: Props) {
  const [language, setLanguage] = useState<Language>('curl')
  const hasKey = useStore(apiKey.store) !== undefined
  const code = toCode(calls, language, hasKey ? undefined : guestToken)
  return (
    <div class="calls">
      <div class="row spread">
        <Choice label="Language" options={options} value={language} onChoose={setLanguage} />
        <CopyButton key={language} text={code} size="tiny" />
      </div>
      <p class="note">
        {hasKey ? (
          <>
            The code reads your key from the environment, as all examples do. Set the key once:{' '}
            <code>export KEY=bf_live_…</code>
          </>
        ) : (
          <>
            {isTestKey(guestToken)
              ? 'The code reads test data with the public test key, which needs no account.'
              : 'The code reads the sample, which needs no key.'}{' '}
            <a href="/account">Get a key</a>
          </>
        )}
      </p>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  )
}
