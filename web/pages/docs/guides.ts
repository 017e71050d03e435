/** The guides by address. The build puts in what `docs/` and `examples/` hold. */

export type Guide = {
  html: string
  headings: { id: string; text: string }[]
  /** Sources of the examples by path, such as `curl/markets.sh`; only the examples have it. */
  sources?: Record<string, string>
}
export type GuideEntry = {
  name: string
  title: string
  group: string
  load: () => Promise<Guide>
}

export const guides: readonly GuideEntry[] = []
