/** The reference of the API: every operation by tag, to try out with the key of the tab. */

import { useEffect, useRef, useState } from 'preact/hooks'

import { type ApiIndex, type IndexedOperation, readIndex } from './api-index.ts'
import { ApiOperation } from './api-operation.tsx'
import { DocsFrame } from './docs-frame.tsx'

export function SwaggerPage() {
  const [index, setIndex] = useState<ApiIndex | 'failed'>()
  useEffect(() => {
    readIndex().then(setIndex, () => setIndex('failed'))
  }, [])
  return (
    <DocsFrame path="/swagger">
      <div class="api">
        {index === 'failed' && (
          <p role="alert">
            The reference could not be loaded. <a href={location.href}>Load again</a>.
          </p>
        )}
        {index === undefined && <div class="page-wait" aria-busy="true" />}
        {typeof index === 'object' && <Reference index={index} />}
      </div>
    </DocsFrame>
  )
}

/** The tag and the operation that the address names, as Swagger UI writes them. */
const readHash = (): [tag: string | undefined, id: string | undefined] => {
  const [, tag, id] = decodeURIComponent(location.hash).split('/')
  return [tag, id]
}

function Reference({ index }: { index: ApiIndex }) {
  const [hash, setHash] = useState(readHash)
  useEffect(() => {
    const read = () => setHash(readHash())
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return (
    <>
      <header class="stack">
        <h1>API reference</h1>
        <p class="note">
          Version {index.version} · <a href="/openapi.json">OpenAPI document</a> · Licence:
          proprietary, all rights reserved
        </p>
        <details class="api-about prose">
          <summary>Conventions: times, names, pages, failures, keys, limits</summary>
          {/* Our own text. */}
          <div dangerouslySetInnerHTML={{ __html: index.about }} />
        </details>
      </header>
      {index.tags.map((tag) => (
        <Tag key={tag.name} index={index} tag={tag} hash={hash} />
      ))}
    </>
  )
}

type TagProps = {
  index: ApiIndex
  tag: ApiIndex['tags'][number]
  hash: ReturnType<typeof readHash>
}

function Tag({ index, tag, hash: [hashTag, hashId] }: TagProps) {
  const { name, description, operations } = tag
  const isNamed = hashTag === name
  const [isOpen, setOpen] = useState(isNamed)
  useEffect(() => {
    if (isNamed) setOpen(true)
  }, [isNamed, hashId])
  return (
    <details
      class="api-tag card flush"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <h2>{name}</h2>
        <span>{description}</span>
        <span class="note num">{operations.length}</span>
      </summary>
      {isOpen && (
        <ul>
          {operations.map((operation) => (
            <Row
              key={operation.id}
              index={index}
              tag={name}
              operation={operation}
              isNamed={isNamed && hashId === operation.id}
            />
          ))}
        </ul>
      )}
    </details>
  )
}

type RowProps = { index: ApiIndex; tag: string; operation: IndexedOperation; isNamed: boolean }

function Row({ index, tag, operation, isNamed }: RowProps) {
  const { method, path, id, summary } = operation
  const [isOpen, setOpen] = useState(isNamed)
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!isNamed) return
    setOpen(true)
    row.current?.scrollIntoView()
  }, [isNamed])
  const toggle = () => {
    // Puts the operation into the address, without a new entry in the history.
    if (!isOpen) history.replaceState(history.state, '', `#/${tag}/${id}`)
    setOpen(!isOpen)
  }
  return (
    <li ref={row} id={`operations-${tag}-${id}`}>
      <button type="button" class="api-row" aria-expanded={isOpen} onClick={toggle}>
        <b class={`api-method ${method.toLowerCase()}`}>{method}</b>
        <code>{path}</code>
        <span>{summary}</span>
      </button>
      {isOpen && <ApiOperation index={index} operation={operation} />}
    </li>
  )
}
