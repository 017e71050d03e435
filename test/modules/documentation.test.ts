import { describe, expect, test } from 'bun:test'

import { errorCodes } from '#src/core/errors.ts'

import { createHarness } from '../support/harness.ts'

describe('GET /errors', () => {
  test('default: has one section for each code, with its status', async () => {
    const response = await createHarness().send('/errors')
    expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    const sections = [...(await response.text()).matchAll(/^## (\w+)\n\n(\d+)\. /gm)]
    const documented = sections.map(([, code, status]) => [code, Number(status)])
    expect(documented).toEqual(
      Object.entries(errorCodes).map(([code, { status }]) => [code, status]),
    )
  })

  test('behavior: needs no key', async () => {
    expect((await createHarness().sendAs(undefined, '/errors')).status).toBe(200)
  })

  test.each(['text/html;q=0', 'text/markdown, text/html;q=0.5', '*/*'])(
    'behavior: whoever likes a page less gets Markdown: %s',
    async (accept) => {
      const { headers } = await createHarness().send('/errors', { headers: { accept } })
      expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8')
    },
  )

  test('behavior: a browser gets a page in which every problem type is an anchor', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8' }
    const html = await (await createHarness().send('/errors', { headers })).text()
    for (const code of Object.keys(errorCodes)) expect(html).toContain(`<h2 id="${code}">`)
  })
})
