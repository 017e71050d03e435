import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { openHistory } from '#src/history/open.ts'
import type { Finding } from '#src/server/extension.ts'

import { appendAll, simulatedSnapshots } from '../history/books.ts'
import { aTransfer } from '../ledger/payment-records.ts'
import { createCommandLine } from '../support/command-line.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { runCommandUnder } from '../support/run-command.ts'
import { createSmallDisk, hasSmallDisk } from '../support/small-disk.ts'

const isRoot = process.getuid?.() === 0
/** A mount of its own needs a namespace of its own, which not every machine gives. */
const canMount =
  process.platform === 'linux' &&
  ['unshare', 'mount'].every((program) => Bun.which(program) !== null) &&
  Bun.spawnSync(['unshare', isRoot ? '-m' : '-Urm', 'mount', '--bind', '/tmp', '/tmp']).success

const PAYEE = `0x${'1'.repeat(40)}`
const DAY_MS = 86_400_000

/** A data folder with both files, and the doctor on it. */
async function createPatient(env: Record<string, string> = {}) {
  const cli = createCommandLine({ BOOKFEED_FREE_MB: '0', ...env })
  const history = openHistory(join(cli.folder, 'history.db'))
  await appendAll(history, simulatedSnapshots('doctor', 300))
  history.dispose()
  await cli.withLedger((ledger) => void addKey(ledger, undefined))
  const examine = async () => {
    const { exitCode, printed, errors } = await cli.run('doctor', '--json')
    const { ok, findings } = JSON.parse(printed.join('\n'))
    expect(ok).toBe(exitCode === 0)
    return { exitCode, errors, findings: findings as Finding[] }
  }
  /** State and text of what a check found. */
  const find = async (check: string) => {
    const { findings } = await examine()
    return findings.filter((finding) => finding.check === check)
  }
  return Object.assign(cli, { examine, find })
}

const servers: { stop(): unknown }[] = []
afterAll(() => {
  for (const server of servers) server.stop()
})

/** Answers every request with a time, and questions of a chain with its number. */
function startServer(timeMs: number, chainId = '0x89'): string {
  const headers = { date: new Date(timeMs).toUTCString() }
  const fetch = async (request: Request) => {
    const text = await request.text()
    const { id } = text === '' ? { id: 0 } : JSON.parse(text)
    return Response.json({ jsonrpc: '2.0', id, result: chainId }, { headers })
  }
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
  servers.push(server)
  return server.url.origin
}

describe('bookfeed doctor', () => {
  test('default: a sound folder is fine without a network, and nothing is changed', async () => {
    using cli = await createPatient()
    const { exitCode, findings } = await cli.examine()
    expect(exitCode).toBe(0)
    expect(Object.fromEntries(findings.map(({ check, state }) => [check, state]))).toEqual({
      configuration: 'ok',
      permissions: 'ok',
      disk: 'ok',
      history: 'ok',
      ledger: 'ok',
      backup: 'warning',
      recorder: 'skipped',
      clock: 'skipped',
      payments: 'skipped',
      sanctions: 'skipped',
    })
    const { printed } = await cli.run('doctor')
    expect(printed.join('\n')).toContain('ok       history: 300 snapshots of 1 market.')
    expect(printed.join('\n')).toContain('         to do: Set BOOKFEED_BACKUP_TO')
  })

  test('behavior: of a folder that is not there it makes none', async () => {
    using cli = createCommandLine({ BOOKFEED_DATA: '/nowhere/bookfeed' })
    expect((await cli.run('doctor')).exitCode).toBe(0)
  })

  test('error: others who may use the data, with the command that ends it', async () => {
    using cli = await createPatient()
    chmodSync(join(cli.folder, 'ledger.db'), 0o640)
    const path = join(cli.folder, 'ledger.db')
    expect(await cli.find('permissions')).toMatchObject([
      { state: 'wrong', text: expect.stringContaining('mode 640'), todo: `chmod 600 ${path}` },
    ])
  })

  test.skipIf(!hasSmallDisk)('error: a disk that is nearly full', async () => {
    using disk = createSmallDisk()
    using cli = createCommandLine(disk.env)
    const { exitCode, printed } = await cli.run('doctor')
    expect([exitCode, printed.join('\n')]).toEqual([
      1,
      expect.stringMatching(/wrong {4}disk: .* less than BOOKFEED_FREE_MB/),
    ])
  })

  test('error: damaged files, each by name', async () => {
    using cli = await createPatient()
    truncateSync(join(cli.folder, 'history.db'), 5000)
    const db = openDatabase(join(cli.folder, 'ledger.db'), { format: ledgerFormat })
    db.run("UPDATE api_key SET label = 'by hand'")
    db.close()
    const { exitCode, findings } = await cli.examine()
    expect(exitCode).toBe(1)
    const wrong = findings.filter(({ state }) => state === 'wrong')
    expect(wrong.map(({ check }) => check)).toEqual(['history', 'ledger'])
    expect(wrong[1]?.text).toContain('differs from its last audited state')
  })

  // Root may write everywhere but on a disk that may only be read.
  test.skipIf(!canMount)(
    'error: a folder that may only be read is reported check by check',
    async () => {
      using cli = await createPatient()
      const at = cli.folder
      const mount = `mount --bind '${at}' '${at}' && mount -o remount,ro,bind '${at}' && exec "$@"`
      const starter = ['unshare', ...(isRoot ? ['-m'] : ['-Urm']), 'sh', '-c', mount, 'sh']
      const env = { BOOKFEED_DATA: at, BOOKFEED_FREE_MB: '0' }
      const { exitCode, printed, errors } = await runCommandUnder(starter, env, 'doctor', '--json')
      const { findings } = JSON.parse(printed) as { findings: Finding[] }
      // SQLite reads a file there if those beside it are left, and else says that it cannot.
      const states = findings.map(({ check, state }) =>
        check === 'history' || check === 'ledger' ? check : `${check}: ${state}`,
      )
      expect([exitCode, states]).toEqual([
        1,
        [
          'configuration: ok',
          'permissions: ok',
          'disk: ok',
          'disk: wrong',
          'history',
          'ledger',
          'backup: warning',
          'recorder: skipped',
          'clock: skipped',
          'payments: skipped',
          'sanctions: skipped',
        ],
      ])
      expect(findings.find(({ text }) => text.includes('EROFS'))?.todo).toContain(
        'write the folder',
      )
      expect(errors).toMatch(/^bookfeed: \d things? wrong\.\n$/)
    },
  )

  test('error: a list of files of a day that is damaged', async () => {
    using cli = await createPatient()
    const folder = join(cli.folder, 'files', 'btc', '5m')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(join(cli.folder, 'files'), 0o700)
    writeFileSync(join(folder, '2026-02-03.json'), '{"source":"","files":[]}')
    expect(await cli.find('files')).toMatchObject([{ state: 'ok' }])
    writeFileSync(join(folder, '2026-02-04.json'), '{"source":"","files":[')
    expect(await cli.find('files')).toMatchObject([
      { state: 'wrong', text: expect.stringContaining('btc 5m 2026-02-04') },
    ])
  })

  test('error: a configuration that no server would start with', async () => {
    using cli = await createPatient({ BOOKFEED_PORTT: '1' })
    // The command line needs the configuration for nothing else.
    const { exitCode, findings } = await cli.examine()
    expect([exitCode, findings]).toMatchObject([
      1,
      [{ check: 'configuration', state: 'wrong', text: expect.stringContaining('PORTT') }],
    ])
  })

  test.each([
    ['ok', 0],
    ['warning', 5000],
    ['wrong', -60_000],
  ] as const)('behavior: the clock is %s against that of a server', async (state, drift) => {
    using cli = await createPatient({ BOOKFEED_PUBLIC_URL: startServer(NOW_MS + drift) })
    expect(await cli.find('clock')).toMatchObject([{ state }])
  })

  test('error: the last time that a server stored is ahead of the clock', async () => {
    using cli = await createPatient()
    writeFileSync(join(cli.folder, 'clock.txt'), new Date(NOW_MS + 600_000).toISOString())
    expect(await cli.find('stored time')).toMatchObject([
      { state: 'warning', text: expect.stringContaining('is 600 s ahead of the clock') },
    ])
  })

  test('error: what is sold and cannot be paid with, such as on another chain', async () => {
    const selling = { BOOKFEED_PAY_TO: PAYEE, BOOKFEED_FACILITATOR: startServer(NOW_MS) }
    using partial = await createPatient(selling)
    expect(await partial.find('payments')).toMatchObject([
      { state: 'wrong', text: expect.stringContaining('BOOKFEED_RPC_URL is not set') },
    ])
    using cli = await createPatient({ ...selling, BOOKFEED_RPC_URL: startServer(NOW_MS, '0x1') })
    const [usdc] = await cli.find('payments')
    expect(usdc).toMatchObject({
      state: 'wrong',
      text: expect.stringContaining('is on chain 1, not on 137'),
    })
  })

  test('error: a node on another chain, also where nothing is sold', async () => {
    const url = startServer(NOW_MS, '0x1')
    using cli = await createPatient({ BOOKFEED_RPC_URL: url })
    const text = `The RPC at ${new URL(url).origin} is on chain 1, not on 137.`
    const found = await cli.find('payments')
    expect(found).toContainEqual(expect.objectContaining({ state: 'wrong', text }))
    using sound = await createPatient({ BOOKFEED_RPC_URL: startServer(NOW_MS, '0x89') })
    expect((await sound.find('payments')).map(({ state }) => state)).toEqual(['skipped'])
  })

  test('error: a sanctions list that is stale, and money that nobody explains', async () => {
    using cli = await createPatient({
      BOOKFEED_SANCTIONS_LIST: '/srv/SDN.XML',
      BOOKFEED_PAY_TO: PAYEE,
    })
    const by = { actor: 'operator', nowMs: NOW_MS } as const
    expect(await cli.find('sanctions')).toMatchObject([{ state: 'warning' }])
    await cli.withLedger(async (ledger) => {
      const addresses = new Set([`0x${'2'.repeat(40)}`])
      const confirmedMs = NOW_MS - 8 * DAY_MS
      const about = { publishedOn: '2026-01-01', sha256: 'a'.repeat(64) }
      await ledger.putSanctionsList({ ...about, confirmedMs, addresses }, by)
      await ledger.payments.addUnmatchedTransfer(aTransfer(1), by)
    })
    expect(await cli.find('sanctions')).toMatchObject([{ state: 'wrong' }])
    expect(await cli.find('payee')).toMatchObject([
      { state: 'wrong', text: expect.stringContaining('1 transfer to BOOKFEED_PAY_TO') },
    ])
  })
})
