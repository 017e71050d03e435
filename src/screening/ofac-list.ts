/**
 * Reads the EVM addresses from OFAC's list of sanctioned persons. A list that is truncated or
 * otherwise doubtful is refused as a whole: a missing address would pass as not sanctioned.
 */

import { setImmediate } from 'node:timers/promises'

import sax from 'sax'

import { type ElementHandler, listFault, type ListFormat, listFormats } from './list-format.ts'

/** Takes about two milliseconds; waiting requests run between slices. */
const SLICE_BYTES = 65_536

export type OfacList = {
  publishedOn: string
  addresses: ReadonlySet<string>
  /** Digest of the bytes, hex. */
  sha256: string
}

/**
 * Reads a list in constant memory. Throws `sanctions_list` faults, errors of `chunks`, on abort.
 */
export async function readOfacList(
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<OfacList> {
  const addresses = new Set<string>()
  const scanner = createXmlScanner(addresses)
  const decode = createDecoder()
  const hasher = new Bun.CryptoHasher('sha256')

  for await (const chunk of chunks) {
    hasher.update(chunk)
    for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
      signal?.throwIfAborted()
      scanner.write(decode(chunk.subarray(at, at + SLICE_BYTES)))
      await setImmediate()
    }
  }
  scanner.write(decode())
  const publishedOn = scanner.end().finish()
  if (addresses.size === 0) throw listFault('has no EVM address')
  return { publishedOn, addresses, sha256: hasher.digest('hex') }
}

/** Called without an argument, it ends the text. */
function createDecoder(): (bytes?: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (bytes) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch (cause) {
      throw listFault('is not UTF-8', { cause })
    }
  }
}

/** The types lack `strictEntities`. The parser bounds its buffers only if it counts positions. */
const options = { strictEntities: true, position: true }
const DEPTH_MAX = 64
/** Values of interest are dates, labels and addresses. */
const TEXT_LENGTH_MAX = 4096
/** The parser's messages quote names, which may be long. */
const FAULT_LENGTH_MAX = 100

/** A strict XML scanner in constant memory, without DOCTYPE or entities. */
function createXmlScanner(addresses: Set<string>) {
  const parser = sax.parser(true, options)
  const levels: { name: string; handler: ElementHandler | undefined; text: string }[] = []
  let format: ListFormat | undefined
  /** Most elements can be skipped by their name alone. */
  let names: ReadonlySet<string | undefined> = new Set()

  const fail = (reason: string): never => {
    throw listFault(reason)
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
      if (format !== undefined) fail('has more than one root')
      const create = listFormats.get(name) ?? fail('is neither SDN.XML nor SDN_ADVANCED.XML')
      format = create(addresses)
      names = new Set(Object.keys(format.elements).map((key) => key.split('/')[1]))
    }
    if (levels.length === DEPTH_MAX) fail('is nested too deeply')
    const handler = names.has(name) ? format?.elements[`${parent}/${name}`] : undefined
    levels.push({ name, handler, text: '' })
    // Namespaces are off, so attributes are plain texts.
    handler?.open?.(attributes as Record<string, string>)
  }
  parser.ontext = collect
  parser.oncdata = collect
  parser.onclosetag = () => {
    const level = levels.pop()
    level?.handler?.close?.(level.text)
  }

  return {
    write: (text: string) => void parser.write(text),
    end(): ListFormat {
      parser.close()
      return format ?? fail('is empty')
    },
  }
}
