/**
 * Reads OFAC's list of sanctioned persons as published, in either of its XML formats, for the EVM
 * addresses on it. A list that is cut off or otherwise doubtful is refused as a whole: an address
 * that went missing on the way would pass for one that is not sanctioned.
 */
import { setImmediate } from 'node:timers/promises'

import { ListFault, type ListFormat } from './list-format.ts'
import { createSdnAdvancedFormat, SDN_ADVANCED_ROOT } from './sdn-advanced-format.ts'
import { createSdnFormat, SDN_ROOT } from './sdn-format.ts'
import { createXmlScanner } from './xml-scanner.ts'

/** Takes about two milliseconds, after which waiting requests run. */
const SLICE_BYTES = 65_536

export type OfacList = {
  /** The publisher's date: `2026-11-20`. */
  publishedOn: string
  /** Lower case. */
  addresses: ReadonlySet<string>
  /** Of the bytes, hex. */
  sha256: string
}

/** Reads a list in constant memory. Throws `ListFault`, what `chunks` throws, and at abort. */
export async function readOfacList(
  chunks: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<OfacList> {
  const addresses = new Set<string>()
  let format: ListFormat | undefined
  const scanner = createXmlScanner((root) => {
    format = createFormat(root, addresses)
    return format
  })
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
  scanner.end()

  const publishedOn = format?.finish()
  if (publishedOn === undefined) throw new ListFault('is empty')
  if (addresses.size === 0) throw new ListFault('has no EVM address')
  return { publishedOn, addresses, sha256: hasher.digest('hex') }
}

function createFormat(root: string, addresses: Set<string>): ListFormat {
  if (root === SDN_ROOT) return createSdnFormat(addresses)
  if (root === SDN_ADVANCED_ROOT) return createSdnAdvancedFormat(addresses)
  throw new ListFault('is neither SDN.XML nor SDN_ADVANCED.XML')
}

/** Without an argument it ends the text. */
function createDecoder(): (bytes?: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (bytes) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch (cause) {
      throw new ListFault('is not UTF-8', { cause })
    }
  }
}
