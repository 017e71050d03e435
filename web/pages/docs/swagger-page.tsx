/** The reference of the API, to try out, with the key of the tab. */

import { useEffect, useRef } from 'preact/hooks'

import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { themeStore } from '../../lib/theme.ts'
import { DocsFrame } from './docs-frame.tsx'

type Given = { apiKey?: { value: unknown } }
type Ui = {
  preauthorizeApiKey(name: string, key: string): void
  authActions: { logout(names: string[]): void }
}
/** Its script is in the head of this page's document alone, and comes after ours. */
declare const SwaggerUIBundle: ((options: object) => Ui) | undefined

/** A key that is given there is that of the tab from then on; forgotten there, it is forgotten. */
const shareKey = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (authorize: (given: Given) => unknown) => (given: Given) => {
          const key = String(given.apiKey?.value ?? '').trim()
          if (key !== '' && key !== apiKey.store.get()) apiKey.set(key, apiKey.isKept())
          return authorize(given)
        },
        logout: (logout: (names: string[]) => unknown) => (names: string[]) => {
          if (apiKey.store.get() !== undefined) apiKey.forget()
          return logout(names)
        },
      },
    },
  },
})

export function SwaggerPage() {
  const host = useRef<HTMLDivElement>(null)
  const theme = useStore(themeStore)
  useEffect(() => {
    document.documentElement.classList.toggle('dark-mode', theme === 'dark')
  }, [theme])
  useEffect(() => {
    let end = () => {}
    const begin = () => {
      // From another page, and back, there is no document of this one.
      if (typeof SwaggerUIBundle === 'undefined') location.reload()
      else end = start(SwaggerUIBundle, host.current)
    }
    if (document.readyState === 'complete') begin()
    else addEventListener('load', begin, { once: true })
    return () => end()
  }, [])
  return (
    <DocsFrame path="/swagger">
      <div ref={host} class="swagger" />
    </DocsFrame>
  )
}

function start(bundle: NonNullable<typeof SwaggerUIBundle>, domNode: HTMLElement | null) {
  const use = () => {
    const key = apiKey.store.get()
    if (key === undefined) ui.authActions.logout(['apiKey'])
    else ui.preauthorizeApiKey('apiKey', key)
  }
  const ui = bundle({
    ...{ url: '/swagger/json', domNode, plugins: [shareKey] },
    // There is nothing to log out from yet.
    onComplete: () => void (apiKey.store.get() !== undefined && use()),
    ...{ deepLinking: true, displayRequestDuration: true, tryItOutEnabled: true },
    ...{ defaultModelRendering: 'example', defaultModelsExpandDepth: -1, validatorUrl: null },
  })
  return apiKey.store.subscribe(use)
}
