/** The guides by address. The build puts in what `docs/` and `examples/` hold. */

export type Guide = {
  html: string
  headings: { id: string; text: string }[]
  /** Of the examples alone: by path, such as `curl/markets.sh`. */
  sources?: Record<string, string>
}
export type GuideEntry = {
  name: string
  title: string
  group: string
  load: () => Promise<Guide>
}

export const guides: readonly GuideEntry[] = []
