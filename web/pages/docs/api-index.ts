/** The index of the API, which comes in the head of the page at `/swagger`. */

export type IndexedOperation = { method: string; path: string; id: string; summary: string }
/** The index as `src/http/swagger.ts` writes it. */
export type ApiIndex = {
  version: string
  /** Markup that contains only text of this project. */
  about: string
  script: string
  styles: string[]
  tags: { name: string; description: string; operations: IndexedOperation[] }[]
}

/** Reads the index of this document, or of the page's own where this is the document of another. */
export async function readIndex(): Promise<ApiIndex> {
  const here = document.getElementById('api')
  if (here !== null) return JSON.parse(here.textContent)
  const text = await (await fetch('/swagger')).text()
  const page = new DOMParser().parseFromString(text, 'text/html')
  return JSON.parse(page.getElementById('api')?.textContent ?? '')
}
