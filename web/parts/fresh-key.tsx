import { useEffect } from 'preact/hooks'

import { freshKeyStore } from '../lib/billing.ts'
import { apiKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'

/** The browser asks whether to leave. */
const askFirst = (event: Event) => event.preventDefault()

/** A key that was just made; it can be read here and nowhere else. */
export function FreshKey() {
  const fresh = useStore(freshKeyStore)
  useEffect(() => {
    if (fresh === undefined) return
    addEventListener('beforeunload', askFirst)
    return () => removeEventListener('beforeunload', askFirst)
  }, [fresh])
  if (fresh === undefined) return null
  return (
    <section class="card fresh-key" aria-labelledby="fresh-key-title">
      <h2 id="fresh-key-title">Save your key now</h2>
      <p>
        The key is shown only once, because the server stores only its digest. Keep the key with
        your passwords, and out of code and URLs.
      </p>
      <p class="row">
        <code class="secret" data-key>
          {fresh.key}
        </code>
        <CopyButton text={fresh.key} name="Copy the key" />
      </p>
      <p class="row spread">
        <span class="note">
          {apiKey.store.get() === fresh.key
            ? 'This tab already uses the new key.'
            : 'This tab keeps using its own key.'}
        </span>
        <Button text="I have saved the key" onClick={() => freshKeyStore.set(undefined)} />
      </p>
    </section>
  )
}
