/** The address of the page, and how links inside it change it without loading it again. */

import { useLayoutEffect, useState } from 'preact/hooks'

const listeners = new Set<() => void>()
const notify = () => {
  for (const listener of listeners) listener()
}

export const currentPath = (): string => location.pathname.replace(/(.)\/$/, '$1')

/** Goes to an address of ours; `replace` leaves no step to go back to. */
export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  const isSamePath = new URL(to, location.href).pathname === location.pathname
  if (how === 'replace') history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  if (!isSamePath) scrollTo({ top: 0 })
  notify()
}

/** Sets parameters of the address, or removes those that are undefined. */
export function setQuery(values: Readonly<Record<string, string | undefined>>): void {
  const url = new URL(location.href)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  if (url.href !== location.href) navigate(`${url.pathname}${url.search}`, 'replace')
}

export function useLocation(): { path: string; query: URLSearchParams } {
  const [, update] = useState('')
  useLayoutEffect(() => {
    const listener = () => update(location.href)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return { path: currentPath(), query: new URLSearchParams(location.search) }
}

/** Paths that are not pages of the dashboard. */
const isElsewhere = /^\/(v1\/|assets\/|swagger\/|(errors|llms\.txt|asyncapi\.json)(\/|$))/

/** True for a click that opens no new tab. */
export const isPlain = (event: MouseEvent): boolean =>
  !event.defaultPrevented &&
  event.button === 0 &&
  !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)

function isPage(link: HTMLAnchorElement): boolean {
  if (link.origin !== location.origin || isElsewhere.test(link.pathname)) return false
  if (link.target !== '' || link.hasAttribute('download')) return false
  return link.hash === '' || link.pathname !== location.pathname
}

/**
 * Handles clicks on links to pages; the browser handles other links, and clicks with a modifier
 * key.
 */
export function interceptLinks(): void {
  addEventListener('popstate', notify)
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || !isPlain(event) || !isPage(link)) return
    event.preventDefault()
    navigate(`${link.pathname}${link.search}${link.hash}`)
  })
}
