import { useEffect } from 'preact/hooks'

import { useLocation } from '../lib/location.ts'
import { matchPath } from '../paths.ts'
import { Header } from './header.tsx'
import { PageSlot } from './page-slot.tsx'

export function App() {
  const { path } = useLocation()
  const found = matchPath(path)
  useEffect(() => {
    document.getElementById('content')?.focus({ preventScroll: true })
  }, [found?.page])
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
      </footer>
    </>
  )
}
