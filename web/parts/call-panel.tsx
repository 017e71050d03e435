import { useState } from 'preact/hooks'

import { type Call, type Language, languages, toCode } from '../lib/calls.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'

/** The requests behind a picture, ready to copy. */
export function CallPanel({ calls }: { calls: readonly Call[] }) {
  const [language, setLanguage] = useState<Language>('curl')
  const [isCopied, setCopied] = useState(false)
  const hasKey = useStore(apiKey.store) !== undefined
  const code = calls.map((call) => toCode(call, language, hasKey)).join('\n\n')
  const copy = () =>
    navigator.clipboard.writeText(code).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <div class="calls">
      <div class="row spread">
        <div class="tabs" role="group" aria-label="Language">
          {languages.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === language}
              onClick={() => {
                setLanguage(each)
                setCopied(false)
              }}
            >
              {each}
            </button>
          ))}
        </div>
        <button type="button" class="button tiny" onClick={copy}>
          <span aria-live="polite">{isCopied ? 'Copied' : 'Copy'}</span>
        </button>
      </div>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  )
}
