import { describe, expect, test } from 'bun:test'

import { faultsOf, listParts, type Part, toCycloneDx, toNotices } from '#dev/release/bill.ts'
import { sources } from '#dev/release/build.ts'

import project from '../../package.json'

const root = new URL('../..', import.meta.url).pathname
const parts = listParts(root)
const facts = { version: '1.0.0', runtime: '1.4.5' }
const aPart = (licence: string): Part => ({
  name: '@a/b',
  version: '1.2.3',
  licence,
  text: 'Text.',
  sha512: 'ab',
})

describe('the bill of materials', () => {
  test('default: names every package of the service with its version, and nothing for development', () => {
    const named = new Map(parts.map(({ name, version }) => [name, version]))
    expect(Object.fromEntries(named)).toMatchObject(project.dependencies)
    const { components } = toCycloneDx(facts, parts)
    expect(new Set(components.map((part) => JSON.stringify(part))).size).toBe(parts.length + 1)
    for (const { sha512 } of parts) expect(sha512).toHaveLength(128)
    expect([...named.keys()]).not.toContain('typescript')
  })

  test('default: everything that the program imports is in it', async () => {
    const { metafile } = await Bun.build({
      entrypoints: [...sources.entrypoints],
      external: [...sources.external],
      target: sources.target,
      metafile: true,
    })
    const inputs = Object.keys(metafile?.inputs ?? {})
    const found = inputs.flatMap(
      (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
    )
    expect(new Set(found).size).toBeGreaterThan(20)
    const named = new Set(parts.map(({ name }) => name))
    expect([...new Set(found)].filter((name) => !named.has(name))).toEqual([])
  })

  test('behavior: is the same each time', () => {
    const make = () => [toCycloneDx(facts, listParts(root)), toNotices('1.4.5', listParts(root))]
    expect(make()).toEqual(make())
  })

  test('default: licences of a part are named, and their texts are there', () => {
    const notices = toNotices('1.4.5', [aPart('MIT')])
    expect(notices).toContain('@a/b 1.2.3 (MIT)\n\nText.')
    expect(notices).toContain('JavaScriptCore')
    expect(toCycloneDx(facts, [aPart('MIT')]).components[1]).toMatchObject({
      purl: 'pkg:npm/%40a/b@1.2.3',
      licenses: [{ expression: 'MIT' }],
    })
  })
})

describe('licences', () => {
  test('default: each is one that asks for its notice alone', () => {
    expect(faultsOf(parts)).toEqual([])
  })

  test.each(['MIT', '(MIT OR GPL-3.0-only)', 'MIT AND ISC'])(
    'behavior: %s is allowed',
    (licence) => {
      expect(faultsOf([aPart(licence)])).toEqual([])
    },
  )

  test.each([
    'GPL-3.0-only',
    'AGPL-3.0',
    'LGPL-2.1',
    'MIT AND GPL-2.0-only',
    'MPL-2.0',
    'UNLICENSED',
    '',
  ])('error: %p is not', (licence) => {
    expect(faultsOf([aPart(licence)])).toEqual([`@a/b 1.2.3: ${licence || 'no licence'}`])
  })
})
