/** The requests behind a picture as code, which is loaded when it is first asked for. */

import { useState } from 'preact/hooks'

import { type Call, type Language, languages, toCode } from '../lib/calls.ts'
import { apiKey, isTestKey, SAMPLE } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Choice } from './choice.tsx'
import { CopyButton } from './copy-button.tsx'

const options = languages.map((each) => [each, each] as const)

export type CallProps = {
  calls: readonly Call[]
  /** What was sent in place of a key, which is no secret; the sample's if it is left out. */
  guestToken?: string | undefined
}

export function CallCode({ calls, guestToken = SAMPLE }: CallProps) {
  const [language, setLanguage] = useState<Language>('curl')
  const hasKey = useStore(apiKey.store) !== undefined
  const code = toCode(calls, language, hasKey ? undefined : guestToken)
  return (
    <>
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
    </>
  )
}
