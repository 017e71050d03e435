import { useEffect, useState } from 'preact/hooks'

import { copyText } from '../../lib/copy.ts'
import type { Params } from '../../paths.ts'
import { type Guide, type GuideEntry, guides } from './guides.ts'
import { QuickStart } from './quick-start.tsx'

/** Blocks of code have a button, which is part of their text. */
const copyCode = ({ target }: Event) => {
  if (!(target instanceof HTMLButtonElement) || !('copy' in target.dataset)) return
  const text = target.previousElementSibling?.textContent ?? ''
  void copyText(text).then((word) => {
    target.textContent = word
  })
}

const groups = Map.groupBy(guides, ({ group }) => group)
const references = [
  ['/swagger', 'API reference'],
  ['/asyncapi.json', 'Live stream (AsyncAPI)'],
  ['/llms.txt', 'For agents (llms.txt)'],
] as const

export function DocsPage({ params: { name } }: { params: Params }) {
  const entry = guides.find((each) => each.name === name)
  useEffect(() => {
    addEventListener('click', copyCode)
    return () => removeEventListener('click', copyCode)
  }, [])
  return (
    <div class="docs">
      <nav class="docs-nav" aria-label="Documentation">
        <ul>
          <li>
            <a href="/docs" {...current(name === undefined)}>
              Quick start
            </a>
          </li>
        </ul>
        {[...groups].map(([group, entries]) => (
          <NavGroup key={group} group={group} entries={entries} name={name} />
        ))}
        <h2>Reference</h2>
        <ul>
          {references.map(([href, title]) => (
            <li key={href}>
              <a href={href}>{title}</a>
            </li>
          ))}
        </ul>
      </nav>
      {name === undefined && <QuickStart />}
      {entry && <GuideText key={entry.name} entry={entry} />}
      {name !== undefined && !entry && (
        <article>
          <h1>No such guide</h1>
          <p>
            There is no guide of this name. <a href="/docs">Quick start</a>
          </p>
        </article>
      )}
    </div>
  )
}

const current = (isHere: boolean) => (isHere ? { 'aria-current': 'page' as const } : {})

type NavGroupProps = { group: string; entries: GuideEntry[]; name: string | undefined }

function NavGroup({ group, entries, name }: NavGroupProps) {
  const list = (
    <ul>
      {entries.map((entry) => (
        <li key={entry.name}>
          <a href={`/docs/${entry.name}`} {...current(entry.name === name)}>
            {entry.title}
          </a>
        </li>
      ))}
    </ul>
  )
  if (group !== 'Decisions') {
    return (
      <>
        <h2>{group}</h2>
        {list}
      </>
    )
  }
  return (
    <details open={entries.some((entry) => entry.name === name)}>
      <summary>{group}</summary>
      {list}
    </details>
  )
}

function GuideText({ entry }: { entry: GuideEntry }) {
  const [guide, setGuide] = useState<Guide | 'failed'>()
  useEffect(() => {
    entry.load().then(setGuide, () => setGuide('failed'))
  }, [entry])
  useEffect(() => {
    const { hash } = location
    if (guide && hash) document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView()
  }, [guide])
  if (guide === undefined) return <article class="page-wait" aria-busy="true" />
  if (guide === 'failed') {
    return (
      <p role="alert">
        This guide could not be loaded. <a href={location.href}>Load it again</a>.
      </p>
    )
  }
  return (
    <>
      {/* Made of our own documents when the page was built. */}
      <article class="prose" dangerouslySetInnerHTML={{ __html: guide.html }} />
      {guide.headings.length > 1 && (
        <nav class="docs-toc" aria-label="On this page">
          <h2>On this page</h2>
          <ul>
            {guide.headings.map(({ id, text }) => (
              <li key={id}>
                <a href={`#${id}`}>{text}</a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </>
  )
}
