/** Parsers of settings that are more than a text or a number; undefined if not accepted. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

import { isTimeframe, type Timeframe } from '#src/domain/market.ts'
import { findChain, homeChain } from '#src/domain/selling/payment-chain.ts'
import { bytes, integer } from '#src/platform/setting.ts'

export const isHttpUrl = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '')

const CACHE_MB_MAX = 65_536
export const BYTES_PER_MB = 1024 * 1024
export const megabytes = bytes(0, CACHE_MB_MAX, BYTES_PER_MB)

/** An address and a port, or a port of this machine only; empty for none. */
export function parseListener(text: string): { host: string; port: number } | '' | undefined {
  if (text === '') return text
  const [, host = '127.0.0.1', number = ''] =
    /^(?:\[?([A-Za-z0-9.:_-]+?)\]?:)?(\d+)$/.exec(text) ?? []
  const port = integer(0, 65_535).parse(number)
  return port === undefined ? undefined : { host, port }
}

/** The path of a file with one or more certificates, all readable; empty for none. */
export function parseCertificates(path: string): string | undefined {
  if (path === '') return path
  try {
    const blocks = readFileSync(path, 'utf8').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END[^-]+-----/g,
    )
    for (const block of blocks ?? []) new X509Certificate(block)
    return blocks === null ? undefined : path
  } catch {
    return undefined
  }
}

/** URLs of nodes by network (CAIP-2); a URL without a network is a node of the home chain. */
export function parseNodes(text: string): Readonly<Record<string, string>> | undefined {
  const nodes: Record<string, string> = {}
  for (const part of text === '' ? [] : text.split(/,\s*(?=eip155:\d+=)/)) {
    const [, network = homeChain.network, url = ''] = /^(?:(eip155:\d+)=)?(.*)$/s.exec(part) ?? []
    if (!findChain(network) || !isHttpUrl(url) || nodes[network] !== undefined) return undefined
    nodes[network] = url
  }
  return nodes
}

/** URLs of nodes on different hosts, so that they may be asked for the same. */
export function parseTradeNodes(text: string): readonly string[] | undefined {
  const urls = text === '' ? [] : text.split(',').map((url) => url.trim())
  const hosts = new Set(urls.map((url) => URL.parse(url)?.hostname))
  return urls.every(isHttpUrl) && hosts.size === urls.length ? urls : undefined
}

/** Names of price sources with their URLs; an empty URL selects the default. */
export function parseSpotSources(
  text: string,
): readonly { name: SpotName; url: string }[] | undefined {
  const sources = text === '' ? [] : text.split(',').map((part) => part.trim())
  const read = sources.map((part) => {
    const [, name = '', url = ''] = /^(live|rtds|page)(?:=(.+))?$/.exec(part) ?? []
    const scheme = name === 'page' ? /^https?:$/ : /^wss?:$/
    const isSound = name !== '' && (url === '' || scheme.test(URL.parse(url)?.protocol ?? ''))
    return isSound ? { name: name as SpotName, url } : undefined
  })
  const isEachOnce = new Set(read.map((source) => source?.name)).size === read.length
  return isEachOnce && read.every((source) => source !== undefined) ? read : undefined
}
type SpotName = 'live' | 'rtds' | 'page'

export function parseRates(text: string): Readonly<Partial<Record<Timeframe, number>>> | undefined {
  const rates: Partial<Record<Timeframe, number>> = {}
  for (const part of text === '' ? [] : text.split(',')) {
    const [name = '', rate = ''] = part.trim().split('=')
    const count = integer(1, 1000).parse(rate)
    if (!isTimeframe(name) || count === undefined) return undefined
    rates[name] = count
  }
  return rates
}

/** The origin in the form that browsers send, so that it can be compared. */
export function parseOrigin(text: string): string | undefined {
  if (text === '') return text
  const url = URL.parse(text)
  // Sign-in messages support neither IPv6 addresses nor host names of one label.
  const isNamed = isHttpUrl(text) && /^(localhost|([^.:]+\.)+[^.:]+)$/.test(url?.hostname ?? '')
  return isNamed && url?.href === `${url?.origin}/` ? url.origin : undefined
}
