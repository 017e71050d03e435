/** Connections to services whose certificates are of a private authority. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { runCommand } from '../support/run-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-authority-'))
const authority = join(folder, 'ca.pem')
const key = join(folder, 'server.key')
const certificate = join(folder, 'server.pem')
let bucket: Bun.Server<undefined> | undefined
const list = ['backup', 'list', '--from', 's3://books/backups']

function openssl(words: string): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...words.split(' ')], { cwd: folder })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

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

describe.skipIf(Bun.which('openssl') === null)('BOOKFEED_CA_FILE', () => {
  beforeAll(async () => {
    const names = 'subjectAltName=DNS:localhost'
    openssl('req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Private')
    openssl('req -newkey rsa:2048 -nodes -keyout server.key -out request -subj /CN=localhost')
    await Bun.write(join(folder, 'names'), names)
    openssl(
      'x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem',
    )
    bucket = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key), cert: Bun.file(certificate) },
      fetch: () =>
        new Response('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'),
    })
  })
  afterAll(async () => {
    await bucket?.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  test('default: a bucket whose certificate it has signed is reached', async () => {
    const listed = await run({ BOOKFEED_CA_FILE: authority }, ...list)
    expect(listed).toMatchObject({ exitCode: 0 })
  }, 60_000)

  test('error: without it the bucket is not trusted', async () => {
    const { errors, exitCode } = await run({}, ...list)
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('set BOOKFEED_CA_FILE')])
  }, 60_000)

  test('error: a file without certificates is refused by name', async () => {
    const { printed, exitCode } = await run({ BOOKFEED_CA_FILE: key }, 'doctor')
    expect(exitCode).not.toBe(0)
    expect(printed).toContain('BOOKFEED_CA_FILE')
  }, 60_000)
})
