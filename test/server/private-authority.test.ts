/** Connections to services whose certificates are of a private authority. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { redisProgram } from '../support/engines/redis.ts'
import { findFreePort } from '../support/free-port.ts'
import { runCommand } from '../support/run-command.ts'

const TRIES_MAX = 100
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-authority-'))
const authority = join(folder, 'ca.pem')
const key = join(folder, 'server.key')
const certificate = join(folder, 'server.pem')
const redisPort = findFreePort()
let redis: Bun.Subprocess | undefined
let bucket: Bun.Server<undefined> | undefined

function openssl(words: string): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...words.split(' ')], { cwd: folder })
  if (exitCode !== 0) throw new Error(stderr.toString())
}

/** With what a bucket is reached by; an empty list of the authorities is that of the runtime. */
const run = (env: Record<string, string>, ...words: string[]) =>
  runCommand(
    {
      BOOKFEED_DATA: join(folder, 'data'),
      BOOKFEED_LIMITS: `rediss://localhost:${redisPort}`,
      S3_ENDPOINT: `https://localhost:${bucket?.port}`,
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: 'secret',
      NODE_EXTRA_CA_CERTS: '',
      ...env,
    },
    ...words,
  )

describe.skipIf(redisProgram === null || Bun.which('openssl') === null)('BOOKFEED_CA_FILE', () => {
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
    redis = Bun.spawn(
      [
        redisProgram ?? '',
        '--port',
        '0',
        '--tls-port',
        `${redisPort}`,
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--tls-cert-file',
        certificate,
        '--tls-key-file',
        key,
        '--tls-auth-clients',
        'no',
        '--tls-ca-cert-file',
        authority,
      ],
      { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
    )
    const isThere = () =>
      Bun.connect({
        hostname: '127.0.0.1',
        port: redisPort,
        socket: { data: () => undefined },
      }).then(
        (socket) => Boolean(socket.end()) || true,
        () => false,
      )
    for (let tries = 0; tries < TRIES_MAX && !(await isThere()); tries++) await Bun.sleep(50)
  })
  afterAll(async () => {
    redis?.kill('SIGKILL')
    await redis?.exited
    await bucket?.stop(true)
    rmSync(folder, { recursive: true, force: true })
  })

  test('default: Redis and a bucket are reached, whose certificates it has signed', async () => {
    const env = { BOOKFEED_CA_FILE: authority }
    expect((await run(env, 'doctor')).printed).toMatch(/Redis \d+\S* answers/)
    const listed = await run(env, 'backup', 'list', '--from', 's3://books/backups')
    expect(listed).toMatchObject({ exitCode: 0 })
  }, 60_000)

  test('error: without it they are not trusted', async () => {
    const { printed } = await run({}, 'doctor')
    expect(printed).toContain('Redis cannot be used')
    expect(printed).toContain('name the file of that in BOOKFEED_CA_FILE')
    const listed = await run({}, 'backup', 'list', '--from', 's3://books/backups')
    expect(listed.exitCode).toBe(1)
  }, 60_000)

  test('error: a file without certificates is refused by name', async () => {
    const { printed, exitCode } = await run({ BOOKFEED_CA_FILE: key }, 'doctor')
    expect(exitCode).not.toBe(0)
    expect(printed).toContain('BOOKFEED_CA_FILE')
  }, 60_000)
})
