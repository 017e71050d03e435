/**
 * Recipes of CONTRIBUTING.md, followed in a copy of the project: a coin, a list with a cursor, a
 * parameter that leaves out rows, and a variable. A file that is changed must be named in its recipe;
 * then types and the tests that the recipes name must pass.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const copy = mkdtempSync(join(tmpdir(), 'bookfeed-contributing-'))
const parts = [
  'src',
  'db',
  'dev',
  'test',
  'web',
  'docs',
  'clients',
  'examples',
  'deploy',
  'package.json',
  'tsconfig.json',
  'bunfig.toml',
  'CHANGELOG.md',
]

beforeAll(() => {
  for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}, 300_000)
afterAll(() => rmSync(copy, { recursive: true, force: true }), 120_000)

const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')

/** A recipe, from its name to the next one. */
function recipeOf(name: string): string {
  const [, after = ''] = text.split(`\n**${name}`)
  return after.split(/\n\*\*|\n## /)[0] ?? ''
}

/** Changes files as the recipes of these names say. */
function follow(...names: string[]) {
  const said = names.map(recipeOf).join('\n')

  function expectNamed(file: string): void {
    const name = file.replace('notes', '<feature>').replace('skip-seconds', '<parameter>')
    const isNamed = said.includes(`\`${name}\``) || said.includes(`\`${name.split('/').at(-1)}\``)
    expect([names, file, isNamed]).toEqual([names, file, true])
  }

  return {
    async add(file: string, content: string): Promise<void> {
      expectNamed(file)
      mkdirSync(join(copy, file, '..'), { recursive: true })
      await Bun.write(join(copy, file), content)
    },

    /** Replaces text that must be there. */
    async change(file: string, ...pairs: [before: string, after: string][]): Promise<void> {
      expectNamed(file)
      let content = await Bun.file(join(copy, file)).text()
      for (const [before, after] of pairs) {
        expect([file, before, content.includes(before)]).toEqual([file, before, true])
        content = content.replaceAll(before, () => after)
      }
      await Bun.write(join(copy, file), content)
    },
  }
}

async function run(...command: string[]): Promise<void> {
  const child = Bun.spawn(command, { cwd: copy, stdout: 'pipe', stderr: 'pipe' })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  const failed = `${out}\n${errors}`.split('\n').filter((line) => !line.startsWith('(pass)'))
  expect((await child.exited) === 0 ? '' : failed.join('\n')).toBe('')
}

const schema = `import { type Static, Type } from '@sinclair/typebox'

import { cursorParameter, limitParameter } from '#src/http/data-query.ts'
import { listOf, object, time } from '#src/http/fields.ts'

export const NoteQuery = Type.Object({
  limit: limitParameter('Notes', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type NoteQuery = Static<typeof NoteQuery>

const NoteRow = object('Note', { from: time('Start.') })

export const NoteList = listOf(NoteRow, 'Notes by \`from\`.')
`

const routes = `import { Elysia } from 'elysia'

import { type CursorList, idPosition } from '#src/domain/cursor.ts'
import type { Market } from '#src/domain/market.ts'
import { toIso } from '#src/domain/time.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { listLane, type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { NoteList, NoteQuery } from './schema.ts'

type Given = { market: Market; query: NoteQuery; table: TableForm }

const noteList: CursorList<Pick<Market, 'conditionId'>, number> = {
  name: 'notes',
  filters: ({ conditionId }) => [conditionId],
  position: idPosition,
  start: () => 0,
}

export const notesTask = tableTask(
  'notes',
  NoteList,
  ({ history, cursors }: TaskPorts, { market, query }: Given) => {
    const rows = history.gaps(market).map(({ fromMs }, index) => ({ fromMs, id: index + 1 }))
    return readList(cursors, {
      list: noteList,
      filters: market,
      cursor: query.cursor,
      read: (after = 0) =>
        takeRows(rows.slice(after), query.limit, {
          textOf: ({ fromMs }) => JSON.stringify({ from: toIso(fromMs) }),
          positionOf: ({ id }) => id,
        }),
    })
  },
)

export const noteRoutes = (api: Api, { tasks }: { tasks: Tasks }) =>
  new Elysia({ name: 'notes' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/notes',
      ({ reply, request, market, query }) => {
        const table = tableOf(request, query)
        const lane = listLane(NoteQuery, query, table)
        return reply(request, tasks.data(request, notesTask, { market, query, table }, lane))
      },
      {
        access: 'markets',
        market: true,
        query: tableQuery(NoteQuery),
        caching: 'digest',
        response: { 200: NoteList },
        answers: {
          description: 'A page of notes.',
          resume: 'The place after the last note.',
        },
        detail: {
          operationId: 'listNotes',
          summary: 'Notes of a market',
          description: 'Where its gaps begin.',
          tags: ['markets'],
        },
      },
    )
`

const featureTest = `import { expect, test } from 'bun:test'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { history, both } = await createMarketHistory()
const { send } = createHarness({ history })

test('default: one for each gap', async () => {
  const response = await send(both.path.replace('snapshots', 'notes'))
  const { data } = (await response.json()) as { data: unknown[] }
  const market = history.findMarket(both.conditionId)
  expect(data).toHaveLength(market === undefined ? -1 : history.gaps(market).length)
})
`

const skipSeconds = `export const skipSecondsParameter = Type.Optional(
  integer({ minimum: 0, maximum: 86400, description: 'Only rows so many seconds after the window began.' }),
)

`

const parameterTest = `import { expect, test } from 'bun:test'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { history, both } = await createMarketHistory()
const { send } = createHarness({ history })

test('default: rows before that are left out', async () => {
  const fromMs = (history.findMarket(both.conditionId)?.windowStartMs ?? 0) + 30_000
  for (const list of ['snapshots', 'quotes', 'prices', 'trades']) {
    const path = both.path.replace('snapshots', list)
    const response = await send(\`\${path}?skipSeconds=30&limit=500\`)
    const { data } = (await response.json()) as { data: { timestamp: string }[] }
    expect(data.filter(({ timestamp }) => Date.parse(timestamp) < fromMs)).toEqual([])
  }
})
`

describe('recipes', () => {
  test('default: a coin', async () => {
    const { change } = follow('A coin.')
    const ada = `  ada: { name: 'Cardano', slugNames: ['cardano'], simulatedPrice: '0.450000' },\n`
    const end = '} as const satisfies Record<string, CoinTerms>'
    await change('src/domain/market.ts', [end, ada + end])
    await change('docs/configuration.md', ['hype,zec', 'hype,zec,ada'])
  })

  test('default: a list with a cursor, CSV and Parquet', async () => {
    const { add, change } = follow('A route, or a list with a cursor.')
    await add('src/features/notes/schema.ts', schema)
    await add('src/features/notes/routes.ts', routes)
    await add('test/features/notes.test.ts', featureTest)
    const first = 'marketRoutes(api,'
    const route = 'noteRoutes(api, { tasks }),'
    const imported = "import { panelRoutes } from '#src/features/panel/routes.ts'\n"
    const importing = "import { noteRoutes } from '#src/features/notes/routes.ts'\n"
    await change(
      'src/server/app.ts',
      [first, `${route} ${first}`],
      [imported, importing + imported],
    )
    const listed = "import { panelTask } from '#src/features/panel/routes.ts'\n"
    const listing = "import { notesTask } from '#src/features/notes/routes.ts'\n"
    await change(
      'src/server/tasks.ts',
      [listed, listing + listed],
      ['  panelTask,\n', '  notesTask,\n  panelTask,\n'],
    )
    const row = "  ['/v1/manifests?limit=1',"
    const note = `[\`\${market}/notes?limit=1\`, \`notes \${id}\`, '000000000000000000000001']`
    await change('test/contract/cursors.test.ts', [row, `  ${note},\n${row}`])
  })

  test('default: a parameter of all history routes', async () => {
    const { add, change } = follow('A parameter on all history routes')
    const outcome = 'export const outcomeParameter ='
    await change('src/http/data-query.ts', [outcome, skipSeconds + outcome])
    const own = '    ...own,\n'
    const returned = '  return { conditionId, outcome, order, fromMs, toMs }'
    await change(
      'src/http/history-list.ts',
      ['  rangeParameters,\n', '  rangeParameters,\n  skipSecondsParameter,\n'],
      [own, `    skipSeconds: skipSecondsParameter,\n${own}`],
      [
        returned,
        [
          '  const { skipSeconds } = query',
          '  if (skipSeconds !== undefined) {',
          '    const skippedMs = (market.windowStartMs ?? 0) + skipSeconds * 1000',
          '    return { conditionId, outcome, order, fromMs: Math.max(fromMs ?? 0, skippedMs), toMs }',
          '  }',
          returned,
        ].join('\n'),
      ],
    )
    await add('test/features/skip-seconds.test.ts', parameterTest)
    const row = "  ['/v1/btc/spot?limit=2',"
    const asked = `\`\${market}/snapshots?limit=2&skipSeconds=30\``
    const name = `\`snapshots \${id} both.asc.1767225630000.\``
    const added = `  [${asked}, ${name}, '019b76db1f790000000000c2'],\n`
    await change('test/contract/cursors.test.ts', [row, added + row])
  })

  test('default: a variable', async () => {
    const { change } = follow('A variable.')
    const streams = '  streamsMax: {\n'
    const row = '| `BOOKFEED_STREAMS` |'
    const variable = `  notesMax: { name: 'BOOKFEED_NOTES', default: '64', ...integer(1, 99), description: 'Notes.' },\n`
    await change('src/config/variables.ts', [streams, variable + streams])
    const shown = '| `BOOKFEED_NOTES` | `64` | an integer from 1 to 99 | Notes. |\n'
    await change('docs/configuration.md', [row, shown + row])
    const set = "      BOOKFEED_STREAMS: '9',\n"
    await change(
      'test/config/config.test.ts',
      ['      streamsMax: 64,\n', '      notesMax: 64,\n      streamsMax: 64,\n'],
      [set, `      BOOKFEED_NOTES: '7',\n${set}`],
      ['      streamsMax: 9,\n', '      notesMax: 7,\n      streamsMax: 9,\n'],
    )
  })

  test('behavior: types and the tests that the recipes name pass with all of them', async () => {
    await run(process.execPath, 'check')
    const tests = [
      'test/config/config.test.ts',
      'test/contract/access.test.ts',
      'test/contract/cursors.test.ts',
      'test/features/coins.test.ts',
      'test/features/skip-seconds.test.ts',
      'test/features/notes.test.ts',
      'test/http/table.test.ts',
    ]
    await run('env', 'ENGINES=sqlite', process.execPath, 'test', '--timeout', '240000', ...tests)
  }, 600_000)
})
