/**
 * The configuration comes from `BOOKFEED_*` environment variables alone. The table below is its
 * single source: the defaults, what is accepted, `--help` and the test of docs/configuration.md.
 */
import { type Network, parseNetwork } from '#src/lib/network.ts'
import { findChain, homeChain } from '#src/selling/payment-chain.ts'

/** One environment variable. `parse` returns undefined for what it does not accept. */
export type ConfigVariable<T = unknown> = {
  name: string
  default: string
  accepts: string
  description: string
  /** Its value is never shown, not even to say what is wrong with it. */
  isSecret?: boolean
  parse(text: string): T | undefined
}

const PORT_MAX = 65_535
const CACHE_MB_MAX = 65_536
const SIGNUPS_MAX = 1_000_000
const BYTES_PER_MB = 1024 * 1024

const variables = {
  dataPath: {
    name: 'BOOKFEED_DATA',
    default: './data',
    accepts: 'a folder path',
    description:
      'Folder of all data; made if absent. In it: history.db, the books, and ledger.db, keys and accounts.',
    parse: (text: string): string => text,
  },
  host: {
    name: 'BOOKFEED_HOST',
    default: '127.0.0.1',
    accepts: 'an address or a host name of this machine',
    description: 'Address to listen on; 0.0.0.0 for every interface, as in a container.',
    parse: (text: string) => (/^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined),
  },
  port: {
    name: 'BOOKFEED_PORT',
    default: '3000',
    accepts: `an integer from 0 to ${PORT_MAX}`,
    description: 'Port to listen on; 0 takes any free one.',
    parse: (text: string) => parseInteger(text, PORT_MAX),
  },
  log: {
    name: 'BOOKFEED_LOG',
    default: 'json',
    accepts: '`json` or `off`',
    description:
      'Access log on standard error: one JSON line a request; `off` leaves only failures of the server itself.',
    parse: (text: string) => (text === 'json' || text === 'off' ? text : undefined),
  },
  pageCacheBytes: {
    name: 'BOOKFEED_PAGE_CACHE_MB',
    default: '64',
    accepts: `an integer from 0 to ${CACHE_MB_MAX}`,
    description: 'Memory for finished pages of history, in MiB; 0 keeps none.',
    parse: parseMegabytes,
  },
  chunkCacheBytes: {
    name: 'BOOKFEED_CHUNK_CACHE_MB',
    default: '256',
    accepts: `an integer from 0 to ${CACHE_MB_MAX}`,
    description: 'Memory for chunks of history, in MiB; 0 keeps none.',
    parse: parseMegabytes,
  },
  streamsMax: {
    name: 'BOOKFEED_STREAMS',
    default: '64',
    accepts: 'an integer from 1 to 10000',
    description: 'Exports that run at a time, of all accounts together; each takes up to 7 MB.',
    parse: (text: string) => parseInteger(text, 10_000) || undefined,
  },
  hasSample: {
    name: 'BOOKFEED_SAMPLE',
    default: 'on',
    accepts: '`on` or `off`',
    description: 'Make a simulated sample at the start of a server that has no market yet.',
    parse: (text: string) => (text === 'on' || text === 'off' ? text === 'on' : undefined),
  },
  publicUrl: {
    name: 'BOOKFEED_PUBLIC_URL',
    isSecret: true,
    default: '',
    accepts: 'an http or https URL without a path, of localhost or a host with a dot in its name',
    description:
      'Address under which callers know the server; wallets sign in to it. Empty: the address it listens on, if that is loopback; otherwise signup is closed.',
    parse: parseOrigin,
  },
  trustedProxies: {
    name: 'BOOKFEED_TRUSTED_PROXIES',
    default: '',
    accepts: 'IP addresses and networks such as 10.0.0.0/8, separated by commas',
    description: 'Proxies whose X-Forwarded-For is believed.',
    parse: parseNetworks,
  },
  rpcUrls: {
    name: 'BOOKFEED_RPC_URL',
    isSecret: true,
    default: '',
    accepts:
      'an http or https URL of a Polygon node; or, separated by commas, one for each chain, such as eip155:137=https://…,eip155:8453=https://…',
    description:
      'JSON-RPC of each chain to sell on; that of Polygon, or else the first, also answers for the sanctions oracle and contract wallets. May hold a secret; never shown.',
    parse: parseNodes,
  },
  sanctionsList: {
    name: 'BOOKFEED_SANCTIONS_LIST',
    isSecret: true,
    default: '',
    accepts: 'an http or https URL, or the path of a file',
    description: "OFAC's SDN list as published (SDN.XML or SDN_ADVANCED.XML).",
    parse: (text: string): string => text,
  },
  sanctionsDaysMax: {
    name: 'BOOKFEED_SANCTIONS_DAYS_MAX',
    default: '7',
    accepts: 'an integer from 1 to 365',
    description: 'Days after which a sanctions list that could not be refreshed is stale.',
    parse: (text: string) => parseInteger(text, 365) || undefined,
  },
  payTo: {
    name: 'BOOKFEED_PAY_TO',
    default: '',
    accepts: '0x and 40 hex digits',
    description: 'Address that payments go to, of this server alone. Empty: nothing is sold.',
    parse: (text: string) => (/^(0x[0-9a-fA-F]{40})?$/.test(text) ? text : undefined),
  },
  facilitator: {
    name: 'BOOKFEED_FACILITATOR',
    isSecret: true,
    default: '',
    accepts: 'an http or https URL, or `local`',
    description:
      'Who relays payments: an x402 v2 facilitator, or this process with BOOKFEED_GAS_KEY. Empty: nothing is sold.',
    parse: (text: string) =>
      text === '' || text === 'local' || isHttpUrl(text) ? text : undefined,
  },
  facilitatorKeyId: {
    name: 'BOOKFEED_FACILITATOR_KEY_ID',
    default: '',
    accepts: 'a text',
    description:
      'Name of the key that signs a token for each call of the facilitator, as CDP wants it.',
    parse: (text: string): string => text,
  },
  facilitatorKeySecret: {
    name: 'BOOKFEED_FACILITATOR_KEY_SECRET',
    isSecret: true,
    default: '',
    accepts: 'a base64 Ed25519 key, or a PEM EC key',
    description: 'That key. A secret; never shown.',
    parse: (text: string): string => text,
  },
  gasKey: {
    name: 'BOOKFEED_GAS_KEY',
    isSecret: true,
    default: '',
    accepts: '0x and 64 hex digits, or the path of a file of them that its owner alone may read',
    description: 'Private key that pays gas for the `local` facilitator. A secret; never shown.',
    parse: (text: string): string => text,
  },
  confirmations: {
    name: 'BOOKFEED_CONFIRMATIONS',
    default: 'final',
    accepts: '`final`, or an integer from 1 to 1000',
    description:
      'Blocks, that of the payment included, after which it counts; `final` waits for the finality of the chain.',
    parse: (text: string) => (text === 'final' ? text : parseInteger(text, 1000) || undefined),
  },
  keysPerAccountMax: {
    name: 'BOOKFEED_KEYS_PER_ACCOUNT',
    default: '10',
    accepts: 'an integer from 1 to 1000',
    description: 'Valid keys that an account may have at a time; one that never paid has one.',
    parse: (text: string) => parseInteger(text, 1000) || undefined,
  },
  signupsPerDay: {
    name: 'BOOKFEED_SIGNUPS_PER_DAY',
    default: '30',
    accepts: `an integer from 1 to ${SIGNUPS_MAX}`,
    description:
      'Signups a day that an address (IPv6: a /48) may make; in a minute a sixth of them, rounded up.',
    parse: (text: string) => parseInteger(text, SIGNUPS_MAX) || undefined,
  },
} satisfies Record<string, ConfigVariable>

/** The settings of a process; frozen. */
export type Config = Readonly<{
  [K in keyof typeof variables]: Exclude<ReturnType<(typeof variables)[K]['parse']>, undefined>
}>

/** Every variable in the order in which it is documented. */
export const configVariables: readonly ConfigVariable[] = Object.values(variables)

/** A start that cannot succeed: the message names the variable, its value and what is accepted. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Reads the `BOOKFEED_*` variables; an empty one counts as absent. Throws `ConfigError`. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  refuseUnknown(env)
  return Object.freeze({
    dataPath: read(env, variables.dataPath),
    host: read(env, variables.host),
    port: read(env, variables.port),
    log: read(env, variables.log),
    pageCacheBytes: read(env, variables.pageCacheBytes),
    chunkCacheBytes: read(env, variables.chunkCacheBytes),
    streamsMax: read(env, variables.streamsMax),
    hasSample: read(env, variables.hasSample),
    publicUrl: read(env, variables.publicUrl),
    trustedProxies: read(env, variables.trustedProxies),
    rpcUrls: read(env, variables.rpcUrls),
    sanctionsList: read(env, variables.sanctionsList),
    sanctionsDaysMax: read(env, variables.sanctionsDaysMax),
    payTo: read(env, variables.payTo),
    facilitator: read(env, variables.facilitator),
    facilitatorKeyId: read(env, variables.facilitatorKeyId),
    facilitatorKeySecret: read(env, variables.facilitatorKeySecret),
    gasKey: read(env, variables.gasKey),
    confirmations: read(env, variables.confirmations),
    keysPerAccountMax: read(env, variables.keysPerAccountMax),
    signupsPerDay: read(env, variables.signupsPerDay),
  })
}

function read<T>(
  env: Readonly<Record<string, string | undefined>>,
  variable: ConfigVariable<T>,
): Exclude<T, undefined> {
  const text = env[variable.name] || variable.default
  const value = variable.parse(text)
  if (value === undefined) {
    const shown = variable.isSecret ? 'not valid: it' : `${JSON.stringify(text)}, but`
    throw new ConfigError(`${variable.name} is ${shown} must be ${variable.accepts}.`)
  }
  // Excludes nothing but the undefined that was just refused.
  return value as Exclude<T, undefined>
}

/** A misspelt variable would silently leave its default in force. */
function refuseUnknown(env: Readonly<Record<string, string | undefined>>): void {
  const known = configVariables.map((variable) => variable.name)
  const unknown = Object.keys(env).find(
    (name) => name.startsWith('BOOKFEED_') && !known.includes(name),
  )
  if (unknown === undefined) return
  throw new ConfigError(`${unknown} is not a variable of bookfeed. It knows ${known.join(', ')}.`)
}

function parseInteger(text: string, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : undefined
  return value !== undefined && value <= max ? value : undefined
}

function parseMegabytes(text: string): number | undefined {
  const megabytes = parseInteger(text, CACHE_MB_MAX)
  return megabytes === undefined ? undefined : megabytes * BYTES_PER_MB
}

const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

/** URLs of nodes by network (CAIP-2); one that names no network is of the home chain. */
function parseNodes(text: string): Readonly<Record<string, string>> | undefined {
  const nodes: Record<string, string> = {}
  for (const part of text === '' ? [] : text.split(/,\s*(?=eip155:\d+=)/)) {
    const [, network = homeChain.network, url = ''] = /^(?:(eip155:\d+)=)?(.*)$/s.exec(part) ?? []
    if (!findChain(network) || !isHttpUrl(url) || nodes[network] !== undefined) return undefined
    nodes[network] = url
  }
  return nodes
}

/** The origin as browsers write it, so that it can be compared. */
function parseOrigin(text: string): string | undefined {
  if (text === '') return text
  const url = URL.parse(text)
  // Sign-in messages know neither an IPv6 address nor a host of one label.
  const isNamed = isHttpUrl(text) && /^(localhost|([^.:]+\.)+[^.:]+)$/.test(url?.hostname ?? '')
  return isNamed && url?.href === `${url?.origin}/` ? url.origin : undefined
}

function parseNetworks(text: string): readonly Network[] | undefined {
  const networks = text.split(',').flatMap((part) => {
    const trimmed = part.trim()
    return trimmed === '' ? [] : [parseNetwork(trimmed)]
  })
  return networks.every((network) => network !== undefined) ? networks : undefined
}
