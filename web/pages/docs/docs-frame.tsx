/** What is beside each page of the documentation. */

import type { ComponentChildren } from 'preact'

import { type GuideEntry, guides } from './guides.ts'

const groups = Map.groupBy(guides, ({ group }) => group)
const references = [
  ['/swagger', 'API reference'],
  ['/asyncapi.json', 'Live stream (AsyncAPI)'],
  ['/llms.txt', 'For agents (llms.txt)'],
] as const

type Props = { path: string; children: ComponentChildren }

export const DocsFrame = ({ path, children }: Props) => (
  <div class="docs">
    <nav class="docs-nav" aria-label="Documentation">
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
