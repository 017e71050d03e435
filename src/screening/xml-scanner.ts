/**
 * A strict pass over XML in pieces, in constant memory. Nothing is expanded: a DOCTYPE is refused,
 * and so is every entity but the five of XML itself. The only file that knows the parser.
 */
import sax from 'sax'

import { type ElementHandler, ListFault, type ListFormat } from './list-format.ts'

/** Its types do not know the first. It bounds its buffers only where it counts positions. */
const options = { strictEntities: true, position: true }
const DEPTH_MAX = 64
/** What we read are dates, labels and addresses. */
const TEXT_LENGTH_MAX = 4096
/** The parser repeats names, which may be long. */
const FAULT_LENGTH_MAX = 100

export type XmlScanner = {
  /** Takes the next piece. Throws `ListFault`. */
  write(text: string): void
  /** Ends the document. Throws `ListFault` if it is not whole. */
  end(): void
}

/** An element that is open; `handler` is undefined for most. */
type Level = { name: string; handler: ElementHandler | undefined; text: string }

/** `begin` is asked at the root for the format of the document. */
export function createXmlScanner(begin: (root: string) => ListFormat): XmlScanner {
  const parser = sax.parser(true, options)
  const levels: Level[] = []
  let find: ((parent: string, name: string) => ElementHandler | undefined) | undefined

  const fail = (reason: string): never => {
    throw new ListFault(reason)
  }
  const collect = (text: string) => {
    const level = levels.at(-1)
    if (level?.handler?.close === undefined) return
    level.text += text
    if (level.text.length > TEXT_LENGTH_MAX) fail('has an overlong value')
  }

  parser.onerror = ({ message }) =>
    fail(`is not well-formed: ${message.split('\n', 1)[0]?.slice(0, FAULT_LENGTH_MAX)}`)
  parser.ondoctype = () => fail('has a DOCTYPE')
  parser.onsgmldeclaration = () => fail('has a declaration of its own')
  parser.onopentag = ({ name, attributes }) => {
    const parent = levels.at(-1)?.name
    if (parent === undefined) {
      if (find !== undefined) fail('has more than one root')
      find = createLookup(begin(name))
    }
    if (levels.length === DEPTH_MAX) fail('is nested too deeply')
    const handler = parent === undefined ? undefined : find?.(parent, name)
    levels.push({ name, handler, text: '' })
    // Without namespaces, which are off, attributes are plain texts.
    handler?.open?.(attributes as Record<string, string>)
  }
  parser.ontext = collect
  parser.oncdata = collect
  parser.onclosetag = () => {
    const level = levels.pop()
    level?.handler?.close?.(level.text)
  }

  return {
    write: (text) => void parser.write(text),
    end() {
      parser.close()
      if (find === undefined) fail('is empty')
    },
  }
}

/** Most elements are of no interest, and their names alone say so. */
function createLookup({ elements }: ListFormat) {
  const handlers = new Map(Object.entries(elements))
  const names = new Set([...handlers.keys()].map((key) => key.split('/')[1]))
  return (parent: string, name: string) =>
    names.has(name) ? handlers.get(`${parent}/${name}`) : undefined
}
