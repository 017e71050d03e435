import { useEffect, useState } from 'preact/hooks'

import { apiKey, PUBLIC_TEST_KEY } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Choice } from '../../parts/choice.tsx'
import { Code } from './code.tsx'
import { Commands } from './commands.tsx'
import { type Guide, guides } from './guides.ts'

const languages = [
  ['sh', 'curl'],
  ['ts', 'TypeScript'],
  ['py', 'Python'],
] as const
const folders = { ts: 'typescript', py: 'python' }
const steps = [
  ['markets', 'List markets', 'Windows, with their winners if they are known.'],
  ['history', 'Read a market’s history', 'Every state of both books, page by page with a cursor.'],
  [
    'book-at',
    'Get the book as of a moment',
    'The state at that moment or before it, never a later one.',
  ],
] as const
const START = 'npx -y bun@1.4.5 run start'

const more = (
  <p>
    More examples, and how to run them: <a href="/docs/examples">examples</a>. Meaning of the rows:{' '}
    <a href="/docs/data">data</a>. All routes, to try out: <a href="/swagger">API reference</a>.
  </p>
)

/** Commands that answer at once, and the examples that a test of this project runs. */
export function QuickStart() {
  const [ending, choose] = useState<(typeof languages)[number][0]>('sh')
  const [sources, setSources] = useState<Guide['sources']>()
  useEffect(() => {
    const load = guides.find(({ name }) => name === 'examples')?.load
    load?.().then(
      (guide) => setSources(guide.sources),
      () => setSources({}),
    )
  }, [])
  const key = useStore(apiKey.store)
  const base = `export SERVER=${location.origin}\nexport KEY=${key ?? PUBLIC_TEST_KEY}`
  return (
    <article class="prose">
      <h1>Quick start</h1>
      <p>
        {key === undefined ? (
          <>
            Paste these commands as they are: they read the{' '}
            <a href="/docs/access#without-a-key">sample</a>. With a key, they have it in them and
            read all data: <a href="/account">get one</a> with a wallet, or ask the operator of this
            server.
          </>
        ) : (
          'Paste these commands as they are: they have your key in them.'
        )}{' '}
        On your own machine, the first start makes a key:
      </p>
      <Code text={START} />
      <Choice label="Language" options={languages} value={ending} onChoose={choose} />
      {ending === 'sh' && <Commands>{more}</Commands>}
      {ending !== 'sh' && <Code text={base} />}
      {/* Shown all at once, so that nothing moves. */}
      {ending !== 'sh' && sources && (
        <>
          {steps.map(([name, title, text]) => (
            <section key={name}>
              <h2>{title}</h2>
              <p>{text}</p>
              <Code text={sources[fileOf(name, ending)] ?? '…'} />
            </section>
          ))}
          {more}
        </>
      )}
    </article>
  )
}

function fileOf(name: string, ending: keyof typeof folders): string {
  const base = ending === 'py' ? name.replace('-', '_') : name
  return `${folders[ending]}/${base}.${ending}`
}
