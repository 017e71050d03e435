/** A reader of series that keeps the text of each row. */
import { type Params, readPage, type Send } from './page-client.ts'

/** The texts of the rows of a page; their values contain no braces. */
export function rowTexts(text: string): string[] {
  const list = text.slice(text.indexOf('[') + 1, text.lastIndexOf(']'))
  return list === '' ? [] : list.split(/(?<=\}),/)
}

export type SeriesWalk = { texts: string[]; pages: number; resumeCursor: string }

/** Follows `nextCursor` to the end; `limitOf` gives the limit of each page. */
export async function walkSeries(
  send: Send,
  path: string,
  { params = {}, limitOf }: { params?: Params; limitOf: () => number },
): Promise<SeriesWalk> {
  const texts: string[] = []
  let place: Params = {}
  for (let pages = 1; ; pages++) {
    const { text, body, resumeCursor } = await readPage(send, path, {
      ...params,
      limit: limitOf(),
      ...place,
    })
    texts.push(...rowTexts(text))
    if (body.nextCursor === null) return { texts, pages, resumeCursor }
    place = { cursor: body.nextCursor }
  }
}
