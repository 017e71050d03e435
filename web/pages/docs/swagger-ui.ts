/** Swagger UI for one operation, with the parts that the page draws itself left out. */

import { request } from '../../lib/api.ts'
import type { ApiRequest } from '../../lib/calls.ts'
import { apiKey } from '../../lib/key.ts'
import type { ApiIndex, IndexedOperation } from './api-index.ts'

type Props = { children?: unknown }
type Component = (props: Props) => unknown
type Immutable = { toJS(): Record<string, unknown> }
type System = {
  getStore(): { subscribe(listener: () => void): () => void }
  specSelectors: { parameterValues(operation: [path: string, method: string]): Immutable }
  oas3Selectors: { requestBodyValue(path: string, method: string): unknown }
}
type Ui = { getSystem(): System }
/** Its script is loaded when the first operation is opened. */
declare const SwaggerUIBundle: (options: object) => Ui

const nothing = () => () => null

/** The page names the operation and shows its code, and the header of the page has the key. */
const operationAlone = () => ({
  wrapComponents: {
    OperationTag: () => (props: Props) => props.children,
    OperationSummary: nothing,
    curl: nothing,
    RequestSnippets: nothing,
  } satisfies Record<string, (original: Component) => Component>,
})

const withKey = (asked: { url: string; headers: Record<string, string> }) => ({
  ...asked,
  headers: {
    ...asked.headers,
    Authorization: apiKey.authorization(new URL(asked.url, location.href).pathname),
  },
})

let loading: Promise<unknown> | undefined

/** Loads Swagger UI once; another try after a failure loads it again. */
export function loadSwagger({ script, styles }: ApiIndex): Promise<unknown> {
  loading ??= Promise.all([
    append(Object.assign(document.createElement('script'), { src: script })),
    ...styles.map((href) =>
      append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href })),
    ),
  ]).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

function append(element: HTMLElement): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  element.addEventListener('load', () => resolve())
  element.addEventListener('error', () => {
    element.remove()
    reject(new Error('Swagger UI could not be loaded.'))
  })
  document.head.append(element)
  return promise
}

type Operation = { responses: Record<string, { content?: Record<string, unknown> }> }
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, unknown>>
}

const documents = new Map<string | undefined, Promise<ApiDocument>>()

/** The document of the API, with examples that the key of the tab can read. */
export function loadDocument(): Promise<ApiDocument> {
  const key = apiKey.store.get()
  const known = documents.get(key)
  if (known !== undefined) return known
  const authorization = key === undefined ? null : `Bearer ${key}`
  const loaded = request<ApiDocument>('/swagger/json', { authorization }).catch(
    (error: unknown) => {
      documents.delete(key)
      throw error
    },
  )
  documents.set(key, loaded)
  return loaded
}

/** The document of one operation: Swagger UI reads all of it as text, so the rest is left out. */
function documentOf(whole: ApiDocument, { path, method }: IndexedOperation): object {
  const operation = whole.paths[path]?.[method.toLowerCase()]
  const components: ApiDocument['components'] = {}
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('$ref' in value) {
      const [, , kind = '', name = ''] = String(value.$ref).split('/')
      if (components[kind]?.[name] !== undefined) return
      const part = whole.components[kind]?.[name]
      components[kind] = { ...components[kind], [name]: part }
      collect(part)
      return
    }
    for (const each of Object.values(value)) collect(each)
  }
  collect(operation)
  return {
    ...whole,
    tags: [],
    components,
    // The key is that of the tab.
    paths: { [path]: { [method.toLowerCase()]: { ...operation, tags: ['one'], security: [] } } },
  }
}

/**
 * Draws an operation, and calls with the request that its fields describe whenever that changes.
 */
export function drawOperation(
  host: HTMLElement,
  whole: ApiDocument,
  operation: IndexedOperation,
  onCall: (call: ApiRequest) => void,
): () => void {
  const ui = SwaggerUIBundle({
    spec: documentOf(whole, operation),
    domNode: host,
    layout: 'operations',
    plugins: [operationAlone],
    requestInterceptor: withKey,
    docExpansion: 'full',
    displayRequestDuration: true,
    tryItOutEnabled: true,
    defaultModelRendering: 'example',
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
  })
  const system = ui.getSystem()
  const isFile = !answersJson(whole, operation)
  let before = ''
  const tell = () => {
    const call = readCall(system, operation, isFile)
    const text = JSON.stringify(call)
    if (text === before) return
    before = text
    onCall(call)
  }
  tell()
  return system.getStore().subscribe(tell)
}

function answersJson(whole: ApiDocument, { path, method }: IndexedOperation): boolean {
  const { responses } = whole.paths[path]?.[method.toLowerCase()] ?? { responses: {} }
  const sound = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  return sound?.content === undefined || 'application/json' in sound.content
}

/** The request with the current values of the fields. */
function readCall(system: System, { path, method }: IndexedOperation, isFile: boolean): ApiRequest {
  const values = system.specSelectors.parameterValues([path, method.toLowerCase()]).toJS()
  let filled = path
  const query: Record<string, string> = {}
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === '') continue
    const text = Array.isArray(value) ? value.join(',') : String(value)
    if (name.startsWith('path.'))
      filled = filled.replace(`{${name.slice(5)}}`, encodeURIComponent(text))
    if (name.startsWith('query.')) query[name.slice(6)] = text
  }
  const body = system.oas3Selectors.requestBodyValue(path, method.toLowerCase())
  return {
    path: filled,
    query,
    method,
    isFile,
    ...(typeof body === 'string' && body.trim() !== '' ? { body } : {}),
  }
}
