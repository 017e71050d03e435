import { useEffect, useState } from 'preact/hooks'

import { PUBLIC_TEST_KEY } from '../../lib/key.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { type Guide, guides } from './guides.ts'

const languages = [
  ['sh', 'curl'],
  ['ts', 'TypeScript'],
  ['py', 'Python'],
] as const
const folders = { sh: 'curl', ts: 'typescript', py: 'python' }
const steps = [
  ['markets', 'List markets', 'Windows, with their outcome if it is known.'],
  ['history', 'Read a market’s history', 'Every state of both books, page by page with a cursor.'],
  [
    'book-at',
    'Get the book as of a moment',
    'Never a later state: only data that you could have seen.',
  ],
] as const
const START = 'npx -y bun@1.4.5 run start'

/** The examples that a test of this project runs, in three languages. */
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
  const fileOf = (name: string) => {
    const base = ending === 'py' ? name.replace('-', '_') : name
    return `${folders[ending]}/${base}.${ending}`
  }
  const base = `export SERVER=${location.origin}\nexport KEY=${PUBLIC_TEST_KEY}`
  return (
    <article class="prose">
      <h1>Quick start</h1>
      <p>
        Paste these commands as they are: they use the public{' '}
        <a href="/docs/access#test-mode">test key</a>, which reads simulated data. To read all data,{' '}
        <a href="/account">get a key</a> with a wallet, or ask the operator of this server for one.
        On your own machine, the first start makes a key:
      </p>
      <Code text={START} />
      <Code text={base} />
      <Choice label="Language" options={languages} value={ending} onChoose={choose} />
      {/* All at once, so that nothing is seen moving down. */}
      {sources && (
        <>
          {steps.map(([name, title, text]) => (
            <section key={name}>
              <h2>{title}</h2>
              <p>{text}</p>
              <Code text={sources[fileOf(name)] ?? '…'} />
            </section>
          ))}
          <p>
            More examples, and how to run them: <a href="/docs/examples">examples</a>. Meaning of
            the rows: <a href="/docs/data">data</a>. All routes, to try out:{' '}
            <a href="/swagger">API reference</a>.
          </p>
        </>
      )}
    </article>
  )
}

const Code = ({ text }: { text: string }) => (
  <div class="code">
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <Button text="Copy" look="small" data-copy />
  </div>
)
