import { dirname, join, normalize } from 'node:path'

import { isCode, type Tree } from './project-tree.ts'

const importPattern =
  /^\s*(?:import|export)\b[^'"`;=]*?\bfrom\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'|\bnew URL\(\s*'(\.[^']+)'/gm

/**
 * Every specifier of a file: static (including `import type`), dynamic, and `new URL('./worker.ts',
 * …)`.
 */
export const specifiersOf = (text: string) =>
  Array.from(text.matchAll(importPattern), (match) => match.slice(1).find(Boolean) ?? '')

/** Our file that a specifier names; undefined for a package. */
export function targetOf(file: string, specifier: string): string | undefined {
  if (/^#(src|db|dev|web)\//.test(specifier)) return specifier.slice(1)
  return specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : undefined
}

/**
 * `src/history/x.ts` → `history`, `src/features/market/x.ts` → `features/market` (so are
 * `extensions`), `src/extensions.ts` → `extensions`, `src/main.ts` → `main`, `web/lib/x.ts` → `web/lib`, `web/pages/market/x.tsx` → `web/pages/market`.
 */
export function unitOf(file: string): string {
  const [first = '', second = '', third = ''] = file.replace(/\.tsx?$/, '').split('/')
  if (first === 'web') return second === 'pages' ? `web/pages/${third}` : `web/${second}`
  if (first !== 'src') return first
  const isDivided = (second === 'features' || second === 'extensions') && third !== ''
  return isDivided ? `${second}/${third}` : second
}

/** Code files that no root leads to. `roots` are process entries and test files. */
export function unreachable(tree: Tree, roots: RegExp): string[] {
  const reached = new Set<string>()
  const visit = (file: string) => {
    const text = tree[file]
    if (text === undefined || reached.has(file)) return
    reached.add(file)
    // A test keeps its support files alive, but never a source file, which needs another caller.
    const isTest = file.startsWith('test/')
    for (const specifier of specifiersOf(text)) {
      const target = targetOf(file, specifier)
      if (target && isTest === target.startsWith('test/')) visit(target)
    }
  }
  const files = Object.keys(tree).filter(isCode)
  files.filter((file) => roots.test(file)).forEach(visit)
  return files.filter((file) => !reached.has(file))
}

/**
 * Import cycles, each as its files in order, from the first one reached. A process or worker that a
 * file starts by its URL has separate modules.
 */
export function findCircles(tree: Tree): string[] {
  const circles: string[] = []
  const path: string[] = []
  const done = new Set<string>()
  const visit = (file: string) => {
    const text = tree[file]
    if (text === undefined || done.has(file)) return
    const begin = path.indexOf(file)
    if (begin >= 0) {
      circles.push([...path.slice(begin), file].join(' → '))
      return
    }
    path.push(file)
    for (const [, from, bare, dynamic] of text.matchAll(importPattern)) {
      const target = targetOf(file, from ?? bare ?? dynamic ?? '')
      if (target !== undefined) visit(target)
    }
    path.pop()
    done.add(file)
  }
  Object.keys(tree).filter(isCode).forEach(visit)
  return circles
}
