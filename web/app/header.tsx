import { apiKey, isTestKey } from '../lib/key.ts'
import { useStore } from '../lib/store.ts'
import { setTheme, themeStore } from '../lib/theme.ts'
import { ConnectionTag } from './connection-tag.tsx'
import { Find } from './find.tsx'
import { KeyMenu } from './key-menu.tsx'

const links = [
  { to: '/', name: 'Board', isHere: (path: string) => path === '/' },
  { to: '/markets/btc', name: 'Explore', isHere: (path: string) => path.startsWith('/markets') },
  { to: '/coverage', name: 'Coverage', isHere: (path: string) => path.startsWith('/coverage') },
  {
    to: '/calibration',
    name: 'Calibration',
    isHere: (path: string) => path.startsWith('/calibration'),
  },
  { to: '/pricing', name: 'Pricing', isHere: (path: string) => path === '/pricing' },
  { to: '/account', name: 'Account', isHere: (path: string) => path === '/account' },
  { to: '/docs', name: 'Docs', isHere: (path: string) => /^\/(docs|swagger)/.test(path) },
]

export const Header = ({ path }: { path: string }) => (
  <header class="top">
    <div class="top-row">
      <a class="brand" href="/" aria-label="Bookfeed, start page">
        <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
          <path class="brand-bid" d="M2 4h9v4H2zM5 10h6v4H5zM8 16h3v4H8z" />
          <path class="brand-ask" d="M13 4h3v4h-3zM13 10h6v4h-6zM13 16h9v4h-9z" />
        </svg>
        <span>Bookfeed</span>
      </a>
      <nav aria-label="Main">
        {links.map(({ to, name, isHere }) => (
          <a key={to} href={to} {...(isHere(path) ? { 'aria-current': 'page' } : {})}>
            {name}
          </a>
        ))}
      </nav>
      <div class="top-tools">
        <ConnectionTag />
        <Find />
        <ModeTag />
        <KeyMenu />
        <ThemeSwitch />
      </div>
    </div>
  </header>
)

/** Marks simulated data, so that it is not taken for recorded data. */
const ModeTag = () =>
  isTestKey(useStore(apiKey.store)) ? <span class="tag warn">Test mode</span> : null

function ThemeSwitch() {
  const theme = useStore(themeStore)
  const other = theme === 'dark' ? 'light' : 'dark'
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Use the ${other} theme`}
      onClick={() => setTheme(other)}
    >
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        {theme === 'dark' ? (
          <path d="M10 3V1M10 19v-2M3 10H1M19 10h-2M5 5 3.6 3.6M16.4 16.4 15 15M15 5l1.4-1.4M3.6 16.4 5 15M10 6a4 4 0 1 0 0 8 4 4 0 0 0 0-8z" />
        ) : (
          <path d="M17 12A7.5 7.5 0 0 1 8 3a7.5 7.5 0 1 0 9 9z" />
        )}
      </svg>
    </button>
  )
}
