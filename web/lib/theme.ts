/** Light, dark, or as the system has it. The choice is not secret, so it may be stored. */

import { createStore } from './store.ts'

export type Theme = 'light' | 'dark'
/** Also read before the first paint, by the script in the page. */
const KEPT = 'bookfeed.theme'

const system = matchMedia('(prefers-color-scheme: dark)')
const chosen = (): Theme | undefined => {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : undefined
}
const current = (): Theme => chosen() ?? (system.matches ? 'dark' : 'light')

export const themeStore = createStore<Theme>(current())
system.addEventListener('change', () => themeStore.set(current()))

export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(KEPT, theme)
  } catch {
    // Without storage, the choice is kept as long as the page is open.
  }
  themeStore.set(theme)
}

/** A colour of the style sheet as a canvas takes it, such as `--bid`: hex digits after `#`. */
export const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim()
