/** The requests behind a chart as code, which is loaded when it is first opened. */

import { useState } from 'preact/hooks'

import {
  type ApiRequest,
  type Call,
  type Language,
  languages,
  toCode,
  toRequestCode,
} from '../lib/calls.ts'
import { apiKey, isTestKey, SAMPLE } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Choice } from './choice.tsx'
import { CopyButton } from './copy-button.tsx'

const options = languages.map((each) => [each, each] as const)

export type CallProps = {
  /** The calls behind a chart, or one request of any kind. */
  calls: readonly Call[] | ApiRequest
  /** The public word sent in place of a key; by default that of the sample. */
  guestToken?: string | undefined
}

export function CallCode({ calls, guestToken = SAMPLE }: CallProps) {
  const [language, setLanguage] = useState<Language>('curl')
  const hasKey = useStore(apiKey.store) !== undefined
  const token = hasKey ? undefined : guestToken
  const code =
    'path' in calls ? toRequestCode(calls, language, token) : toCode(calls, language, token)
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
