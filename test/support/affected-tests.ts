/** The test files that a change can affect: by what they import, start as a process, or read. */

import { dirname, join, normalize } from 'node:path'

import { specifiersOf, targetOf } from './import-graph.ts'
import type { Tree } from './project-tree.ts'

/** A test file and one changed file that can affect it. */
export type Affected = {
  test: string
  changed: string
  /** The files from the test to the changed file, each imported or named by the previous one. */
  chain: string[]
  /** True for the few tests that run first: see `nearestTests`. */
  isNear: boolean
}

export const isTest = (file: string): boolean => /^test\/.*\.test\.ts$/.test(file)

/** Written by `bun run client types`. */
const writtenTypes = /^clients\/(python\/bookfeed\/api\.py|typescript\/src\/api\.ts)$/
const TYPES_TEST = /^test\/clients\/typescript\.test\.ts$/

/** Tests that are near to files regardless of names and imports. */
export const nearTests: [files: RegExp, tests: RegExp][] = [
  // Declarations of routes, parameters and bodies, from which the API document and its types
  // follow.
  [
    /^src\/(server\/app|http\/(data-query|fields|history-list)|(features|extensions)\/[\w-]+\/(routes|schema))\.ts$/,
    /^test\/(contract\/(access|client-types|openapi|responses)|clients\/typescript)\.test\.ts$/,
  ],
  [writtenTypes, TYPES_TEST],
  [/^CONTRIBUTING\.md$/, /^test\/contributing\.test\.ts$/],
  [/^web\/(?!pages\/)/, /^test\/web\/(explore|shell)\.test\.ts$/],
]

/** Tests that copy, read or list the whole project: their imports make them near to no file. */
const isWhole = (test: string): boolean =>
  /^test\/(contributing|tidy|web\/.*)\.test\.ts$/.test(test)

/**
 * Files that tests read without importing or naming them, because they read a whole folder or
 * request them from a server. `test/tidy.test.ts` reads all files and is not listed.
 */
export const readers: [files: RegExp, tests: RegExp][] = [
  [/^(bun\.lock|bunfig\.toml|tsconfig\.json)$/, /./],
  [/^src\//, /^test\/platform\/worker\.test\.ts$/],
  [/^(src|db|web)\/.*\.tsx?$/, /^test\/cli\/production-install\.test\.ts$/],
  [
    /^(CONTRIBUTING\.md|src\/(config\/variables|domain\/market|server\/app)\.ts)$/,
    /^test\/contributing\.test\.ts$/,
  ],
  [/^src\/chain\//, /^test\/chain\/rpc\.test\.ts$/],
  [/^src\/facilitator\//, /^test\/facilitator\/local\.test\.ts$/],
  [/^db\//, /^test\/database\/sqlite\/database\.test\.ts$/],
  [/^(README|docs\/[\w-]+|clients\/\w+\/README|examples\/README)\.md$/, /^test\/docs-commands\./],
  [/^(docs|examples)\//, /^test\/web\/docs\.test\.ts$/],
  [
    /^docs\/((access|data|errors|live|payments)\.md|llms\.txt)$/,
    /^test\/(features\/documentation|extensions\/mcp\/mcp|contract\/errors)\b.*\.test\.ts$/,
  ],
  [/^web\//, /^test\/web\//],
  [/^examples\//, /^test\/(examples|docs-commands)\.test\.ts$/],
  [/^clients\/python\//, /^test\/(clients\/python|web\/calibration)\.test\.ts$/],
  [/^clients\/typescript\//, /^test\/clients\/typescript.*\.test\.ts$/],
  [writtenTypes, TYPES_TEST],
  [/^(deploy\/|Dockerfile$)/, /^test\/release\/deploy\.test\.ts$/],
  [/^deploy\/(grafana|prometheus)/, /^test\/server\/metrics\.test\.ts$/],
]

/** An import of types only: its target is not loaded, and the type check covers everything. */
const typeImport = /^\s*(import|export) type\b[^'"`;=]*?\bfrom\s*'[^']+'/gm
const commentLine = /^\s*(\/\/|\/?\*).*$/gm
const quotedPath = /(['"`])((?:\.{1,2}\/)*[\w-][\w./-]*)\1/g

/** Files that tests and scripts name in quotes: read, or started as a process. */
function namedFiles(tree: Tree, file: string): string[] {
  const text = (tree[file] ?? '').replace(commentLine, '')
  return Array.from(text.matchAll(quotedPath), (match) => match[2] ?? '').flatMap((name) => {
    const beside = normalize(join(dirname(file), name))
    const target = [beside, normalize(name)].find((path) => path in tree)
    if (target !== undefined) return [target]
    // A folder of the project, such as '../../dev/sandbox/contracts', but not the project itself.
    const folder = `${beside.replace(/\/$/, '')}/`
    if (!name.startsWith('../') || !/^\w.*\/./.test(folder)) return []
    return Object.keys(tree).filter((path) => path.startsWith(folder))
  })
}

/** The files that import or name each file. */
function usersOf(tree: Tree): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>()
  for (const [file, text] of Object.entries(tree)) {
    if (file.endsWith('.md')) continue
    const imported = specifiersOf(text.replace(typeImport, '')).flatMap(
      (specifier) => targetOf(file, specifier) ?? [],
    )
    // Documents are served unchanged: only the tests of `readers` examine their content.
    const used = new Set(imported.filter((target) => !/\.(md|txt)$/.test(target)))
    if (/^(test|dev)\//.test(file)) for (const name of namedFiles(tree, file)) used.add(name)
    used.delete(file)
    for (const target of used) users.set(target, (users.get(target) ?? new Set()).add(file))
  }
  return users
}

/**
 * `src/features/fill/routes.ts` → `test/features/fill`, `src/domain/fill.ts` → `test/domain/fill`,
 * `web/pages/explore/page.tsx` → `test/web/explore`.
 */
const mirrorOf = (file: string): string =>
  file
    .replace(/^src\//, 'test/')
    .replace(/^web\/pages\//, 'test/web/')
    .replace(/^(test\/(?:features|web)\/[\w-]+)\/.*|\.ts$/, '$1')

/** `test/domain/fill.test.ts` and `test/domain/fill-costs.test.ts` are named after `src/domain/fill.ts`. */
const isNamedAfter = (test: string, file: string): boolean =>
  /^(src|web)\//.test(file) &&
  test.startsWith(mirrorOf(file)) &&
  /^[-.]/.test(test.slice(mirrorOf(file).length))

/**
 * The maximum number of features that use a file near to them; a file with more is near to none.
 */
const FEATURES_MAX = 6
const CHAINED_MAX = 4

/**
 * The tests to run first for a changed file: those of `nearTests`, those named after it, and those
 * named after the few features that import it. If there are none, up to `CHAINED_MAX` with the
 * shortest chains of imports, those in the same folder first.
 */
function nearestTests(
  file: string,
  chains: ReadonlyMap<string, string[]>,
  tests: readonly string[],
): string[] {
  const importers = [...chains].filter(([, chain]) => chain.length === 2).map(([user]) => user)
  const features = [
    ...new Set(importers.flatMap((user) => /^src\/features\/([\w-]+)/.exec(user)?.[1] ?? [])),
  ]
  const featureTests =
    features.length > FEATURES_MAX ? [] : features.map((name) => `test/features/${name}.test.ts`)
  const listed = nearTests.filter(([files]) => files.test(file)).map(([, near]) => near)
  const chosen = tests.filter(
    (test) =>
      test === file ||
      isNamedAfter(test, file) ||
      (file.startsWith('src/') && featureTests.includes(test)) ||
      listed.some((near) => near.test(test)),
  )
  if (chosen.length > 0) return chosen
  const lengthOf = (test: string): number => chains.get(test)?.length ?? Number.POSITIVE_INFINITY
  const importing = tests.filter((test) => chains.has(test) && !isWhole(test))
  const shortest = Math.min(...importing.map(lengthOf))
  const folder = dirname(mirrorOf(file))
  const distance = (test: string): number => (dirname(test) === folder ? 0 : 1)
  return importing
    .filter((test) => lengthOf(test) === shortest)
    .sort((a, b) => distance(a) - distance(b))
    .slice(0, CHAINED_MAX)
}

/** The shortest chain of imports from a changed file to each file that leads to it. */
function chainsTo(changed: string, users: Map<string, Set<string>>): Map<string, string[]> {
  const chains = new Map([[changed, [changed]]])
  // Entries added while iterating over a map are visited too: the search is breadth first.
  for (const [file, chain] of chains) {
    for (const user of users.get(file) ?? []) {
      if (!chains.has(user)) chains.set(user, [user, ...chain])
    }
  }
  return chains
}

/**
 * The tests that changed files can affect, by name, and the changed files that affect none.
 * `changed` may include deleted files: files that still import them are affected.
 */
export function affectedTests(
  tree: Tree,
  changed: readonly string[],
): { affected: Affected[]; withoutTests: string[] } {
  const tests = Object.keys(tree).filter(isTest).sort()
  const users = usersOf(tree)
  const found = new Map<string, Affected>()
  const withoutTests: string[] = []
  for (const file of changed) {
    const chains = chainsTo(file, users)
    const importing = tests.filter((test) => chains.has(test))
    const near = new Set(nearestTests(file, chains, tests))
    const reading = readers.flatMap(([files, readBy]) =>
      files.test(file) ? tests.filter((test) => readBy.test(test)) : [],
    )
    if (importing.length + reading.length === 0) withoutTests.push(file)
    for (const test of new Set([...importing, ...reading])) {
      const chain = chains.get(test) ?? [test, file]
      const isNear = near.has(test) || (near.size === 0 && importing.length === 0)
      const known = found.get(test)
      if (known === undefined || (isNear && !known.isNear)) {
        found.set(test, { test, changed: file, chain, isNear })
      }
    }
  }
  return { affected: tests.flatMap((test) => found.get(test) ?? []), withoutTests }
}
