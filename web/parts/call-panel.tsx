import { useState } from 'preact/hooks'

import { type Call, type Language, languages, toCode } from '../lib/calls.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { CopyButton } from './copy-button.tsx'

/** The requests behind a picture, ready to copy. */
export function CallPanel({ calls }: { calls: readonly Call[] }) {
  const [language, setLanguage] = useState<Language>('curl')
  const hasKey = useStore(apiKey.store) !== undefined
  const code = calls.map((call) => toCode(call, language, hasKey)).join('\n\n')
  return (
    <div class="calls">
      <div class="row spread">
        <div class="tabs" role="group" aria-label="Language">
          {languages.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === language}
              onClick={() => setLanguage(each)}
            >
              {each}
            </button>
          ))}
        </div>
        <CopyButton key={language} text={code} size="tiny" />
      </div>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  )
}
