import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { readGasKey } from '#src/facilitator/gas-wallet.ts'

const key = `0x${'5a'.repeat(32)}`
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-gas-key-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function fileOf(name: string, { text = `${key}\n`, mode = 0o600 } = {}): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

function faultOf(value: string): string {
  try {
    return `No fault, but ${readGasKey(value)}`
  } catch (error) {
    return Bun.inspect(error)
  }
}

describe('readGasKey', () => {
  test('default: takes the key itself', () => expect(readGasKey(key)).toBe(key as never))

  test.each([0o600, 0o400])('default: takes a file of mode %o', (mode) =>
    expect(readGasKey(fileOf(`mode-${mode}`, { mode }))).toBe(key as never),
  )

  test('behavior: follows a link, as secrets are mounted', () => {
    const link = join(folder, 'link')
    symlinkSync(fileOf('target'), link)
    expect(readGasKey(link)).toBe(key as never)
  })

  test.each([0o640, 0o604, 0o610, 0o666])(
    'error: refuses a file of mode %o, with what to do',
    (mode) => {
      const fault = faultOf(fileOf(`open-${mode}`, { mode }))
      expect(fault).toContain(`mode ${mode.toString(8)}`)
      expect(fault).toContain('chmod 600')
    },
  )

  test('error: refuses what is no file', async () => {
    const pipe = join(folder, 'pipe')
    expect(await Bun.spawn(['mkfifo', '-m', '600', pipe]).exited).toBe(0)
    for (const path of [folder, pipe, '/dev/null']) {
      expect(faultOf(path)).toContain('must be a file that contains only a key')
    }
  })

  test.each([
    ['zero', `0x${'0'.repeat(64)}`],
    [
      'the order of the curve',
      '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141',
    ],
  ])('error: refuses %s', (_, value) => {
    expect(faultOf(value)).toContain('must hold a private key')
  })

  test('error: no message holds a key or a path', () => {
    const values = [
      key.slice(0, -1),
      join(folder, 'absent'),
      fileOf('short', { text: key.slice(0, -1) }),
      fileOf('long', { text: key.repeat(100) }),
      fileOf('shared', { mode: 0o644 }),
    ]
    for (const value of values) {
      expect(faultOf(value)).toContain('Fault')
      expect(faultOf(value)).not.toMatch(/5a5a|bookfeed-gas-key/)
    }
  })
})
