/** Entry point of the browser. */

import { render } from 'preact'

import './styles/base.css'
import './styles/parts.css'
import './styles/docs.css'
import './styles/pay.css'
import './styles/find.css'
import { App } from './app/app.tsx'
import { loadPage } from './app/page-slot.tsx'
import { currentPath, interceptLinks } from './lib/location.ts'
import { matchPath } from './paths.ts'

interceptLinks()
// The document has its code fetched already: the first paint shows all of the page.
const found = matchPath(currentPath())
const loading = found === undefined ? Promise.resolve() : loadPage(found.module)
const start = () => {
  const root = document.getElementById('app')
  if (root !== null) render(<App />, root)
}
loading.then(start, start)
