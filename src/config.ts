/**
 * The configuration comes from `BOOKFEED_*` environment variables alone. The table below is its
 * single source: the defaults, what is accepted, `--help` and the test of docs/configuration.md.
 */
import { coins, timeframes } from '#src/core/market.ts'
import { parseNetworks } from '#src/lib/network.ts'
import {
  anyText,
  bytes,
  integer,
  matching,
  oneOf,
  onOff,
  orWord,
  someOf,
} from '#src/lib/setting.ts'

import {
  isHttpUrl,
  parseNodes,
  parseOrigin,
  parseRates,
  parseSpotSources,
} from './config-parsers.ts'

type Env = Readonly<Record<string, string | undefined>>

/** One environment variable. `parse` returns undefined for what it does not accept. */
type ConfigVariable = {
  name: string
  default: string
  accepts: string
  description: string
  /** Its value is never shown, not even to say what is wrong with it. */
  isSecret?: boolean
  parse(text: string): unknown
}

const CACHE_MB_MAX = 65_536
const BYTES_PER_MB = 1024 * 1024

const megabytes = bytes(0, CACHE_MB_MAX, BYTES_PER_MB)

const variables = {
  dataPath: {
    name: 'BOOKFEED_DATA',
    default: './data',
    ...anyText('a folder path'),
    description:
      'Folder of all data; made if absent. In it: history.db, the books, and ledger.db, keys and accounts.',
  },
  host: {
    name: 'BOOKFEED_HOST',
    default: '127.0.0.1',
    ...matching('an address or a host name of this machine', /^[A-Za-z0-9.:_-]+$/),
    description: 'Address to listen on; 0.0.0.0 for every interface, as in a container.',
  },
  port: {
    name: 'BOOKFEED_PORT',
    default: '3000',
    ...integer(0, 65_535),
    description: 'Port to listen on; 0 takes any free one.',
  },
  workers: {
    name: 'BOOKFEED_WORKERS',
    default: '0',
    ...orWord('auto', integer(0, 64)),
    description:
      'Threads that answer requests for data, while the first one records, writes and sells; `auto` is one for each core. 0: one thread does all.',
  },
  log: {
    name: 'BOOKFEED_LOG',
    default: 'json',
    ...oneOf('json', 'off'),
    description:
      'Access log on standard error: one JSON line a request; `off` leaves only failures of the server itself.',
  },
  pageCacheBytes: {
    name: 'BOOKFEED_PAGE_CACHE_MB',
    default: '64',
    ...megabytes,
    description: 'Memory for finished pages of history, in MiB; 0 keeps none.',
  },
  chunkCacheBytes: {
    name: 'BOOKFEED_CHUNK_CACHE_MB',
    default: '256',
    ...megabytes,
    description: 'Memory for chunks of history, in MiB; 0 keeps none.',
  },
  streamsMax: {
    name: 'BOOKFEED_STREAMS',
    default: '64',
    ...integer(1, 10_000),
    description:
      'Exports and streams of live events at a time, of all accounts together; an export takes up to 7 MB.',
  },
  hasSample: {
    name: 'BOOKFEED_SAMPLE',
    default: 'on',
    ...onOff,
    description: 'Make simulated markets, of which one moves, while none is recorded.',
  },
  sampleMarket: {
    name: 'BOOKFEED_SAMPLE_MARKET',
    default: 'auto',
    ...matching(
      '`auto`, `off`, or the conditionId or slug of a market',
      /^(auto|off|[\w-]{3,200})$/,
    ),
    description:
      'Market of which everything may be read without a key, once it is over; `auto` is the newest whole one when it is first asked for, until it is deleted.',
  },
  isRecording: {
    name: 'BOOKFEED_RECORD',
    default: 'on',
    ...onOff,
    description: 'Whether a server records the venue too; bookfeed record does it alone.',
  },
  recordCoins: {
    name: 'BOOKFEED_RECORD_COINS',
    default: coins.join(','),
    ...someOf(coins),
    description: 'Coins whose markets are recorded.',
  },
  recordTimeframes: {
    name: 'BOOKFEED_RECORD_TIMEFRAMES',
    default: timeframes.join(','),
    ...someOf(timeframes),
    description: 'Lengths of the markets that are recorded.',
  },
  statesPerSecond: {
    name: 'BOOKFEED_RECORD_RATE',
    default: '',
    accepts: 'timeframes with a number from 1 to 1000, such as 5m=10,1h=1',
    description:
      'States of an outcome that are kept a second at most, by timeframe; what is left out is counted. Empty: every state.',
    parse: parseRates,
  },
  feedUrl: {
    name: 'BOOKFEED_FEED_URL',
    default: '',
    accepts: 'a ws or wss URL',
    description: "The venue's market data socket. Empty: the venue's own.",
    parse: (text: string) =>
      text === '' || /^wss?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined,
  },
  catalogueUrl: {
    name: 'BOOKFEED_CATALOGUE_URL',
    default: '',
    accepts: 'an http or https URL',
    description: "The venue's catalogue of markets. Empty: the venue's own.",
    parse: (text: string) => (text === '' || isHttpUrl(text) ? text.replace(/\/$/, '') : undefined),
  },
  feedConnections: {
    name: 'BOOKFEED_FEED_CONNECTIONS',
    default: '1',
    ...integer(1, 2),
    description: 'Connections that carry every market at the same time: with 2, one may fail.',
  },
  hearsLifecycle: {
    name: 'BOOKFEED_LIFECYCLE',
    default: 'off',
    ...onOff,
    description: 'Whether one more connection hears which markets are announced and resolved.',
  },
  batchMs: {
    name: 'BOOKFEED_BATCH_MS',
    default: '50',
    ...integer(1, 1000),
    description: 'Milliseconds that a recorded state waits for others, to be written with them.',
  },
  freeBytesMin: {
    name: 'BOOKFEED_FREE_MB',
    default: '1000',
    ...megabytes,
    description: 'Room on the disk, in MiB, below which nothing is recorded.',
  },
  keepDays: {
    name: 'BOOKFEED_KEEP_DAYS',
    default: '0',
    ...integer(0, 36_500),
    description: 'Days after which markets and prices are deleted; 0 keeps all.',
  },
  keepGb: {
    name: 'BOOKFEED_KEEP_GB',
    default: '0',
    ...integer(0, 1_000_000),
    description: 'Size of the history, in GB, beyond which the oldest is deleted; 0 is no bound.',
  },
  rawPath: {
    name: 'BOOKFEED_RAW',
    default: '',
    ...anyText('a folder path'),
    description:
      'Folder in which every message of the feed and of the sources of prices is kept as it came, for `bookfeed import`; made if absent. Empty: none are kept.',
  },
  rawBytesMax: {
    name: 'BOOKFEED_RAW_GB',
    default: '100',
    ...bytes(1, 100_000, 1e9),
    description: 'Room for these messages, in GB; when it is full, the oldest files go.',
  },
  spotSources: {
    name: 'BOOKFEED_SPOT',
    default: '',
    accepts: 'live, rtds and page, separated by commas, each alone or with =URL',
    description:
      "Where prices of the coins come from: the venue's live-data socket (`live`, which needs BOOKFEED_SPOT_KEY), the one before it (`rtds`), and the page with the strikes of open windows (`page`). Empty: none are recorded.",
    parse: parseSpotSources,
  },
  spotKey: {
    name: 'BOOKFEED_SPOT_KEY',
    isSecret: true,
    default: '',
    ...anyText('apiKey:secret:passphrase of the order book of the venue'),
    description: 'Credentials of the live-data socket. A secret; never shown.',
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
  admin: {
    name: 'BOOKFEED_ADMIN',
    default: 'auto',
    ...oneOf('auto', 'loopback', 'token', 'off'),
    description:
      'Who may use /admin: callers on this machine and those with the token (`loopback`), or with the token alone (`token`); `auto` is `loopback` until BOOKFEED_PUBLIC_URL or BOOKFEED_TRUSTED_PROXIES say that others come in through a proxy.',
  },
  adminToken: {
    name: 'BOOKFEED_ADMIN_TOKEN',
    isSecret: true,
    default: '',
    ...matching(
      '32 to 256 letters, digits or any of _-~=, or the path of a file of them that its owner alone may read',
      /^$|^[\w~=-]{32,256}$|\//,
    ),
    description: 'Token of the operator for /admin. Empty: there is none. A secret; never shown.',
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
    ...anyText('an http or https URL, or the path of a file'),
    description: "OFAC's SDN list as published (SDN.XML or SDN_ADVANCED.XML).",
  },
  sanctionsDaysMax: {
    name: 'BOOKFEED_SANCTIONS_DAYS_MAX',
    default: '7',
    ...integer(1, 365),
    description: 'Days after which a sanctions list that could not be refreshed is stale.',
  },
  payTo: {
    name: 'BOOKFEED_PAY_TO',
    default: '',
    ...matching('0x and 40 hex digits', /^(0x[0-9a-fA-F]{40})?$/),
    description: 'Address that payments go to, of this server alone. Empty: nothing is sold.',
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
    ...anyText('a text'),
    description:
      'Name of the key that signs a token for each call of the facilitator, as CDP wants it.',
  },
  facilitatorKeySecret: {
    name: 'BOOKFEED_FACILITATOR_KEY_SECRET',
    isSecret: true,
    default: '',
    ...anyText('a base64 Ed25519 key, or a PEM EC key'),
    description: 'That key. A secret; never shown.',
  },
  gasKey: {
    name: 'BOOKFEED_GAS_KEY',
    isSecret: true,
    default: '',
    ...anyText('0x and 64 hex digits, or the path of a file of them that its owner alone may read'),
    description: 'Private key that pays gas for the `local` facilitator. A secret; never shown.',
  },
  confirmations: {
    name: 'BOOKFEED_CONFIRMATIONS',
    default: 'final',
    ...orWord('final', integer(1, 1000)),
    description:
      'Blocks, that of the payment included, after which it counts; `final` waits for the finality of the chain.',
  },
  keysPerAccountMax: {
    name: 'BOOKFEED_KEYS_PER_ACCOUNT',
    default: '10',
    ...integer(1, 1000),
    description: 'Valid keys that an account may have at a time; one that never paid has one.',
  },
  signupsPerDay: {
    name: 'BOOKFEED_SIGNUPS_PER_DAY',
    default: '30',
    ...integer(1, 1_000_000),
    description:
      'Signups a day that an address (IPv6: a /48) may make; in a minute a sixth of them, rounded up.',
  },
} satisfies Record<string, ConfigVariable>

export type Config = Readonly<{
  [K in keyof typeof variables]: Exclude<ReturnType<(typeof variables)[K]['parse']>, undefined>
}>

/** In the order in which they are documented. */
export const configVariables: readonly ConfigVariable[] = Object.values(variables)

/** A start that cannot succeed: the message names the variable, its value and what is accepted. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Reads the `BOOKFEED_*` variables; an empty one counts as absent. Throws `ConfigError`. */
export function readConfig(env: Env): Config {
  assertKnown(env)
  const entries = Object.entries<ConfigVariable>(variables)
  const settings = Object.fromEntries(
    entries.map(([name, variable]) => [name, read(env, variable)]),
  )
  // Each is what its variable's `parse` returned.
  return Object.freeze(settings as Config)
}

function read(env: Env, variable: ConfigVariable): unknown {
  const text = env[variable.name] || variable.default
  const value = variable.parse(text)
  if (value === undefined) {
    const shown = variable.isSecret ? 'not valid: it' : `${JSON.stringify(text)}, but`
    throw new ConfigError(`${variable.name} is ${shown} must be ${variable.accepts}.`)
  }
  return value
}

/** A misspelt variable would silently leave its default. */
function assertKnown(env: Env): void {
  const known = configVariables.map(({ name }) => name)
  const ours = Object.keys(env).filter((name) => name.startsWith('BOOKFEED_'))
  const unknown = ours.find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new ConfigError(`${unknown} is not a variable of bookfeed. It knows ${known.join(', ')}.`)
}
