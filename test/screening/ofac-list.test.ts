import { describe, expect, test } from 'bun:test'

import { isFault } from '#src/platform/fault.ts'
import { type OfacList, readOfacList } from '#src/screening/ofac-list.ts'

import { madeUpAddress, sdnAdvancedXml, sdnXml } from '../support/ofac-xml.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

async function* inPieces(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

const read = (text: string): Promise<OfacList> => readOfacList(inPieces(bytesOf(text), 4096))

/** The reason of a refusal; anything but a refusal fails the test. */
async function faultOf(text: string | Uint8Array): Promise<string> {
  const bytes = typeof text === 'string' ? bytesOf(text) : text
  try {
    return JSON.stringify(await readOfacList(inPieces(bytes, 4096)))
  } catch (error) {
    if (isFault(error, 'sanctions_list')) return error.message
    throw error
  }
}

const lower = (...numbers: number[]) => new Set(numbers.map((n) => madeUpAddress(n).toLowerCase()))
/** Puts a text where the first entry of a small list ends. */
const withInEntry = (text: string): string => sdnXml().replace('</idList>', `</idList>${text}`)

describe('readOfacList, SDN.XML', () => {
  test('default: finds date, addresses in lower case, and the hash of the bytes', async () => {
    const xml = sdnXml({ addresses: [madeUpAddress(1), madeUpAddress(2)] })
    expect(await read(xml)).toEqual({
      publishedOn: '2026-11-20',
      addresses: lower(1, 2),
      sha256: new Bun.CryptoHasher('sha256').update(xml).digest('hex'),
    })
  })

  test('behavior: the coin is not the chain: every EVM address counts, and nothing else', async () => {
    const coins = ['ETH', 'USDT', 'USDC', 'ARB', 'BSC', 'ETC', 'XBT', 'NEW COIN']
    const entries = coins.map((coin, n) => [`Digital Currency Address - ${coin}`, madeUpAddress(n)])
    const others = [
      ['Digital Currency Address - XBT', 'bc1qmadeup'],
      ['Digital Currency Address - ETH', `${madeUpAddress(50)}0`],
      ['Digital Currency Address - ETH', madeUpAddress(51).slice(0, -1)],
      ['Digital Currency Address - ETH', madeUpAddress(52).slice(2)],
      ['Website', madeUpAddress(53)],
    ]
    const ids = [...entries, ...others].map(
      ([type, value]) => `<id><idType>${type}</idType><idNumber>${value}</idNumber></id>`,
    )
    const list = await read(
      sdnXml().replace(/<idList>.*<\/idList>/, `<idList>${ids.join('')}</idList>`),
    )
    expect(list.addresses).toEqual(lower(...coins.keys()))
  })

  test('behavior: reads the same in pieces of any length', async () => {
    const bytes = bytesOf(withInEntry('<remarks>é € 𝄞 <![CDATA[<x>]]></remarks>'))
    const whole = await readOfacList(inPieces(bytes, bytes.length))
    for (const length of [1, 2, 3, 7, 64]) {
      expect(await readOfacList(inPieces(bytes, length))).toEqual(whole)
    }
  })

  test('behavior: white space, CDATA and entities around a value do not hide it', async () => {
    const plain = madeUpAddress(1)
    const odd = `\n  <![CDATA[${madeUpAddress(1)}]]>&#32; `
    expect((await read(sdnXml().replace(plain, odd))).addresses).toEqual(lower(1))
    const spelt = plain.replace('0x', '&#48;x')
    expect((await read(sdnXml().replace(plain, spelt))).addresses).toEqual(lower(1))
  })

  test('behavior: a value without a label takes no other label', async () => {
    const bare = `<id><idNumber>${madeUpAddress(2)}</idNumber></id></idList>`
    expect((await read(sdnXml().replace('</idList>', bare))).addresses).toEqual(lower(1))
  })

  test.each([
    ['13/20/2026', 'has no Publish_Date'],
    ['02/29/2026', 'has no Publish_Date'],
    ['2026-11-20', 'has no Publish_Date'],
    ['', 'has no Publish_Date'],
  ])('error: refuses the date %j', async (date, fault) => {
    expect(await faultOf(sdnXml({ date }))).toBe(fault)
  })

  test('error: refuses a count that differs from the entries, and none', async () => {
    const addresses = [madeUpAddress(1), madeUpAddress(2)]
    const fault = await faultOf(sdnXml({ addresses, recordCount: 3 }))
    expect(fault).toBe('says that it has 3 entries, but has 2')
    expect(await faultOf(sdnXml().replace(/<Record_Count>.*<\/Record_Count>/, ''))).toBe(
      'has no Record_Count',
    )
  })
})

describe('readOfacList, SDN_ADVANCED.XML', () => {
  test('default: knows features by what their number means', async () => {
    const { publishedOn, addresses } = await read(
      sdnAdvancedXml({ addresses: [madeUpAddress(1), 'Tmadeup', madeUpAddress(2)] }),
    )
    expect([publishedOn, addresses]).toEqual(['2026-11-05', lower(1, 2)])
  })

  test('behavior: another number for the same meaning is followed', async () => {
    const { addresses } = await read(sdnAdvancedXml().replaceAll('"901"', '"345"'))
    expect(addresses).toEqual(lower(1))
  })

  test('error: refuses a list without a date, whatever other dates are in it', async () => {
    const xml = sdnAdvancedXml().replace(/<DateOfIssue.*?<\/DateOfIssue>/, '')
    expect(await faultOf(xml)).toBe('has no DateOfIssue')
    const elsewhere = xml.replace(
      '<Comment />',
      '<DateOfIssue><Year>2026</Year><Month>1</Month><Day>1</Day></DateOfIssue>',
    )
    expect(await faultOf(elsewhere)).toBe('has no DateOfIssue')
  })

  test('error: refuses an explanation that comes too late', async () => {
    const values = /<ReferenceValueSets>.*<\/ReferenceValueSets>/
    const late = values.exec(sdnAdvancedXml())?.[0] ?? ''
    const xml = sdnAdvancedXml().replace(values, '').replace('</Sanctions>', `${late}</Sanctions>`)
    expect(await faultOf(xml)).toBe('explains a feature type after features')
  })
})

describe('readOfacList', () => {
  test.each([
    ['SDN.XML', sdnXml()],
    ['SDN_ADVANCED.XML', sdnAdvancedXml()],
  ])('error: refuses %s cut off after any byte', async (_, xml) => {
    const bytes = bytesOf(xml.trimEnd())
    expect((await readOfacList(inPieces(bytes, 4096))).addresses.size).toBe(1)
    const accepted: number[] = []
    for (let length = 0; length < bytes.length; length++) {
      const fault = await faultOf(bytes.subarray(0, length))
      if (fault.startsWith('{')) accepted.push(length)
    }
    expect(accepted).toEqual([])
  })

  test.each([
    ['nothing', '', 'is empty'],
    ['white space', ' \n', 'is empty'],
    ['another list', '<list></list>', 'is neither SDN.XML nor SDN_ADVANCED.XML'],
    ['a page', '<!DOCTYPE html><html></html>', 'has a DOCTYPE'],
    ['JSON', '{}', 'is not well-formed: Non-whitespace before first tag.'],
    ['an archive', 'PK\u0003\u0004', 'is not well-formed: Non-whitespace before first tag.'],
    ['a second root', `${sdnXml()}${sdnXml()}`, 'has more than one root'],
    [
      'a wrong end',
      sdnXml().replace('</sdnEntry>', '</x>'),
      'is not well-formed: Unexpected close',
    ],
    ['text behind', `${sdnXml()}x`, 'is not well-formed: Text data outside of root node.'],
    ['a bare &', sdnXml().replace('&amp;', '&'), 'is not well-formed: Invalid character in entity'],
    ['depth', withInEntry('<a>'.repeat(100)), 'is nested too deeply'],
    ['a long value', sdnXml({ date: '1'.repeat(5000) }), 'has an overlong value'],
    ['a long name', withInEntry(`<${'a'.repeat(200_000)}>`), 'is not well-formed: Max buffer'],
    ['no address', sdnXml({ addresses: ['bc1qmadeup'] }), 'has no EVM address'],
  ])('error: refuses %s', async (_, xml, fault) => {
    expect(await faultOf(xml)).toStartWith(fault)
  })

  test('error: refuses what is not UTF-8, also at the end', async () => {
    const bytes = bytesOf(`${sdnXml()} é`)
    expect(await faultOf(bytes.subarray(0, -1))).toBe('is not UTF-8')
    expect(await faultOf(bytesOf(sdnXml()).with(200, 0xff))).toBe('is not UTF-8')
  })

  test.each([
    ['a bomb', '<!DOCTYPE s [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>', '&b;', 'has a '],
    ['a file', '<!DOCTYPE s [<!ENTITY b SYSTEM "file:///etc/hostname">]>', '&b;', 'has a '],
    [
      'a foreign DTD',
      '<!DOCTYPE sdnList SYSTEM "https://example.com/x.dtd">',
      'x',
      'has a DOCTYPE',
    ],
    ['no declaration', '', '&b;', 'is not well-formed: Invalid character entity'],
    ['HTML', '', '&nbsp;', 'is not well-formed: Invalid character entity'],
  ])('error: expands no entity: %s', async (...row) => {
    const [, declaration, text, fault] = row
    const xml = sdnXml().replace('<sdnList', `${declaration}<sdnList`).replace('DOE', text)
    expect(await faultOf(xml)).toStartWith(fault)
  })

  test('error: ends at an abort', async () => {
    const stop = new AbortController()
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield bytesOf('<sdnList>')
      stop.abort()
      for (;;) yield bytesOf('<sdnEntry/>')
    }
    const ended = readOfacList(endless(), stop.signal).catch((error: unknown) => String(error))
    expect(await ended).toContain('abort')
  })

  // As long as the advanced list really is.
  // In a process of its own: what other tests have left to be collected would count as well.
  test('behavior: memory does not grow with the list, and others get their turn', async () => {
    const path = new URL('../support/long-list-process.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, path], { stdout: 'pipe' })
    const { addresses, turns, growth } = JSON.parse(await new Response(child.stdout).text())
    expect(addresses).toEqual([...lower(1)])
    expect(turns).toBeGreaterThan(5)
    expect(growth).toBeLessThan(64 * 1024 * 1024)
  })
})
