import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

import { facts } from '../lib/facts.ts'
import { titleOf } from '../lib/format.ts'
import { tokenStore } from '../lib/key.ts'
import { useLocation } from '../lib/location.ts'
import { useStore } from '../lib/store.ts'
import { coinNames } from '../parts/links.tsx'
import { matchPath, pageName } from '../paths.ts'
import { Header } from './header.tsx'
import { PageSlot } from './page-slot.tsx'

export function App() {
  const { path } = useLocation()
  const found = matchPath(path)
  const token = useStore(tokenStore)
  const coin = found?.params.coin?.toLowerCase()
  const isOfCoin = coin === undefined || coin in coinNames
  const name = pageName(isOfCoin ? found?.module : undefined, coin && coinNames[coin])
  // Before the effects of the page, which may know a better one.
  useLayoutEffect(() => {
    document.title = titleOf(name)
  }, [path])
  const isFirst = useRef(true)
  useEffect(() => {
    // A document that was just loaded keeps the focus that the browser gave it.
    if (!isFirst.current) document.getElementById('content')?.focus({ preventScroll: true })
    isFirst.current = false
  }, [found?.module])
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <Header path={path} />
      <main id="content" tabIndex={-1}>
        <PageSlot found={found} />
      </main>
      <footer class="foot">
        <span>Bookfeed: order books as they were.</span>
        <a href="/swagger">API reference</a>
        <a href="/llms.txt">llms.txt</a>
        <a href="/errors">Error codes</a>
        {(facts.operator === 'open' || token !== undefined) && <a href="/admin">Admin</a>}
      </footer>
    </>
  )
}
