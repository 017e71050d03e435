import { describe, expect, test } from 'bun:test'

import { affectedTests, isTest, nearTests, readers } from './affected-tests.ts'
import { readProject } from './project-tree.ts'

const tree = {
  'src/start.ts': "import { begin } from './server/begin.ts'",
  'src/server/begin.ts':
    "import { rebate } from '#src/domain/rebate.ts'\nimport text from '../../docs/guide.md' with { type: 'text' }",
  'src/domain/rebate.ts': "import type { Level } from './rank.ts'",
  'src/domain/rank.ts': '',
  'src/domain/unused.ts': '',
  'docs/guide.md': '',
  'test/support/run.ts': "const program = new URL('../../src/start.ts', import.meta.url)",
  'test/cli/again.test.ts': "import { run } from '../support/run.ts'",
  'test/cli/main.test.ts': "const program = join(import.meta.dir, '../../src/start.ts')",
  'test/domain/rebate.test.ts': "import { rebate } from '#src/domain/rebate.ts'",
  'test/domain/rebate-costs.test.ts': "import { run } from '../support/run.ts'",
  'test/domain/prose.test.ts': "// 'src/start.ts'\nBun.file('docs/guide.md')",
  'test/docs-commands.test.ts': '',
}

const chainsFrom = (...changed: string[]) =>
  affectedTests(tree, changed).affected.map(({ chain }) => chain.join(' < '))
const nearestTo = (...changed: string[]) =>
  affectedTests(tree, changed).affected.flatMap(({ test, isNear }) => (isNear ? [test] : []))

describe('affectedTests', () => {
  test('default: tests that import a file, or start a process that does, by the shortest chain', () => {
    expect(chainsFrom('src/domain/rebate.ts')).toEqual([
      'test/cli/again.test.ts < test/support/run.ts < src/start.ts < src/server/begin.ts < src/domain/rebate.ts',
      'test/cli/main.test.ts < src/start.ts < src/server/begin.ts < src/domain/rebate.ts',
      'test/domain/rebate-costs.test.ts < test/support/run.ts < src/start.ts < src/server/begin.ts < src/domain/rebate.ts',
      'test/domain/rebate.test.ts < src/domain/rebate.ts',
    ])
  })

  test('default: the tests of the same name are near, otherwise the few with the shortest chains', () => {
    expect(nearestTo('src/domain/rebate.ts')).toEqual([
      'test/domain/rebate-costs.test.ts',
      'test/domain/rebate.test.ts',
    ])
    expect(nearestTo('src/server/begin.ts')).toEqual(['test/cli/main.test.ts'])
    expect(nearestTo('src/server/begin.ts', 'test/cli/again.test.ts')).toEqual([
      'test/cli/again.test.ts',
      'test/cli/main.test.ts',
    ])
    const names = Array.from({ length: 9 }, (_, index) => `test/a/${index}.test.ts`)
    const many = Object.fromEntries(
      [...names, 'test/domain/fee.test.ts'].map((test) => [test, "import '#src/domain/vat.ts'"]),
    )
    const { affected } = affectedTests({ 'src/domain/vat.ts': '', ...many }, ['src/domain/vat.ts'])
    expect(affected).toHaveLength(10)
    const near = affected.filter(({ isNear }) => isNear).map(({ test }) => test)
    expect(near).toEqual([...names.slice(0, 3), 'test/domain/fee.test.ts'])
  })

  test('behavior: the test that compares the generated types of clients is nearest to them', () => {
    const clients = {
      'clients/python/bookfeed/api.py': '',
      'clients/typescript/src/api.ts': '',
      'test/clients/python.test.ts': '',
      'test/clients/typescript-streams.test.ts': '',
      'test/clients/typescript.test.ts': '',
    }
    for (const file of ['clients/python/bookfeed/api.py', 'clients/typescript/src/api.ts']) {
      const { affected } = affectedTests(clients, [file])
      expect(affected.length).toBeGreaterThan(1)
      const near = affected.filter(({ isNear }) => isNear).map(({ test }) => test)
      expect(near).toEqual(['test/clients/typescript.test.ts'])
    }
  })

  test('behavior: a document affects only the tests that name or read it', () => {
    expect(chainsFrom('docs/guide.md')).toEqual([
      'test/docs-commands.test.ts < docs/guide.md',
      'test/domain/prose.test.ts < docs/guide.md',
    ])
  })

  test('behavior: a deleted file affects the tests of files that still import it', () => {
    const { 'src/domain/rebate.ts': _, ...rest } = tree
    const { affected } = affectedTests(rest, ['src/domain/rebate.ts'])
    expect(affected.map(({ test }) => test)).toContain('test/domain/rebate.test.ts')
  })

  test('error: files that affect no test are returned', () => {
    const changed = ['src/domain/unused.ts', 'src/domain/rank.ts', 'src/domain/rebate.ts']
    expect(affectedTests(tree, changed).withoutTests).toEqual(changed.slice(0, 2))
  })
})

describe('this project', async () => {
  const project = await readProject()
  const files = Object.keys(project)

  test('default: each row of the tables names files and tests that exist', () => {
    for (const [read, tests] of [...readers, ...nearTests]) {
      expect([read, files.some((file) => read.test(file))]).toEqual([read, true])
      expect([tests, files.some((file) => isTest(file) && tests.test(file))]).toEqual([tests, true])
    }
  })

  test('behavior: the contract tests and the importing features are near to a file of the API', () => {
    const { affected } = affectedTests(project, ['src/http/history-list.ts'])
    const near = affected.filter(({ isNear }) => isNear).map(({ test }) => test)
    expect(near).toEqual([
      'test/clients/typescript.test.ts',
      'test/contract/access.test.ts',
      'test/contract/client-types.test.ts',
      'test/contract/openapi.test.ts',
      'test/contract/responses.test.ts',
      'test/features/changes.test.ts',
      'test/features/prices.test.ts',
      'test/features/quotes.test.ts',
      'test/features/snapshots.test.ts',
      'test/features/trades.test.ts',
    ])
  })

  test('behavior: no browser test is near to a file of the server', () => {
    const sources = files.filter((file) => file.startsWith('src/'))
    const { affected } = affectedTests(project, sources)
    const inBrowser = affected.filter(({ test }) => test.startsWith('test/web/'))
    expect(inBrowser.length).toBeGreaterThan(0)
    expect(inBrowser.filter(({ isNear }) => isNear)).toEqual([])
  })

  test('behavior: only these files affect no test but test/tidy.test.ts', () => {
    const { withoutTests } = affectedTests(project, files)
    const known =
      /^(CONTRIBUTING|SECURITY)\.md$|^(biome\.json|redocly\.yaml|test\/(changed\.ts|run\.ts|timings\.json))$|^test\/bench\/|^\.|\.d\.ts$/
    expect(withoutTests.filter((file) => !known.test(file))).toEqual([])
  })
})
