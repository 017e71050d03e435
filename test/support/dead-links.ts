import { dirname, join, normalize } from 'node:path'

import type { Tree } from './project-tree.ts'

/** The anchor that a Markdown renderer gives a heading. */
const slugOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** Relative links of a Markdown file whose file, folder or heading does not exist. */
export function deadLinks(tree: Tree, file: string): string[] {
  const links = (tree[file] ?? '').replace(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)
  return Array.from(links, (match) => match[1] ?? '').filter((link) => {
    if (/^(\w+:|\/)/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? file : normalize(join(dirname(file), path)).replace(/\/$/, '')
    if (!Object.keys(tree).some((name) => `${name}/`.startsWith(`${target}/`))) return true
    const headings = (tree[target] ?? '').matchAll(/^#+ (.+)$/gm)
    return anchor !== undefined && !Array.from(headings, (m) => slugOf(m[1] ?? '')).includes(anchor)
  })
}
