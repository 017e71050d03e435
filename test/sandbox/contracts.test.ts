import { describe, expect, test } from 'bun:test'

import { compileContracts, compiledFile } from '../support/compile-contracts.ts'

describe('compileContracts', () => {
  test('default: makes of the sources the very bytes that are kept beside them', async () => {
    expect(await compileContracts()).toBe(await Bun.file(compiledFile).text())
  })
})
