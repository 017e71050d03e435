import { expect, test } from 'bun:test'
import { join } from 'node:path'

import { createLimits } from '#src/access/limits.ts'

const STATED = '80,000 addresses'
const root = join(import.meta.dir, '../..')

test('default: as many addresses as the documents state have a window of their own', async () => {
  const text = await Bun.file(join(root, 'docs/access.md')).text()
  expect(text.match(/[\d,]+ addresses/g)).toEqual([STATED, STATED])
  const most = Number(STATED.replace(/\D/g, ''))
  const { addresses, guests, signups } = createLimits(1)
  for (const windows of [addresses.data, addresses.billing, guests, ...Object.values(signups)]) {
    for (let address = 0; address < most; address++) windows.take(`${address}`, 9, 0)
    expect(windows.find(`${most - 1}`, 0)).toMatchObject({ used: 1 })
    windows.take('one more', 9, 0)
    expect(windows.take('and another', 9, 0)).toMatchObject({ used: 2 })
  }
})
