import { describe, expect, test } from 'bun:test'

import { coins } from '#src/domain/market.ts'
import { Fault } from '#src/platform/fault.ts'

import { configVariables, readConfig } from '../support/config.ts'

const MIB = 1024 * 1024
const authority = new URL('authority.pem', import.meta.url).pathname

describe('readConfig', () => {
  test('default: an empty environment is a working configuration', () => {
    expect(readConfig({})).toEqual({
      dataPath: './data',
      history: '',
      ledger: '',
      archive: '',
      archiveDays: 30,
      archiveCacheBytes: 0,
      host: '127.0.0.1',
      port: 3000,
      workers: 0,
      log: 'auto',
      metrics: '',
      recordMetrics: '',
      pageCacheBytes: 64 * MIB,
      chunkCacheBytes: 256 * MIB,
      drainSeconds: 0,
      streamsMax: 64,
      hasSample: true,
      hasTestMode: true,
      sampleMarket: 'auto',
      isKeyless: false,
      makesFiles: false,
      openDay: 'auto',
      isRecording: true,
      recordCoins: coins,
      recordTimeframes: ['5m', '15m', '1h', '4h', '1d'],
      statesPerSecond: {},
      feedUrl: '',
      catalogueUrl: '',
      orderBookUrl: '',
      feedConnections: 1,
      hearsLifecycle: false,
      batchMs: 50,
      freeBytesMin: 1000 * MIB,
      keepDays: 0,
      keepGb: 0,
      backupTo: '',
      backupHours: 24,
      backupsKept: 7,
      rawPath: '',
      rawBytesMax: 100e9,
      spotSources: [],
      spotKey: '',
      publicUrl: '',
      admin: 'auto',
      adminToken: '',
      trustedProxies: [],
      caFile: '',
      rpcUrls: {},
      tradeNodes: [],
      sanctionsList: '',
      sanctionsDaysMax: 7,
      payTo: '',
      facilitator: '',
      facilitatorKeyId: '',
      facilitatorKeySecret: '',
      gasKey: '',
      confirmations: 'final',
      keysPerAccountMax: 10,
      signupsPerDay: 30,
    })
  })

  test('behavior: each variable is read, and others than ours are left alone', () => {
    const config = readConfig({
      PATH: '/bin',
      BOOKFEED_DATA: '/srv/books',
      BOOKFEED_HISTORY: 'postgres://bookfeed:secret@db:5432/books?schema=one',
      BOOKFEED_LEDGER: 'postgres://bookfeed:secret@db:5432/books',
      BOOKFEED_HOST: '::1',
      BOOKFEED_PORT: '0',
      BOOKFEED_WORKERS: 'auto',
      BOOKFEED_LOG: 'off',
      BOOKFEED_METRICS: '9464',
      BOOKFEED_RECORD_METRICS: '0.0.0.0:9465',
      BOOKFEED_PAGE_CACHE_MB: '1',
      BOOKFEED_CHUNK_CACHE_MB: '0',
      BOOKFEED_DRAIN_SECONDS: '5',
      BOOKFEED_STREAMS: '9',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_TEST_MODE: 'off',
      BOOKFEED_SAMPLE_MARKET: 'btc-updown-5m-1776153600',
      BOOKFEED_KEYLESS: 'on',
      BOOKFEED_FILES: 'on',
      BOOKFEED_SAMPLE_DAY: '2026-04-14',
      BOOKFEED_RECORD: 'off',
      BOOKFEED_RECORD_COINS: 'xrp, btc',
      BOOKFEED_RECORD_TIMEFRAMES: '1h',
      BOOKFEED_RECORD_RATE: '5m=10, 1d=1',
      BOOKFEED_ARCHIVE: 's3://books/history',
      BOOKFEED_ARCHIVE_DAYS: '7',
      BOOKFEED_ARCHIVE_CACHE_GB: '20',
      BOOKFEED_FEED_URL: 'ws://127.0.0.1:9/ws/market',
      BOOKFEED_CATALOGUE_URL: 'http://127.0.0.1:9/',
      BOOKFEED_ORDER_BOOK_URL: 'http://127.0.0.1:8/',
      BOOKFEED_FEED_CONNECTIONS: '2',
      BOOKFEED_BATCH_MS: '20',
      BOOKFEED_LIFECYCLE: 'on',
      BOOKFEED_FREE_MB: '5',
      BOOKFEED_KEEP_DAYS: '30',
      BOOKFEED_KEEP_GB: '200',
      BOOKFEED_BACKUP_TO: 's3://books/a',
      BOOKFEED_BACKUP_HOURS: '6',
      BOOKFEED_BACKUP_KEEP: '3',
      BOOKFEED_RAW: '/raw',
      BOOKFEED_RAW_GB: '3',
      BOOKFEED_SPOT: 'live=ws://127.0.0.1:9/live, page',
      BOOKFEED_SPOT_KEY: 'a:b:c',
      BOOKFEED_PUBLIC_URL: 'https://API.example.com:443/',
      BOOKFEED_ADMIN: 'token',
      BOOKFEED_ADMIN_TOKEN: '0123456789abcdef0123456789abcdef',
      BOOKFEED_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      BOOKFEED_CA_FILE: authority,
      BOOKFEED_RPC_URL: 'http://127.0.0.1:8545/key',
      BOOKFEED_TRADE_NODES: 'https://one.example/key, http://two.example:8545',
      BOOKFEED_SANCTIONS_LIST: '/srv/SDN.XML',
      BOOKFEED_SANCTIONS_DAYS_MAX: '3',
      BOOKFEED_KEYS_PER_ACCOUNT: '2',
      BOOKFEED_SIGNUPS_PER_DAY: '4',
      BOOKFEED_PAY_TO: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
      BOOKFEED_FACILITATOR: 'https://facilitator.example/x402',
      BOOKFEED_FACILITATOR_KEY_ID: 'id',
      BOOKFEED_FACILITATOR_KEY_SECRET: 'secret',
      BOOKFEED_GAS_KEY: '/srv/gas-key',
      BOOKFEED_CONFIRMATIONS: '12',
    })
    expect(config).toEqual({
      dataPath: '/srv/books',
      history: 'postgres://bookfeed:secret@db:5432/books?schema=one',
      ledger: 'postgres://bookfeed:secret@db:5432/books',
      archive: 's3://books/history',
      archiveDays: 7,
      archiveCacheBytes: 20e9,
      host: '::1',
      port: 0,
      workers: 'auto',
      log: 'off',
      metrics: { host: '127.0.0.1', port: 9464 },
      recordMetrics: { host: '0.0.0.0', port: 9465 },
      pageCacheBytes: MIB,
      chunkCacheBytes: 0,
      drainSeconds: 5,
      streamsMax: 9,
      hasSample: false,
      hasTestMode: false,
      sampleMarket: 'btc-updown-5m-1776153600',
      isKeyless: true,
      makesFiles: true,
      openDay: '2026-04-14',
      isRecording: false,
      recordCoins: ['btc', 'xrp'],
      recordTimeframes: ['1h'],
      statesPerSecond: { '5m': 10, '1d': 1 },
      feedUrl: 'ws://127.0.0.1:9/ws/market',
      catalogueUrl: 'http://127.0.0.1:9',
      orderBookUrl: 'http://127.0.0.1:8',
      feedConnections: 2,
      batchMs: 20,
      hearsLifecycle: true,
      freeBytesMin: 5 * MIB,
      keepDays: 30,
      keepGb: 200,
      backupTo: 's3://books/a',
      backupHours: 6,
      backupsKept: 3,
      rawPath: '/raw',
      rawBytesMax: 3e9,
      spotSources: [
        { name: 'live', url: 'ws://127.0.0.1:9/live' },
        { name: 'page', url: '' },
      ],
      spotKey: 'a:b:c',
      publicUrl: 'https://api.example.com',
      admin: 'token',
      adminToken: '0123456789abcdef0123456789abcdef',
      trustedProxies: [
        { address: '10.0.0.0', bits: 8, family: 'ipv4' },
        { address: '::1', bits: 128, family: 'ipv6' },
      ],
      caFile: authority,
      rpcUrls: { 'eip155:137': 'http://127.0.0.1:8545/key' },
      tradeNodes: ['https://one.example/key', 'http://two.example:8545'],
      sanctionsList: '/srv/SDN.XML',
      sanctionsDaysMax: 3,
      payTo: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
      facilitator: 'https://facilitator.example/x402',
      facilitatorKeyId: 'id',
      facilitatorKeySecret: 'secret',
      gasKey: '/srv/gas-key',
      confirmations: 12,
      keysPerAccountMax: 2,
      signupsPerDay: 4,
    })
    expect(Object.isFrozen(config)).toBe(true)
  })

  test('behavior: an empty variable counts as absent', () => {
    expect(readConfig({ BOOKFEED_PORT: '' }).port).toBe(3000)
  })

  test.each([
    ['BOOKFEED_PORT', '65536'],
    ['BOOKFEED_PORT', '-1'],
    ['BOOKFEED_PORT', '1e3'],
    ['BOOKFEED_PORT', ' 80'],
    ['BOOKFEED_HOST', 'a b'],
    ['BOOKFEED_LOG', 'JSON'],
    ['BOOKFEED_METRICS', '0.0.0.0'],
    ['BOOKFEED_METRICS', '127.0.0.1:99999'],
    ['BOOKFEED_PAGE_CACHE_MB', '1.5'],
    ['BOOKFEED_CHUNK_CACHE_MB', '9999999999'],
    ['BOOKFEED_SAMPLE', 'yes'],
    ['BOOKFEED_RECORD_COINS', 'btc,nocoin'],
    ['BOOKFEED_RECORD_RATE', '5m=0'],
    ['BOOKFEED_FEED_URL', 'http://127.0.0.1'],
    ['BOOKFEED_SPOT', 'live=http://127.0.0.1'],
    ['BOOKFEED_SPOT', 'page,page'],
    ['BOOKFEED_SPOT', 'rtds,rtds=ws://127.0.0.1'],
    ['BOOKFEED_BACKUP_TO', 's3:/books'],
    ['BOOKFEED_BACKUP_KEEP', '0'],
    ['BOOKFEED_SAMPLE', 'constructor'],
    ['BOOKFEED_PUBLIC_URL', 'api.example.com'],
    ['BOOKFEED_PUBLIC_URL', 'https://api.example.com/v1'],
    ['BOOKFEED_PUBLIC_URL', 'ftp://api.example.com'],
    ['BOOKFEED_PUBLIC_URL', 'http://[2001:db8::1]:3000'],
    ['BOOKFEED_PUBLIC_URL', 'http://bookfeed:3000'],
    ['BOOKFEED_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['BOOKFEED_TRUSTED_PROXIES', 'proxy'],
    ['BOOKFEED_CA_FILE', '/absent.pem'],
    ['BOOKFEED_CA_FILE', import.meta.filename],
    ['BOOKFEED_RPC_URL', 'node:8545'],
    ['BOOKFEED_RPC_URL', 'eip155:1=https://node'],
    ['BOOKFEED_RPC_URL', 'https://node,eip155:137=https://node'],
    ['BOOKFEED_TRADE_NODES', 'node:8545'],
    ['BOOKFEED_TRADE_NODES', 'https://one.example,'],
    ['BOOKFEED_TRADE_NODES', 'https://one.example/a,https://one.example:8545/b'],
    ['BOOKFEED_SANCTIONS_DAYS_MAX', '0'],
    ['BOOKFEED_KEYS_PER_ACCOUNT', '1001'],
    ['BOOKFEED_SIGNUPS_PER_DAY', '0'],
    ['BOOKFEED_PAY_TO', '0x1'],
    ['BOOKFEED_FACILITATOR', 'remote'],
    ['BOOKFEED_CONFIRMATIONS', '0'],
  ])('error: %s=%s is refused by name, value and what is accepted', (name, value) => {
    const variable = configVariables.find((each) => each.name === name)
    const shown = variable?.isSecret ? 'not valid: it' : `${JSON.stringify(value)}, but`
    expect(() => readConfig({ [name]: value })).toThrow(
      new Fault(`${name} is ${shown} must be ${variable?.accepts}.`, { kind: 'config' }),
    )
  })

  test('error: what may be a secret is not shown', () => {
    for (const { name, isSecret } of configVariables) {
      if (!isSecret) continue
      const message = messageOf(() => void readConfig({ [name]: 'wss://node/v2/secret123' }))
      expect(message).not.toContain('secret123')
    }
  })

  test.each(['a:b', 'a:b:', 'a:b:c:d', 'a:b c:d'])(
    'error: credentials %s are not three parts',
    (value) => {
      expect(messageOf(() => void readConfig({ BOOKFEED_SPOT_KEY: value }))).toContain(
        'BOOKFEED_SPOT_KEY is not valid: it must be apiKey:secret:passphrase',
      )
    },
  )

  test('error: live prices without credentials say what to set, or to leave out', () => {
    const message = messageOf(() => void readConfig({ BOOKFEED_SPOT: 'page,live' }))
    expect(message).toContain('BOOKFEED_SPOT_KEY is empty')
    expect(message).toContain('Set it to apiKey:secret:passphrase')
    expect(message).toContain('take `live` out of BOOKFEED_SPOT')
  })

  test('behavior: each word that a variable says it accepts is accepted', () => {
    for (const { name, accepts, parse } of configVariables) {
      for (const [, word = ''] of accepts.matchAll(/`(\w+)`/g)) {
        expect([name, word, parse(word)]).not.toContain(undefined)
      }
    }
  })

  test('error: a misspelt variable is refused with the nearest one, and where all are listed', () => {
    expect(() => readConfig({ BOOKFEED_PROT: '80' })).toThrow(
      /^BOOKFEED_PROT is not a variable of bookfeed\. Did you mean BOOKFEED_PORT\? All of them: bookfeed help config\.$/,
    )
    expect(() => readConfig({ BOOKFEED_WHATEVER_ELSE: '80' })).toThrow(
      /^BOOKFEED_WHATEVER_ELSE is not a variable of bookfeed\. All of them: bookfeed help config\.$/,
    )
  })
})

/** What a call says when it throws, if it does. */
function messageOf(call: () => void): string {
  try {
    call()
    return ''
  } catch (error) {
    return String(error)
  }
}

const shown = (text: string) => (text === '' ? 'empty' : `\`${text}\``)

describe('docs/configuration.md', () => {
  test('default: lists each variable with its default, what it accepts and what it means', async () => {
    const text = await Bun.file(new URL('../../docs/configuration.md', import.meta.url)).text()
    const rows = text.split('\n').filter((line) => line.startsWith('| `BOOKFEED_'))
    expect(rows).toEqual(
      configVariables.map(
        (variable) =>
          `| \`${variable.name}\` | ${shown(variable.default)} | ${variable.accepts} | ${variable.description} |`,
      ),
    )
  })
})
