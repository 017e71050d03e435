/** What is beside each page of the documentation. */

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

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
  // Where the list is higher than its room, the page that is open is seen in it.
  useLayoutEffect(() => {
    const here = list.current?.querySelector<HTMLElement>('[aria-current]')
    if (list.current === null || here == null) return
    const { top, height } = list.current.getBoundingClientRect()
    const box = here.getBoundingClientRect()
    list.current.scrollTop += box.top - top - (height - box.height) / 2
  }, [path])
  return (
    <div class="docs">
      <nav ref={list} class="docs-nav" aria-label="Documentation">
        <Links links={[['/docs', 'Quick start']]} path={path} />
        {[...groups].map(([group, entries]) => (
          <NavGroup key={group} {...{ group, entries, path }} />
        ))}
        <h2>Reference</h2>
        <Links links={references} path={path} />
      </nav>
      {children}
    </div>
  )
}

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
