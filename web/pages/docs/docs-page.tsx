import { useEffect, useState } from 'preact/hooks'

import { copyText } from '../../lib/copy.ts'
import { useTitle } from '../../lib/title.ts'
import type { Params } from '../../paths.ts'
import { DocsFrame } from './docs-frame.tsx'
import { type Guide, type GuideEntry, guides } from './guides.ts'
import { QuickStart } from './quick-start.tsx'

/** The text of a block of code includes that of its button. */
const copyCode = ({ target }: Event) => {
  if (!(target instanceof HTMLButtonElement) || !('copy' in target.dataset)) return
  const text = target.previousElementSibling?.textContent ?? ''
  void copyText(text).then((word) => {
    target.textContent = word
    setTimeout(() => (target.textContent = 'Copy'), COPIED_MS)
  })
}
const COPIED_MS = 2_000

export function DocsPage({ params: { name } }: { params: Params }) {
  const entry = guides.find((each) => each.name === name)
  useTitle(entry?.title)
  useEffect(() => {
    addEventListener('click', copyCode)
    return () => removeEventListener('click', copyCode)
  }, [])
  return (
    <DocsFrame path={name === undefined ? '/docs' : `/docs/${name}`}>
      {name === undefined && <QuickStart />}
      {entry && <GuideText key={entry.name} entry={entry} />}
      {name !== undefined && !entry && (
        <article>
          <h1>No such guide</h1>
          <p>
            This guide does not exist. <a href="/docs">Quick start</a>
          </p>
        </article>
      )}
    </DocsFrame>
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
        This guide could not be loaded. <a href={location.href}>Load again</a>.
      </p>
    )
  }
  return (
    <>
      {/* Made from the documents of this project when the page was built. */}
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
