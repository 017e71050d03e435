/**
 * All environment variables of the configuration: the single source of defaults, accepted values,
 * `--help`, and the test of docs/configuration.md.
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
  parseCertificates,
  parseListener,
  parseNodes,
  parseOrigin,
  parseRates,
  parseSpotSources,
  parseTradeNodes,
} from './parsers.ts'

/** An environment variable. `parse` returns undefined for a value that is not accepted. */
export type ConfigVariable = {
  name: string
  default: string
  accepts: string
  description: string
  /** The value is never shown, not even in an error about it. */
  isSecret?: boolean
  parse(text: string): unknown
}

/** Variables by the name that their value has in the program. */
export type Variables = Readonly<Record<string, ConfigVariable>>

export const variables = {
  dataPath: {
    name: 'BOOKFEED_DATA',
    default: './data',
    ...anyText('a folder path'),
    description:
      'Folder of all data, created if absent. It contains history.db (the books) and ledger.db (keys and accounts).',
  },
  host: {
    name: 'BOOKFEED_HOST',
    default: '127.0.0.1',
    ...matching('an address or a host name of this machine', /^[A-Za-z0-9.:_-]+$/),
    description: 'Address to listen on; 0.0.0.0 for all interfaces, for example in a container.',
  },
  port: {
    name: 'BOOKFEED_PORT',
    default: '3000',
    ...integer(0, 65_535),
    description: 'Port to listen on; 0 selects any free port.',
  },
  log: {
    name: 'BOOKFEED_LOG',
    default: 'auto',
    ...oneOf('auto', 'json', 'text', 'off'),
    description:
      'Format of the log that a server and a recorder write to standard error, one line for each request and event: JSON, or text for people; `auto` is text on a terminal and JSON elsewhere, `off` is JSON without successful requests.',
  },
  metrics: {
    name: 'BOOKFEED_METRICS',
    default: '',
    accepts: 'a port of 127.0.0.1, or an address and a port such as 0.0.0.0:9464',
    description:
      'Address at which Prometheus scrapes /metrics, without a key. Empty: no metrics are served.',
    parse: parseListener,
  },
  recordMetrics: {
    name: 'BOOKFEED_RECORD_METRICS',
    default: '',
    accepts: 'a port of 127.0.0.1, or an address and a port such as 0.0.0.0:9465',
    description:
      'Address at which `bookfeed record` serves /metrics, /healthz and /readyz, without a key; must differ from BOOKFEED_METRICS if both run on one machine. Empty: nothing is served.',
    parse: parseListener,
  },
  pageCacheBytes: {
    name: 'BOOKFEED_PAGE_CACHE_MB',
    default: '64',
    ...megabytes,
    description: 'Memory for the cache of finished pages, in MiB; 0 disables it.',
  },
  chunkCacheBytes: {
    name: 'BOOKFEED_CHUNK_CACHE_MB',
    default: '256',
    ...megabytes,
    description: 'Memory for the cache of chunks of history, in MiB; 0 disables it.',
  },
  drainSeconds: {
    name: 'BOOKFEED_DRAIN_SECONDS',
    default: '0',
    ...integer(0, 3600),
    description:
      'Seconds after SIGTERM for which the server still accepts requests while `/readyz` fails, so that a load balancer sends new requests elsewhere.',
  },
  streamsMax: {
    name: 'BOOKFEED_STREAMS',
    default: '64',
    ...integer(1, 10_000),
    description:
      'Number of concurrent exports and streams of live events, for all accounts together; an export takes up to 7 MB.',
  },
  hasSample: {
    name: 'BOOKFEED_SAMPLE',
    default: 'on',
    ...onOff,
    description: 'Make simulated markets, some of them moving, while no market is recorded.',
  },
  sampleMarket: {
    name: 'BOOKFEED_SAMPLE_MARKET',
    default: 'auto',
    ...matching(
      '`auto`, `off`, or the conditionId or slug of a market',
      /^(auto|off|[\w-]{3,200})$/,
    ),
    description:
      'Finished market whose data can all be read without a key; `auto` selects the best covered of the newest recorded markets, or a simulated one until there is one. With `off`, neither it nor simulated markets can be read in full.',
  },
  hasTestMode: {
    name: 'BOOKFEED_TEST_MODE',
    default: 'on',
    ...onOff,
    description:
      'Serve simulated data to test keys (`bf_test_…`). The first start creates the data in the data folder (4 MB).',
  },
  workers: {
    name: 'BOOKFEED_WORKERS',
    default: '0',
    ...orWord('auto', integer(0, 64)),
    description:
      'Threads that answer requests for data, in addition to the first thread, which records, writes and sells; `auto` is one for each core. 0: the first thread answers them too.',
  },
  isRecording: {
    name: 'BOOKFEED_RECORD',
    default: 'on',
    ...onOff,
    description: 'Record the venue in the server; `bookfeed record` records without serving.',
  },
  recordCoins: {
    name: 'BOOKFEED_RECORD_COINS',
    default: coins.join(','),
    ...someOf(coins),
    description: 'Coins to record.',
  },
  recordTimeframes: {
    name: 'BOOKFEED_RECORD_TIMEFRAMES',
    default: timeframes.join(','),
    ...someOf(timeframes),
    description: 'Timeframes to record.',
  },
  statesPerSecond: {
    name: 'BOOKFEED_RECORD_RATE',
    default: '',
    accepts: 'timeframes with a number from 1 to 1000, such as 5m=10,1h=1',
    description:
      'Maximum number of states stored per outcome and second, by timeframe; states that are left out are counted. Empty: every state.',
    parse: parseRates,
  },
  feedUrl: {
    name: 'BOOKFEED_FEED_URL',
    default: '',
    accepts: 'a ws or wss URL',
    description: "URL of the market data socket. Empty: the venue's own.",
    parse: (text: string) =>
      text === '' || /^wss?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined,
  },
  catalogueUrl: {
    name: 'BOOKFEED_CATALOGUE_URL',
    default: '',
    accepts: 'an http or https URL',
    description: "URL of the catalogue of markets. Empty: the venue's own.",
    parse: (text: string) => (text === '' || isHttpUrl(text) ? text.replace(/\/$/, '') : undefined),
  },
  orderBookUrl: {
    name: 'BOOKFEED_ORDER_BOOK_URL',
    default: '',
    accepts: 'an http or https URL, or `off`',
    description:
      "URL of the venue's order book API, which is asked for the delay and the fees of each recorded market. Empty: the venue's own, or none if `BOOKFEED_CATALOGUE_URL` is set; `off`: none.",
    parse: (text: string) =>
      text === '' || text === 'off' || isHttpUrl(text) ? text.replace(/\/$/, '') : undefined,
  },
  feedConnections: {
    name: 'BOOKFEED_FEED_CONNECTIONS',
    default: '1',
    ...integer(1, 2),
    description:
      'Number of redundant connections for every market: with 2, one of them may fail without a gap.',
  },
  hearsLifecycle: {
    name: 'BOOKFEED_LIFECYCLE',
    default: 'off',
    ...onOff,
    description: 'Open one more connection for announcements of new and resolved markets.',
  },
  batchMs: {
    name: 'BOOKFEED_BATCH_MS',
    default: '50',
    ...integer(1, 1000),
    description:
      'Longest pause between two commits of the recorder on a slow disk, in milliseconds; on a fast disk, a state is written within three milliseconds.',
  },
  freeBytesMin: {
    name: 'BOOKFEED_FREE_MB',
    default: '1000',
    ...megabytes,
    description:
      'Free disk space, in MiB, below which nothing is recorded, imported, simulated or backed up to the disk, so that keys and payments can still be written.',
  },
  keepDays: {
    name: 'BOOKFEED_KEEP_DAYS',
    default: '0',
    ...integer(0, 36_500),
    description: 'Days after which markets and prices are deleted; 0 keeps them indefinitely.',
  },
  keepGb: {
    name: 'BOOKFEED_KEEP_GB',
    default: '0',
    ...integer(0, 1_000_000),
    description:
      'Size of the history, in GB, beyond which the oldest markets are deleted; 0 sets no limit.',
  },
  backupTo: {
    name: 'BOOKFEED_BACKUP_TO',
    default: '',
    ...matching('a folder path, s3://bucket/prefix, or `off`', /^(?!s3:(?!\/\/[^/]))/),
    description:
      'Location of the backups, for this data folder only. A bucket is accessed with S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or AWS_…. Empty: backups are made only before an upgrade, in the subfolder `backups` of the data folder; `off`: never.',
  },
  backupHours: {
    name: 'BOOKFEED_BACKUP_HOURS',
    default: '24',
    ...integer(1, 8760),
    description: 'Hours between two backups of a running server.',
  },
  backupsKept: {
    name: 'BOOKFEED_BACKUP_KEEP',
    default: '7',
    ...integer(1, 10_000),
    description: 'Number of backups to keep; older ones are deleted after each new backup.',
  },
  rawPath: {
    name: 'BOOKFEED_RAW',
    default: '',
    ...anyText('a folder path'),
    description:
      'Folder in which every message of the feed and of the price sources is stored as received, for `bookfeed import`; created if absent. Empty: no messages are stored.',
  },
  rawBytesMax: {
    name: 'BOOKFEED_RAW_GB',
    default: '100',
    ...bytes(1, 100_000, 1e9),
    description:
      'Disk space for these messages, in GB; when it is used up, the oldest files are deleted.',
  },
  spotSources: {
    name: 'BOOKFEED_SPOT',
    default: '',
    accepts: 'live, rtds and page, separated by commas, each once, alone or with =URL',
    description:
      "Sources of the prices of the coins: the venue's live-data socket (`live`, which needs BOOKFEED_SPOT_KEY), its predecessor (`rtds`), and the page with the strikes of open windows (`page`), which has only the prices at the ends of five-minute windows. Empty: no prices are recorded.",
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
      'Public address of the server; wallets sign in to it. Empty: the address that the server listens on, if that is loopback; otherwise signup is closed.',
    parse: parseOrigin,
  },
  admin: {
    name: 'BOOKFEED_ADMIN',
    default: 'auto',
    ...oneOf('auto', 'loopback', 'token', 'off'),
    description:
      'Callers that may use /admin: callers on this machine and callers with the token (`loopback`), or only callers with the token (`token`); `auto` is `loopback` unless BOOKFEED_PUBLIC_URL or BOOKFEED_TRUSTED_PROXIES show that callers come through a proxy.',
  },
  adminToken: {
    name: 'BOOKFEED_ADMIN_TOKEN',
    isSecret: true,
    default: '',
    ...matching(
      '32 to 256 letters, digits or any of _-~=, or the path of a file of them that its owner alone may read',
      /^$|^[\w~=-]{32,256}$|\//,
    ),
    description: 'Token of the operator for /admin. Empty: no token. A secret; never shown.',
  },
  trustedProxies: {
    name: 'BOOKFEED_TRUSTED_PROXIES',
    default: '',
    accepts: 'IP addresses and networks such as 10.0.0.0/8, separated by commas',
    description: 'Proxies whose X-Forwarded-For the server trusts.',
    parse: parseNetworks,
  },
  caFile: {
    name: 'BOOKFEED_CA_FILE',
    default: '',
    accepts: 'the path of a file with certificates (PEM)',
    description:
      'Certificates of private authorities, trusted in addition to the public ones for all connections: to PostgreSQL, a bucket, nodes and the facilitator. Empty: only public ones.',
    parse: parseCertificates,
  },
  rpcUrls: {
    name: 'BOOKFEED_RPC_URL',
    isSecret: true,
    default: '',
    accepts:
      'an http or https URL of a Polygon node; or, separated by commas, one for each chain, such as eip155:137=https://…,eip155:8453=https://…',
    description:
      'JSON-RPC node of each chain to sell on; the node of Polygon, or else the first node, is also used for the sanctions oracle and contract wallets. May contain a secret; never shown.',
    parse: parseNodes,
  },
  tradeNodes: {
    name: 'BOOKFEED_TRADE_NODES',
    isSecret: true,
    default: '',
    accepts: 'http or https URLs of Polygon nodes on different hosts, separated by commas',
    description:
      'JSON-RPC nodes that are asked whether the chain executed the transactions of trades, for `chain` in lists of trades; with two or more, two must agree. Empty: none is asked. May contain a secret; never shown.',
    parse: parseTradeNodes,
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
    ...matching(
      '0x and 40 hex digits, in lower case or with the EIP-55 checksum',
      /^(0x[0-9a-fA-F]{40})?$/,
    ),
    description:
      'Address that receives payments; no other ledger may use it. Empty: nothing is sold.',
  },
  facilitator: {
    name: 'BOOKFEED_FACILITATOR',
    isSecret: true,
    default: '',
    accepts: 'an http or https URL, or `local`',
    description:
      'Facilitator that relays payments: an x402 v2 facilitator, or this process with BOOKFEED_GAS_KEY (`local`). Empty: nothing is sold.',
    parse: (text: string) =>
      text === '' || text === 'local' || isHttpUrl(text) ? text : undefined,
  },
  facilitatorKeyId: {
    name: 'BOOKFEED_FACILITATOR_KEY_ID',
    default: '',
    ...anyText('a text'),
    description:
      'Id of the key that signs a token for each call of the facilitator; required by CDP.',
  },
  facilitatorKeySecret: {
    name: 'BOOKFEED_FACILITATOR_KEY_SECRET',
    isSecret: true,
    default: '',
    ...anyText('a base64 Ed25519 key, or a PEM EC key'),
    description: 'The key itself. A secret; never shown.',
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
      'Number of blocks, including its own, after which a payment counts; `final` waits for the finality of the chain.',
  },
  keysPerAccountMax: {
    name: 'BOOKFEED_KEYS_PER_ACCOUNT',
    default: '10',
    ...integer(1, 1000),
    description:
      'Number of valid keys per account; an account that has never paid can have only one.',
  },
  signupsPerDay: {
    name: 'BOOKFEED_SIGNUPS_PER_DAY',
    default: '30',
    ...integer(1, 1_000_000),
    description:
      'Number of signups per day and network address (IPv6: /48); per minute, a sixth of that, rounded up.',
  },
} satisfies Record<string, ConfigVariable>
