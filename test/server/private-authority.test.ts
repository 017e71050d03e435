/** A bucket whose certificate a private authority has signed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasOpenssl, makeAuthority } from '../support/private-authority.ts'
import { runCommand } from '../support/run-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-authority-'))
let files: Awaited<ReturnType<typeof makeAuthority>>
let bucket: Bun.Server<undefined> | undefined
const list = ['backup', 'list', '--from', 's3://books/backups']

/** With what a bucket is reached by; an empty list of the authorities is that of the runtime. */
const run = (env: Record<string, string>, ...words: string[]) =>
  runCommand(
    {
      BOOKFEED_DATA: join(folder, 'data'),
      S3_ENDPOINT: `https://localhost:${bucket?.port}`,
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: 'secret',
      NODE_EXTRA_CA_CERTS: '',
      ...env,
    },
    ...words,
  )

describe.skipIf(!hasOpenssl)('BOOKFEED_CA_FILE', () => {
  beforeAll(async () => {
    files = await makeAuthority(folder)
    bucket = Bun.serve({
      port: 0,
      tls: { key: Bun.file(files.key), cert: Bun.file(files.certificate) },
      fetch: () =>
        new Response('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'),
    })
  })
  afterAll(async () => {
    await bucket?.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  test('default: a bucket whose certificate it has signed is reached', async () => {
    const listed = await run({ BOOKFEED_CA_FILE: files.authority }, ...list)
    expect(listed).toMatchObject({ exitCode: 0 })
  }, 300_000)

  test('error: without it the bucket is not trusted', async () => {
    const { errors, exitCode } = await run({}, ...list)
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('set BOOKFEED_CA_FILE')])
  }, 300_000)

  test('error: a file without certificates is refused by name', async () => {
    const { printed, exitCode } = await run({ BOOKFEED_CA_FILE: files.key }, 'doctor')
    expect(exitCode).not.toBe(0)
    expect(printed).toContain('BOOKFEED_CA_FILE')
  }, 300_000)
})
