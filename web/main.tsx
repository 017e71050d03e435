/** What the browser starts with. */

import { render } from 'preact'

import { App } from './app/app.tsx'
import { interceptLinks } from './lib/location.ts'
import './styles/base.css'
import './styles/parts.css'
import './styles/docs.css'
import './styles/pay.css'

interceptLinks()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
