/** A PostgreSQL whose certificate a private authority has signed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { hasOpenssl, makeAuthority } from '../../support/private-authority.ts'
import { runCommand } from '../../support/run-command.ts'

/** Debian's `nobody`, as which PostgreSQL runs. */
const NOBODY = 65_534

describe.skipIf(postgresPrograms === undefined || !hasOpenssl)('BOOKFEED_CA_FILE', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-postgres-authority-'))
  let postgres: Postgres
  let authority = ''
  beforeAll(async () => {
    const [started, made] = await Promise.all([startPostgres(), makeAuthority(folder)])
    postgres = started
    authority = made.authority
    // PostgreSQL reads them, and refuses a key that others may read.
    chmodSync(folder, 0o755)
    if (process.getuid?.() === 0) chownSync(made.key, NOBODY, NOBODY)
    chmodSync(made.key, 0o600)
    await using operator = new SQL(postgres.url, { max: 1 })
    await operator.unsafe(`ALTER SYSTEM SET ssl_cert_file = '${made.certificate}'`)
    await operator.unsafe(`ALTER SYSTEM SET ssl_key_file = '${made.key}'`)
    await operator.unsafe('ALTER SYSTEM SET ssl = on')
    await operator.unsafe('SELECT pg_reload_conf()')
  }, 300_000)
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The certificate names `localhost`. */
  const run = (env: Record<string, string>) => {
    const url = postgres.url.replace('127.0.0.1', 'localhost')
    return runCommand(
      {
        BOOKFEED_DATA: join(folder, 'data'),
        BOOKFEED_LEDGER: `${url}?sslmode=verify-full`,
        NODE_EXTRA_CA_CERTS: '',
        ...env,
      },
      'keys',
      'create',
    )
  }

  test('default: a PostgreSQL whose certificate it has signed is used', async () => {
    const { printed, errors } = await run({ BOOKFEED_CA_FILE: authority })
    expect([printed, errors]).toEqual([expect.stringMatching(/^bf_live_/), expect.any(String)])
  }, 300_000)

  test('error: without it the PostgreSQL is not trusted', async () => {
    const { exitCode, errors } = await run({})
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('set BOOKFEED_CA_FILE')])
  }, 300_000)
})
