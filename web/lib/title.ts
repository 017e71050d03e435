/** The title of the document, which tabs, bookmarks and the history of the browser show. */

import { useEffect } from 'preact/hooks'

import { titleOf } from './format.ts'

/** Names the page once its data is there. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    if (name !== undefined) document.title = titleOf(name)
  }, [name])
}
