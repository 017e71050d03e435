/** Which test files a change can affect: what they import, start as a process, or read. */

import { dirname, join, normalize } from 'node:path'

import { specifiersOf, targetOf } from './import-graph.ts'
import type { Tree } from './project-tree.ts'

/** A test file and one changed file that can affect it. */
export type Affected = {
  test: string
  changed: string
  /** The files from the test to the changed file, each imported or named by the one before. */
  chain: string[]
  /** It is among the few tests that are run first: see `nearestTests`. */
  isNear: boolean
}

export const isTest = (file: string): boolean => /^test\/.*\.test\.ts$/.test(file)

/** Written by `bun run client types`. */
const writtenTypes = /^clients\/(python\/bookfeed\/api\.py|typescript\/src\/api\.ts)$/
const TYPES_TEST = /^test\/clients\/typescript\.test\.ts$/

/** Tests that are near to files whatever they are named after and import. */
export const nearTests: [files: RegExp, tests: RegExp][] = [
  // What declares routes, their parameters and bodies: from it follow the API document and its types.
  [
    /^src\/(server\/app|http\/(data-query|fields|history-list)|(features|extensions)\/[\w-]+\/(routes|schema))\.ts$/,
    /^test\/(contract\/(access|client-types|openapi|responses)|clients\/typescript)\.test\.ts$/,
  ],
  [writtenTypes, TYPES_TEST],
  [/^CONTRIBUTING\.md$/, /^test\/contributing\.test\.ts$/],
  [/^web\/(?!pages\/)/, /^test\/web\/(explore|shell)\.test\.ts$/],
]

/** Tests that copy, read or show the whole project: imports make them near to no file. */
const isWhole = (test: string): boolean =>
  /^test\/(contributing|tidy|web\/.*)\.test\.ts$/.test(test)

/**
 * Files that tests read and neither import nor name, because they read a whole folder or ask a
 * server for them. `test/tidy.test.ts` reads all files and is not listed.
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

/** An import for its types alone: what it names is not loaded, and types are checked as a whole. */
const typeImport = /^\s*(import|export) type\b[^'"`;=]*?\bfrom\s*'[^']+'/gm
const commentLine = /^\s*(\/\/|\/?\*).*$/gm
const quotedPath = /(['"`])((?:\.{1,2}\/)*[\w-][\w./-]*)\1/g

/** The files that tests and scripts name in quotes: read, or started as a process. */
function namedFiles(tree: Tree, file: string): string[] {
  const text = (tree[file] ?? '').replace(commentLine, '')
  return Array.from(text.matchAll(quotedPath), (match) => match[2] ?? '').flatMap((name) => {
    const beside = normalize(join(dirname(file), name))
    const target = [beside, normalize(name)].find((path) => path in tree)
    if (target !== undefined) return [target]
    // A folder of the project, such as '../../dev/sandbox/contracts'; the project itself is none.
    const folder = `${beside.replace(/\/$/, '')}/`
    if (!name.startsWith('../') || !/^\w.*\/./.test(folder)) return []
    return Object.keys(tree).filter((path) => path.startsWith(folder))
  })
}

/** For each file the files that import it, or name it. */
function usersOf(tree: Tree): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>()
  for (const [file, text] of Object.entries(tree)) {
    if (file.endsWith('.md')) continue
    const imported = specifiersOf(text.replace(typeImport, '')).flatMap(
      (specifier) => targetOf(file, specifier) ?? [],
    )
    // Documents are served as they are: only the tests of `readers` look at what they say.
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

/** A file that many features use is near to none of them. */
const FEATURES_MAX = 6
const CHAINED_MAX = 4

/**
 * The tests to run first for a changed file: those of `nearTests`, those named after it, and those
 * named after the few features that import it. Without any of them, up to `CHAINED_MAX` with the
 * fewest imports between, those of the same folder first.
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

/** For one changed file, and each file that leads to it, the shortest chain of imports. */
function chainsTo(changed: string, users: Map<string, Set<string>>): Map<string, string[]> {
  const chains = new Map([[changed, [changed]]])
  // Entries that are added while a map is walked are visited too: the walk is breadth first.
  for (const [file, chain] of chains) {
    for (const user of users.get(file) ?? []) {
      if (!chains.has(user)) chains.set(user, [user, ...chain])
    }
  }
  return chains
}

/**
 * The tests that changed files can affect, by name, and the changed files that affect none.
 * `changed` may hold files that were deleted: what still imports them is affected.
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
