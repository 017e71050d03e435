/** The frame of each page of the documentation. */

import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { type GuideEntry, guides } from './guides.ts'

const groups = Map.groupBy(guides, ({ group }) => group)
const references = [
  ['/swagger', 'API reference'],
  ['/asyncapi.json', 'Live stream (AsyncAPI)'],
  ['/llms.txt', 'For agents (llms.txt)'],
] as const

type Props = { path: string; children: ComponentChildren }

export function DocsFrame({ path, children }: Props) {
  const list = useRef<HTMLElement>(null)
  // If the list is taller than its box, scrolls it to the open page.
  useLayoutEffect(() => {
    const here = list.current?.querySelector<HTMLElement>('[aria-current]')
    if (list.current === null || here == null) return
    const { top, height } = list.current.getBoundingClientRect()
    const box = here.getBoundingClientRect()
    list.current.scrollTop += box.top - top - (height - box.height) / 2
  }, [path])
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  return (
    <div class="docs">
      <nav ref={list} class={isOpen ? 'docs-nav is-open' : 'docs-nav'} aria-label="Documentation">
        {/* On a phone, the list is a menu. */}
        <button
          type="button"
          class="button docs-toggle"
          aria-expanded={isOpen}
          aria-controls="docs-list"
          onClick={() => setOpen(!isOpen)}
        >
          <span>
            Documentation: <b>{titleOf(path)}</b>
          </span>
          <span aria-hidden="true">{isOpen ? '▴' : '▾'}</span>
        </button>
        <div id="docs-list">
          <Links links={[['/docs', 'Quick start']]} path={path} />
          {[...groups].map(([group, entries]) => (
            <NavGroup key={group} {...{ group, entries, path }} />
          ))}
          <h2>Reference</h2>
          <Links links={references} path={path} />
        </div>
      </nav>
      {children}
    </div>
  )
}

const titleOf = (path: string): string =>
  guides.find(({ name }) => path === `/docs/${name}`)?.title ??
  references.find(([href]) => href === path)?.[1] ??
  'Quick start'

type Link = readonly [href: string, title: string]

const Links = ({ links, path }: { links: readonly Link[]; path: string }) => (
  <ul>
    {links.map(([href, title]) => (
      <li key={href}>
        <a href={href} {...(href === path ? { 'aria-current': 'page' as const } : {})}>
          {title}
        </a>
      </li>
    ))}
  </ul>
)

type NavGroupProps = { group: string; entries: readonly GuideEntry[]; path: string }

function NavGroup({ group, entries, path }: NavGroupProps) {
  const links = entries.map(({ name, title }): Link => [`/docs/${name}`, title])
  if (group !== 'Decisions') {
    return (
      <>
        <h2>{group}</h2>
        <Links links={links} path={path} />
      </>
    )
  }
  return (
    <details open={links.some(([href]) => href === path)}>
      <summary>{group}</summary>
      <Links links={links} path={path} />
    </details>
  )
}
