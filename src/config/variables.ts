/**
 * Every environment variable of the configuration: the single source of defaults, of what is
 * accepted, of `--help`, and of the test of docs/configuration.md.
 */
import { coins, timeframes } from '#src/domain/market.ts'
import { parseNetworks } from '#src/platform/network.ts'
import {
  anyText,
  bytes,
  integer,
  matching,
  oneOf,
  onOff,
  orWord,
  someOf,
} from '#src/platform/setting.ts'

import {
  isHttpUrl,
  megabytes,
  parseArchive,
  parseListener,
  parseNodes,
  parseOrigin,
  parseRates,
  parseSpotSources,
  postgresAddress,
  redisAddress,
} from './parsers.ts'

/** One environment variable. `parse` returns undefined for what it does not accept. */
export type ConfigVariable = {
  name: string
  default: string
  accepts: string
  description: string
  /** Its value is never shown, not even to say what is wrong with it. */
  isSecret?: boolean
  parse(text: string): unknown
}

export const variables = {
  dataPath: {
    ...{ name: 'BOOKFEED_DATA', default: './data' },
    ...anyText('a folder path'),
    description:
      'Folder of all data; made if absent. In it: history.db, the books, and ledger.db, keys and accounts.',
  },
  history: {
    ...{ name: 'BOOKFEED_HISTORY', ...postgresAddress },
    description:
      'PostgreSQL that the books are kept in, in place of a file; `?schema=name` chooses the schema, `bookfeed` by default. Several servers and recorders may share it. Empty: a file of the data folder. A secret; never shown.',
  },
  ledger: {
    ...{ name: 'BOOKFEED_LEDGER', ...postgresAddress },
    description:
      'PostgreSQL that accounts, keys and payments are kept in, in place of a file; `?schema=name` chooses the schema, `bookfeed_ledger` by default. Several servers may share it. Empty: a file of the data folder. A secret; never shown.',
  },
  archive: {
    ...{ name: 'BOOKFEED_ARCHIVE', default: '', parse: parseArchive },
    accepts: 's3://bucket/prefix',
    description:
      'Bucket that books of markets go to which ended long ago, out of the database; they are served from there. S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or AWS_…, are used for it. Empty: none.',
  },
  archiveDays: {
    ...{ name: 'BOOKFEED_ARCHIVE_DAYS', default: '30', ...integer(0, 36_500) },
    description: 'Days after their end that markets stay whole in the database.',
  },
  archiveCacheBytes: {
    ...{ name: 'BOOKFEED_ARCHIVE_CACHE_GB', default: '0', ...bytes(0, 100_000, 1e9) },
    description:
      'Room of the data folder for what was read from the bucket, in GB; it stays after a restart, and what was read longest ago goes first. 0 keeps none.',
  },
  limits: {
    ...{ name: 'BOOKFEED_LIMITS', ...redisAddress },
    description:
      'Redis (or Valkey) in which several servers count requests, so that the limits of keys and addresses hold over all of them. Empty: each server counts for itself. A secret; never shown.',
  },
  host: {
    ...{ name: 'BOOKFEED_HOST', default: '127.0.0.1' },
    ...matching('an address or a host name of this machine', /^[A-Za-z0-9.:_-]+$/),
    description: 'Address to listen on; 0.0.0.0 for every interface, as in a container.',
  },
  port: {
    ...{ name: 'BOOKFEED_PORT', default: '3000' },
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
    ...oneOf('json', 'text', 'off'),
    description:
      'Lines of a server and a recorder on standard error, one for each request and what they do by themselves: JSON, or text for people; `off` is JSON without requests that did not fail.',
  },
  metrics: {
    ...{ name: 'BOOKFEED_METRICS', default: '' },
    accepts: 'a port of 127.0.0.1, or an address and a port such as 0.0.0.0:9464',
    description:
      'Where Prometheus reads /metrics, which anybody may who gets there. Empty: nowhere.',
    parse: parseListener,
  },
  pageCacheBytes: {
    ...{ name: 'BOOKFEED_PAGE_CACHE_MB', default: '64', ...megabytes },
    description: 'Memory for finished pages of history, in MiB; 0 keeps none.',
  },
  chunkCacheBytes: {
    ...{ name: 'BOOKFEED_CHUNK_CACHE_MB', default: '256', ...megabytes },
    description: 'Memory for chunks of history, in MiB; 0 keeps none.',
  },
  drainSeconds: {
    name: 'BOOKFEED_DRAIN_SECONDS',
    default: '0',
    ...integer(0, 3600),
    description:
      'Seconds after SIGTERM in which requests are still taken while `/readyz` fails, so that a load balancer sends no more.',
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
      'Market of which everything may be read without a key, once it is over; `auto` is the best covered of the newest resolved ones when it is first asked for, until it is deleted.',
  },
  hasTestMode: {
    name: 'BOOKFEED_TEST_MODE',
    default: 'on',
    ...onOff,
    description:
      'Answer keys of test mode (`bf_test_…`) with simulated data, which the first start makes in the data folder (4 MB).',
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
    ...{ name: 'BOOKFEED_BATCH_MS', default: '50' },
    ...integer(1, 1000),
    description:
      'The longest pause, in milliseconds, that the recorder makes between two commits when the disk is slow; on a fast one, a state is written within three milliseconds.',
  },
  freeBytesMin: {
    ...{ name: 'BOOKFEED_FREE_MB', default: '1000' },
    ...megabytes,
    description:
      'Room on the disk, in MiB, below which nothing is recorded, imported, simulated or backed up to it, so that keys and payments can be written.',
  },
  keepDays: {
    ...{ name: 'BOOKFEED_KEEP_DAYS', default: '0' },
    ...integer(0, 36_500),
    description: 'Days after which markets and prices are deleted; 0 keeps all.',
  },
  keepGb: {
    ...{ name: 'BOOKFEED_KEEP_GB', default: '0' },
    ...integer(0, 1_000_000),
    description: 'Size of the history, in GB, beyond which the oldest is deleted; 0 is no bound.',
  },
  backupTo: {
    name: 'BOOKFEED_BACKUP_TO',
    default: '',
    ...matching('a folder path, s3://bucket/prefix, or `off`', /^(?!s3:(?!\/\/[^/]))/),
    description:
      'Place of the backups of this data folder alone; S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or AWS_…, are used for a bucket. Empty: a server makes none but before an upgrade, in the folder backups of the data; `off`: none at all.',
  },
  backupHours: {
    name: 'BOOKFEED_BACKUP_HOURS',
    default: '24',
    ...integer(1, 8760),
    description: 'Hours from one backup of a server to the next.',
  },
  backupsKept: {
    name: 'BOOKFEED_BACKUP_KEEP',
    default: '7',
    ...integer(1, 10_000),
    description: 'Backups that are kept; older ones are deleted after a new one was made.',
  },
  rawPath: {
    name: 'BOOKFEED_RAW',
    default: '',
    ...anyText('a folder path'),
    description:
      'Folder in which every message of the feed and of the sources of prices is kept as it came, for `bookfeed import`; made if absent. Empty: none are kept.',
  },
  rawBytesMax: {
    ...{ name: 'BOOKFEED_RAW_GB', default: '100', ...bytes(1, 100_000, 1e9) },
    description: 'Room for these messages, in GB; when it is full, the oldest files go.',
  },
  spotSources: {
    name: 'BOOKFEED_SPOT',
    default: '',
    accepts: 'live, rtds and page, separated by commas, each once, alone or with =URL',
    description:
      "Where prices of the coins come from: the venue's live-data socket (`live`, which needs BOOKFEED_SPOT_KEY), the one before it (`rtds`), and the page with the strikes of open windows (`page`), which has the prices at the ends of windows of five minutes alone. Empty: none are recorded.",
    parse: parseSpotSources,
  },
  spotKey: {
    name: 'BOOKFEED_SPOT_KEY',
    isSecret: true,
    default: '',
    ...matching(
      'apiKey:secret:passphrase of the order book of the venue',
      /^$|^[^:\s]+:[^:\s]+:[^:\s]+$/,
    ),
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
  makesFiles: {
    name: 'BOOKFEED_FILES',
    default: 'off',
    ...onOff,
    description:
      'Make Parquet files of each day that is final, in the folder files of the data folder.',
  },
  isKeyless: {
    name: 'BOOKFEED_KEYLESS',
    default: 'off',
    ...onOff,
    description:
      'Sell to whoever has no key: data routes answer 402 in place of 401, and packs and tiers can be bought by x402 clients directly.',
  },
  payTo: {
    ...{ name: 'BOOKFEED_PAY_TO', default: '' },
    ...matching('0x and 40 hex digits', /^(0x[0-9a-fA-F]{40})?$/),
    description: 'Address that payments go to, of this ledger alone. Empty: nothing is sold.',
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
    ...{ name: 'BOOKFEED_FACILITATOR_KEY_ID', default: '' },
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
    ...{ name: 'BOOKFEED_CONFIRMATIONS', default: 'final' },
    ...orWord('final', integer(1, 1000)),
    description:
      'Blocks, that of the payment included, after which it counts; `final` waits for the finality of the chain.',
  },
  keysPerAccountMax: {
    ...{ name: 'BOOKFEED_KEYS_PER_ACCOUNT', default: '10' },
    ...integer(1, 1000),
    description: 'Valid keys that an account may have at a time; one that never paid has one.',
  },
  signupsPerDay: {
    ...{ name: 'BOOKFEED_SIGNUPS_PER_DAY', default: '30' },
    ...integer(1, 1_000_000),
    description:
      'Signups a day that an address (IPv6: a /48) may make; in a minute a sixth of them, rounded up.',
  },
} satisfies Record<string, ConfigVariable>
