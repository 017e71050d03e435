/** The reference of the API, to try out, with the key of the tab. */

import { useEffect, useRef } from 'preact/hooks'

import { keyFaultOf } from '../../lib/key-checksum.ts'
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { themeStore } from '../../lib/theme.ts'
import { DocsFrame } from './docs-frame.tsx'
import { keepAccessible, linksOutsideButtons } from './swagger-access.ts'

type Given = { apiKey?: { value: unknown } }
type Ui = {
  preauthorizeApiKey(name: string, key: string): void
  authActions: { logout(names: string[]): void }
}
/** Its script is in the head of this page's document alone, and comes after ours. */
declare const SwaggerUIBundle: ((options: object) => Ui) | undefined

/** A sound key that is given there is the key of the tab; forgotten there, it is forgotten. */
const shareKey = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (authorize: (given: Given) => unknown) => (given: Given) => {
          const key = String(given.apiKey?.value ?? '').trim()
          const isOther = key !== apiKey.store.get()
          if (keyFaultOf(key) === undefined && isOther) apiKey.set(key, apiKey.isKept())
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
  useEffect(() => (host.current === null ? undefined : keepAccessible(host.current)), [])
  useEffect(() => {
    let end = () => {}
    let isGone = false
    const begin = async () => {
      // The head of another page has no script of Swagger UI; a key in memory would not survive
      // another document.
      if (typeof SwaggerUIBundle === 'undefined') await loadAssets()
      if (!isGone && typeof SwaggerUIBundle !== 'undefined') {
        end = start(SwaggerUIBundle, host.current)
      }
    }
    const beginOrReload = () => void begin().catch(() => location.reload())
    if (document.readyState === 'complete') beginOrReload()
    else addEventListener('load', beginOrReload, { once: true })
    return () => {
      isGone = true
      end()
    }
  }, [])
  return (
    <DocsFrame path="/swagger">
      <div ref={host} class="swagger" />
    </DocsFrame>
  )
}

/** Adds to this document what is in the head of the page's own. */
async function loadAssets(): Promise<void> {
  const text = await (await fetch('/swagger')).text()
  const page = new DOMParser().parseFromString(text, 'text/html')
  const found = [...page.querySelectorAll('head [href^="/swagger/"], head [src^="/swagger/"]')]
  const loaded = found.map((each) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // A script that was parsed so does not run: it is made again.
    const element = document.createElement(each.tagName)
    for (const { name, value } of each.attributes) element.setAttribute(name, value)
    element.addEventListener('load', () => resolve())
    element.addEventListener('error', () =>
      reject(new Error('The API reference could not be loaded.')),
    )
    document.head.append(element)
    return promise
  })
  await Promise.all(loaded)
}

type Asked = { url: string; headers: Record<string, string> }

/** With a test key, the document has examples that the key can read. */
function withKey(asked: Asked): Asked {
  const key = apiKey.store.get()
  if (new URL(asked.url, location.href).pathname !== '/swagger/json' || key === undefined) {
    return asked
  }
  return { ...asked, headers: { ...asked.headers, Authorization: `Bearer ${key}` } }
}

function start(bundle: NonNullable<typeof SwaggerUIBundle>, domNode: HTMLElement | null) {
  const use = () => {
    const key = apiKey.store.get()
    if (key === undefined) ui.authActions.logout(['apiKey'])
    else ui.preauthorizeApiKey('apiKey', key)
  }
  const ui = bundle({
    url: '/swagger/json',
    domNode,
    plugins: [shareKey, linksOutsideButtons],
    requestInterceptor: withKey,
    // There is nothing to log out from yet.
    onComplete: () => void (apiKey.store.get() !== undefined && use()),
    deepLinking: true,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    defaultModelRendering: 'example',
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
  })
  return apiKey.store.subscribe(use)
}
