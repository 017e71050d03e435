/** Verifies a server's manifests through its public routes only, as a third party. */

import { createHash } from 'node:crypto'

import { InvalidArgumentError } from 'commander'

import { printFaults } from '#src/cli/command-line.ts'
import {
  canonicalJson,
  isSigned,
  type ManifestBody,
  type MarketDigest,
  seriesText,
  sha256,
  type SignedStatement,
} from '#src/domain/manifest.ts'
import { toDigested } from '#src/domain/trade.ts'
import { count } from '#src/platform/count.ts'
import { codeOf } from '#src/platform/message.ts'
import { toPrintable } from '#src/platform/printable.ts'
import { isRecord } from '#src/platform/record.ts'
import { readSecretFile } from '#src/platform/secret-file.ts'
import { commandError } from '#src/server/command-end.ts'
import type { CliContext } from '#src/server/extension.ts'
import { splitList } from '#src/tables/json-rows.ts'

export type VerifyWorld = {
  fetch: (url: string, init: RequestInit) => Promise<Response>
  sleep: (ms: number) => Promise<void>
}
export const realWorld: VerifyWorld = {
  fetch: (url, init) => fetch(url, init),
  sleep: Bun.sleep,
}

/** Parses a URL; throws the error for the command line. */
export function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url
  throw new InvalidArgumentError('It must be a URL such as https://books.example.com.')
}

export type VerifyFlags = {
  manifest?: URL | undefined
  publicKey?: string | undefined
  apiKeyFile?: string | undefined
}

const TIMEOUT_MS = 120_000
/** Retries of one request, each after the wait that the server asks for. */
const WAITS_MAX = 20
const WAIT_SECONDS_MAX = 60
const PAGE = 1000

/** Prints each fault; throws a `command` fault if there is any. */
export async function verifyManifest(
  context: CliContext,
  { manifest: url = new URL('http://localhost'), publicKey, apiKeyFile }: VerifyFlags,
  world: VerifyWorld,
): Promise<void> {
  const key = apiKeyFile && readSecretFile(apiKeyFile, `--api-key-file: ${apiKeyFile}`)
  const server = createServer(url, key || undefined, world)
  const wellKnown = (await server.json('/.well-known/bookfeed.json')) as unknown as WellKnown
  const chain = await readChain(server)
  const faults = [...checkChain(chain, publicKey ?? wellKnown.publicKey, wellKnown.newest)]
  const path = /\/v1\/manifest$/.test(url.pathname) ? url.pathname + url.search : '/v1/manifest'
  const shown = (await server.json(path)) as unknown as Shown
  faults.push(...checkBody(shown, chain))
  const name = `manifest ${shown.sequence}, ${shown.day} r${shown.revision}`
  const markets = shown.manifest.series.flatMap(({ coin, markets: own }) =>
    own.map((market) => ({ coin, market })),
  )
  if (key) {
    for (const [done, { coin, market }] of markets.entries()) {
      for await (const fault of checkMarket(server, coin, market)) faults.push(fault)
      context.printError(`compared ${done + 1} of ${markets.length} markets`)
    }
  }
  if (printFaults(context, faults.map(toPrintable)) > 0)
    throw commandError(`${count(faults.length, 'fault')} in ${name}, or the chain to it.`)
  const compared = key
    ? `${count(markets.length, 'market')} compared with the data of the server`
    : 'no market compared: add --api-key-file'
  context.print(
    `sound: ${count(chain.length, 'manifest')}, chained and signed; ${name}: ${compared}`,
  )
  if (publicKey === undefined)
    context.print(
      `The key comes from the server itself. To pin it, add --public-key ${wellKnown.publicKey}`,
    )
}

type Shown = SignedStatement & { manifest: ManifestBody }
type WellKnown = { publicKey: string; newest: { sequence: number; digest: string } | null }
type Server = ReturnType<typeof createServer>

/** Calls the public routes of a server; waits if the server asks for it. */
export function createServer(url: URL, key: string | undefined, { fetch, sleep }: VerifyWorld) {
  async function ask(path: string): Promise<Response> {
    for (let waits = 0; ; waits++) {
      const response = await fetch(new URL(path, url.origin).href, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch((cause: unknown) => {
        throw commandError(`${url.origin} does not respond (${codeOf(cause)}).`, { cause })
      })
      if (response.ok) return response
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      if (!(seconds <= WAIT_SECONDS_MAX) || waits === WAITS_MAX) {
        const text = (await response.text()).slice(0, PAGE)
        throw commandError(
          toPrintable(`${path}: the server responds with ${response.status}. ${text}`),
        )
      }
      await sleep(Math.max(1, seconds) * 1000)
    }
  }
  return {
    ask,
    /** Throws a `command` fault with the server's explanation if a call fails. */
    async json(path: string): Promise<Record<string, unknown>> {
      const value: unknown = JSON.parse(await (await ask(path)).text())
      if (isRecord(value)) return value
      throw commandError(`${path}: the response is not an object. Is this a bookfeed server?`)
    },
  }
}

async function readChain(server: Server): Promise<SignedStatement[]> {
  const chain: SignedStatement[] = []
  let path = `/v1/manifests?limit=${PAGE}`
  for (;;) {
    const page = (await server.json(path)) as {
      data: SignedStatement[]
      nextCursor: string | null
    }
    chain.push(...page.data)
    if (page.nextCursor === null) return chain
    path = `/v1/manifests?limit=${PAGE}&cursor=${encodeURIComponent(page.nextCursor)}`
  }
}

/** Yields one sentence per fault. */
export function* checkChain(
  chain: readonly SignedStatement[],
  publicKey: string,
  newest: WellKnown['newest'],
): Generator<string> {
  let before: SignedStatement | undefined
  for (const each of chain) {
    const name = `manifest ${each.sequence} (${each.day} r${each.revision})`
    const expected = (before?.sequence ?? 0) + 1
    if (each.sequence !== expected) yield `manifest ${expected} is missing: ${name} comes next`
    if (each.previous !== (before?.digest ?? null))
      yield `${name} does not follow the previous one: it contains another digest`
    if (each.publicKey !== publicKey)
      yield `${name} is signed by another key, ${each.publicKey}, not ${publicKey}`
    else if (!isSigned(each)) yield `${name} does not match its signature`
    before = each
  }
  if (newest?.digest !== before?.digest) yield 'the chain does not end with its head'
}

function* checkBody(
  { manifest, ...statement }: Shown,
  chain: readonly SignedStatement[],
): Generator<string> {
  const name = `manifest ${statement.sequence}`
  const own = chain.find(({ sequence }) => sequence === statement.sequence)
  const isOwn = sha256(canonicalJson(manifest)) === own?.digest
  if (!isOwn) yield `${name} is not the manifest of the chain: its text has another digest`
  const { sequence, day, revision, previous } = manifest
  const named = [own?.sequence, own?.day, own?.revision, own?.previous]
  if (!Bun.deepEquals([sequence, day, revision, previous], named))
    yield `${name} differs from its entry in the chain`
  for (const { coin, timeframe, sha256: digest, markets } of manifest.series)
    if (sha256(seriesText(markets)) !== digest)
      yield `${name}: the digest of ${coin}/${timeframe} is not that of its markets`
}

/** Every object of a list as it was sent, with a newline. */
async function* lines(server: Server, path: string): AsyncGenerator<string> {
  for (let cursor = ''; ;) {
    const rows = splitList(await (await server.ask(`${path}?limit=${PAGE}${cursor}`)).text())
    let next = rows.next()
    for (; next.done !== true; next = rows.next()) yield `${next.value}\n`
    const { nextCursor } = JSON.parse(next.value) as { nextCursor: string | null }
    if (nextCursor === null) return
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`
  }
}

/** Compares the served data of a market with its digest. */
async function* checkMarket(
  server: Server,
  coin: string,
  market: MarketDigest,
): AsyncGenerator<string> {
  const path = `/v1/${coin}/markets/${market.conditionId}`
  const name = `market ${market.conditionId}`
  const facts = await readFacts(server, path)
  if (facts.revision !== market.revision)
    yield `${name} has revision ${facts.revision}, not ${market.revision}: see GET /v1/revisions`
  if (sha256(facts.text) !== market.factsSha256) yield `${name}: its facts differ`
  for (const kind of ['snapshots', 'trades'] as const) {
    const hash = createHash('sha256')
    let count = 0
    for await (const line of lines(server, `${path}/${kind}`)) {
      hash.update(kind === 'trades' ? toDigested(line) : line)
      count++
    }
    if (count !== market[kind]) yield `${name}: ${count} ${kind} are served, not ${market[kind]}`
    if (hash.digest('hex') !== market[`${kind}Sha256`]) yield `${name}: its ${kind} differ`
  }
}

const factNames = [
  'conditionId',
  'symbol',
  'timeframe',
  'source',
  'slug',
  'windowStart',
  'windowEnd',
  'strike',
  'finalPrice',
  'winner',
]

// The third argument of a reviver is not in the type library yet.
type Revive = (key: string, value: unknown, context: { source?: string }) => unknown
const exactly: Revive = (_, value, { source }) => (typeof value === 'number' ? source : value)

async function readFacts(server: Server, path: string) {
  const text = await (await server.ask(path)).text()
  const facts = JSON.parse(text, exactly as (key: string, value: unknown) => unknown) as Record<
    string,
    unknown
  >
  return {
    text: JSON.stringify(factNames.map((name) => facts[name] ?? null)),
    revision: Number(facts.revision),
  }
}
