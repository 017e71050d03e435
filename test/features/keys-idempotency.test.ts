import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'
import { asJson, createSigner, readKey, vouchFor } from '../support/signup-client.ts'

const HOUR_MS = 3_600_000
const headers = { 'idempotency-key': 'order-1' }

const folders: string[] = []
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

function createRig(options: Parameters<typeof createHarness>[0] = {}) {
  const harness = createHarness(options)
  const signer = createSigner(harness.send)
  const signUp = (body: unknown, more: object = headers) =>
    harness.send('/v1/keys', asJson(body, more))
  const keyCount = () => harness.ledger.listKeys(accountId()).length
  const accountId = () => harness.ledger.findAccountByAddress(signer.address)?.id ?? 'none'
  return { ...harness, signer, signUp, keyCount }
}

const isReplayed = (response: Response) => response.headers.get('idempotent-replayed')

describe('POST /v1/keys with Idempotency-Key', () => {
  test('behavior: gives the same key again, after its message was used and has expired', async () => {
    const { signer, signUp, keyCount, advance } = createRig()
    const body = await signer.signed()
    const first = await signUp(body)
    expect(isReplayed(first)).toBeNull()
    const text = await first.text()
    for (const waitMs of [0, HOUR_MS, 22 * HOUR_MS]) {
      advance(waitMs)
      const again = await signUp(body)
      expect([again.status, isReplayed(again), await again.text()]).toEqual([201, 'true', text])
      expect(again.headers.get('cache-control')).toBe('no-store')
    }
    expect(keyCount()).toBe(1)
    advance(2 * HOUR_MS)
    expect((await readProblem(await signUp(body))).code).toBe('challenge_expired')
  })

  test('behavior: fifty at once all get the one key', async () => {
    const { signer, signUp, keyCount } = createRig()
    const body = await signer.signed()
    const responses = await Promise.all(Array.from({ length: 50 }, () => signUp(body)))
    const made = await Promise.all(responses.map(readKey))
    expect(new Set(made.map(({ key }) => key)).size).toBe(1)
    expect(keyCount()).toBe(1)
  })

  test('behavior: two wallets may choose the same', async () => {
    const { send, signer, signUp } = createRig()
    const one = await readKey(await signUp(await signer.signed()))
    const two = await readKey(await signUp(await createSigner(send).signed()))
    expect(one.key).not.toBe(two.key)
  })

  test('error: another body of the same wallet is a mismatch, and makes no key', async () => {
    const { signer, signUp, keyCount } = createRig()
    const body = await signer.signed()
    await readKey(await signUp(body))
    for (const other of [{ ...body, label: 'x' }, await signer.signed()]) {
      const problem = await readProblem(await signUp(other))
      expect([problem.status, problem.code]).toEqual([422, 'idempotency_mismatch'])
    }
    expect(keyCount()).toBe(1)
  })

  test('behavior: a refusal is not kept', async () => {
    const { signer, signUp } = createRig()
    const body = await signer.signed()
    const bad = { ...body, signature: await signer.sign('another') }
    expect((await readProblem(await signUp(bad))).code).toBe('signature_invalid')
    await readKey(await signUp(body))
  })

  test('error: a malformed one is refused before anything is done', async () => {
    const { signer, signUp, keyCount } = createRig()
    const problem = await readProblem(
      await signUp(await signer.signed(), { 'idempotency-key': 'a b' }),
    )
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', 'Idempotency-Key'])
    expect(keyCount()).toBe(0)
  })
})

describe('POST /v1/keys/{id}/rotate with Idempotency-Key', () => {
  test('behavior: gives the same key again, to the key that asked, and rotates once', async () => {
    const { signer, sendAs, keyCount, ledger } = createRig()
    await vouchFor(ledger, signer.address)
    const made = await signer.signUp()
    const rotate = (token: string, body = {}) =>
      ((path, init) => sendAs(token, path, init))(
        `/v1/keys/${made.id}/rotate`,
        asJson(body, headers),
      )
    const first = await rotate(made.key)
    const text = await first.text()
    const again = await rotate(made.key, { overlapSeconds: 86_400 })
    expect([again.status, isReplayed(again), await again.text()]).toEqual([201, 'true', text])
    expect(keyCount()).toBe(2)

    const other = await signer.signUp()
    for (const response of [await rotate(made.key, { label: 'x' }), await rotate(other.key)]) {
      expect((await readProblem(response)).code).toBe('idempotency_mismatch')
    }
  })
})

describe('what is written', () => {
  test('behavior: no key, nor what opens a kept answer, is in any file or log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bookfeed-keys-'))
    folders.push(folder)
    const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
    const { signer, signUp, sendAs, lines } = createRig({ ledger })
    const body = await signer.signed({ label: 'a label' })
    const made = await readKey(await signUp(body))
    const rotated = await readKeyOf(
      await ((path, init) => sendAs(made.key, path, init))(
        `/v1/keys/${made.id}/rotate`,
        asJson({}, headers),
      ),
    )
    const readAll = async () => {
      const names = await readdir(folder)
      const files = names.map((name) => Bun.file(join(folder, name)).bytes())
      return (await Promise.all(files)).map((bytes) => Buffer.from(bytes).toString('latin1')).join()
    }
    const open = await readAll()
    ledger.dispose()
    const written = open + (await readAll()) + lines.join()
    // The label is there, so the search finds what there is.
    expect(written).toContain('a label')
    for (const secret of [made.key, rotated, body.signature, body.signature.slice(2)]) {
      expect(written).not.toContain(secret)
      expect(written).not.toContain(secret.slice(8, 30))
    }
  })
})

async function readKeyOf(response: Response): Promise<string> {
  expect(response.status).toBe(201)
  return ((await response.json()) as { key: string }).key
}
