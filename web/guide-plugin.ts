/**
 * Makes pages of `docs/` and `examples/` when the dashboard is built: each is a chunk of its own,
 * loaded when it is opened. It contains only text of this project, so it may be set as HTML.
 */

import { dirname, join, normalize } from 'node:path'

import type { BunPlugin } from 'bun'

const ROOT = new URL('..', import.meta.url).pathname
const EXAMPLES = 'examples/README.md'

/** Groups in order; others follow, sorted by name. */
const groups: [group: string, files: string[]][] = [
  ['Start', [EXAMPLES]],
  [
    'Guides',
    ['access', 'data', 'live', 'trust', 'payments', 'errors', 'agents', 'dashboard'].map(docOf),
  ],
  ['Operating', ['recording', 'configuration', 'operations', 'performance', 'testing'].map(docOf)],
  ['Decisions', ['docs/decisions/README.md']],
]

function docOf(name: string): string {
  return `docs/${name}.md`
}

/** The name in the address: that of the file, or of the folder that a README is about. */
const nameOf = (file: string): string =>
  (file.endsWith('README.md') ? dirname(file) : file).replace(/^.*\/|\.md$/g, '').toLowerCase()

const scan = (pattern: string): string[] => [...new Bun.Glob(pattern).scanSync(ROOT)].sort()
const readText = (file: string): Promise<string> => Bun.file(join(ROOT, file)).text()
const titleOf = (text: string): string => /^# (.+)$/m.exec(text)?.[1] ?? ''

const plain = (html: string): string =>
  html
    .replace(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
/** The id that GitHub gives a heading, so that links between documents work here, too. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

const sourceId = (name: string): string => name.replace(/[/.]/g, '-')

const codeBlock = (code: string): string =>
  `<div class="code"><pre tabindex="0">${code}</pre><button type="button" class="button small" data-copy>Copy</button></div>`

/**
 * A link to another of these pages or to an example; the plain text if the target is not served.
 */
function toLink(file: string, href: string, text: string): string {
  if (/^(https?:|\/|#)/.test(href)) return `<a href="${href}">${text}</a>`
  const [path = '', anchor] = href.split('#')
  const target = normalize(join(dirname(file), path))
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (/^(docs\/(decisions\/)?|examples\/)[^/]+\.md$/.test(target)) {
    return `<a href="/docs/${nameOf(target)}${hash}">${text}</a>`
  }
  const source = /^examples\/(\w+\/.+)$/.exec(target)?.[1]
  return source === undefined ? text : `<a href="/docs/examples#${sourceId(source)}">${text}</a>`
}

export function renderGuide(file: string, text: string) {
  const headings: { id: string; text: string }[] = []
  const html = Bun.markdown
    .html(text)
    .replace(/<h([1-6])>(.*?)<\/h\1>/g, (_, level: string, inner: string) => {
      const id = slugOf(plain(inner))
      if (level === '2') headings.push({ id, text: plain(inner) })
      return `<h${level} id="${id}">${inner} <a class="anchor" href="#${id}" aria-label="Link to this section">#</a></h${level}>`
    })
    .replace(/<a href="([^"]*)">(.*?)<\/a>/g, (all, href: string, inner: string) =>
      href.startsWith('#') ? all : toLink(file, href, inner),
    )
    .replace(/<pre>(.*?)<\/pre>/gs, (_, code: string) => codeBlock(code))
    // A header cell needs a text.
    .replace(/<th( align="\w+")?><\/th>/g, '<td></td>')
    .replace(/<table>/g, '<div class="table-wrap" tabindex="0"><table>')
    .replace(/<\/table>/g, '</table></div>')
  return { html, headings }
}

async function loadGuide(file: string): Promise<string> {
  const guide = renderGuide(file, await readText(file))
  if (file !== EXAMPLES) return `export const guide = ${JSON.stringify(guide)}`
  const sources: Record<string, string> = {}
  for (const path of scan('examples/*/*.{sh,ts,py}')) {
    const name = path.slice('examples/'.length)
    const text = await readText(path)
    sources[name] = text
    const id = sourceId(name)
    guide.headings.push({ id, text: name })
    guide.html += `<h2 id="${id}">${name}</h2>${codeBlock(`<code>${Bun.escapeHTML(text)}</code>`)}`
  }
  return `export const guide = ${JSON.stringify({ ...guide, sources })}`
}

/** The guides in the order in which they are listed. */
export async function findGuides() {
  const named = groups.flatMap(([, files]) => files)
  const listed = groups.map(([group, files]) => {
    const pattern = { Decisions: 'docs/decisions/*.md', Operating: 'docs/*.md' }[group]
    const more = pattern === undefined ? [] : scan(pattern).filter((file) => !named.includes(file))
    return [group, [...files, ...more]] as const
  })
  const found: { name: string; title: string; group: string; file: string }[] = []
  for (const [group, files] of listed) {
    for (const file of files)
      found.push({ name: nameOf(file), title: titleOf(await readText(file)), group, file })
  }
  return found
}

/** The list that replaces the empty one of `web/pages/docs/guides.ts`. */
async function listGuides(): Promise<string> {
  const rows = (await findGuides()).map(({ file, ...facts }) => {
    const load = `async () => (await import(${JSON.stringify(join(ROOT, file))})).guide`
    return `{ ...${JSON.stringify(facts)}, load: ${load} }`
  })
  return `export const guides = [${rows.join(',\n')}]`
}

export const guidePlugin: BunPlugin = {
  name: 'guides',
  setup(build) {
    build.onLoad({ filter: /\/web\/pages\/docs\/guides\.ts$/ }, async () => {
      return { contents: await listGuides(), loader: 'js' }
    })
    build.onLoad({ filter: /\/(docs|examples)\/.*\.md$/ }, async ({ path }) => {
      return { contents: await loadGuide(path.slice(ROOT.length)), loader: 'js' }
    })
  },
}
