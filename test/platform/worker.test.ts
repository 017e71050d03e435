import { describe, expect, test } from 'bun:test'

import { extensions } from '#src/extensions.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import { mortalWorker, waysToEnd } from '../support/mortal-answers.ts'
import { readProject } from '../support/project-tree.ts'

const MS_MAX = 60_000

describe('a thread that is waited for', () => {
  test.each(waysToEnd)(
    'error: a thread that ends (%s) is noticed at once, and another one answers',
    (end) => {
      const thread = mortalWorker.startBlocking(undefined)
      expect(thread.ask<string>('hello', MS_MAX)).toBe('HELLO')
      // Unnoticed, it would be waited for longer than the test may take.
      expect(thread.ask(end, 4 * MS_MAX)).toBeUndefined()
      expect(thread.ask<string>('again', MS_MAX)).toBe('AGAIN')
      // One that ends while nobody waits.
      thread.send(end)
      const answers = Array.from({ length: 3 }, () => thread.ask<string>('more', MS_MAX))
      expect(answers.at(-1)).toBe('MORE')
      thread.close()
    },
    3 * MS_MAX,
  )

  test('error: an error instead of an answer is thrown, and the thread goes on', () => {
    const thread = mortalWorker.startBlocking(undefined)
    expect(() => thread.ask('fail', MS_MAX)).toThrow('As ordered.')
    expect(thread.ask<string>('hello', MS_MAX)).toBe('HELLO')
    thread.close()
  })
})

describe('a thread that is not waited for', () => {
  test('default: answers, also with errors, until it is terminated', async () => {
    const thread = mortalWorker.start(undefined)
    const answers = await Promise.all(['a', 'b'].map((text) => thread.ask<string>(text)))
    expect(answers).toEqual(['A', 'B'])
    expect(await thread.ask('fail').catch(String)).toBe('Fault: As ordered.')
    const asked = thread.ask('never').then(() => thread.ask('exit'))
    await thread.terminate()
    await thread.ended
    expect(thread.hasEnded()).toBe(true)
    const failure = await asked.catch((error: unknown) => error)
    expect(isFault(failure, 'thread_ended')).toBe(true)
    expect(await thread.result.catch(messageOf)).toBe('The thread that is mortal has ended.')
  })

  test.each(waysToEnd)('error: who asks one that ends (%s) learns why', async (end) => {
    const thread = mortalWorker.start(undefined)
    const reason = end === 'exit' ? 'The thread that is mortal has ended.' : 'As ordered.'
    expect(await thread.ask<string>(end).catch(messageOf)).toBe(reason)
    await thread.ended
  })
})

test('every worker is in the table of main.ts or in a manifest, in which those of an executable are found', async () => {
  const tree = await readProject()
  const sources = Object.keys(tree).filter((path) => path.startsWith('src/'))
  const defined = sources.flatMap((path) =>
    Array.from(
      (tree[path] ?? '').matchAll(/defineWorker\(\s*\{\s*name: '([\w-]+)'/g),
      ([, name]) => name,
    ),
  )
  const [, table = ''] =
    /const workers\b.*?\(\[\n(.*?)\n\]\)/s.exec(tree['src/main.ts'] ?? '') ?? []
  const ofCore = Array.from(table.matchAll(/^ {2}\['([\w-]+)',/gm), ([, name]) => name)
  const listed = [...ofCore, ...extensions.flatMap(({ workers = {} }) => Object.keys(workers))]
  expect(listed).toHaveLength(10)
  expect(listed.toSorted()).toEqual(defined.toSorted())
})
